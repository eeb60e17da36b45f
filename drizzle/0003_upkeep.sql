-- Work across tenants, run as turnwright_upkeep: heartbeats, admission, the sweep.

CREATE FUNCTION turnwright.beat(p_worker uuid, p_host text, p_pid integer, p_pools jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  INSERT INTO turnwright.workers (worker_id, host, pid, pools) VALUES (p_worker, p_host, p_pid, p_pools)
  ON CONFLICT (worker_id) DO UPDATE SET beat_at = clock_timestamp(), pools = excluded.pools;
END $$;
--> statement-breakpoint
-- Every pool, counted: live concurrency, rows handed to the queue and not yet claimed, rows held back that are due and
-- those that are not yet, age of the oldest.
CREATE FUNCTION turnwright.pool_state(p_lease_ms integer)
RETURNS TABLE (pool text, concurrency integer, admitted integer, backlog integer, delayed integer, oldest_seconds double precision) LANGUAGE sql STABLE AS $$
  WITH live AS (
    SELECT w.key AS pool, sum(w.value::integer)::integer AS concurrency
    FROM turnwright.workers, jsonb_each_text(pools) w
    WHERE beat_at > clock_timestamp() - make_interval(secs => p_lease_ms / 1000.0) GROUP BY w.key
  ), waiting AS (
    SELECT o.pool, count(*) FILTER (WHERE o.admitted_at IS NOT NULL)::integer AS admitted,
      count(*) FILTER (WHERE o.admitted_at IS NULL AND o.due_at <= now())::integer AS backlog,
      count(*) FILTER (WHERE o.admitted_at IS NULL AND o.due_at > now())::integer AS delayed,
      extract(epoch FROM now() - min(o.due_at))::double precision AS oldest
    FROM turnwright.outbox o GROUP BY o.pool
  )
  SELECT coalesce(l.pool, w.pool), coalesce(l.concurrency, 0), coalesce(w.admitted, 0), coalesce(w.backlog, 0), coalesce(w.delayed, 0),
    greatest(coalesce(w.oldest, 0), 0)
  FROM live l FULL JOIN waiting w ON w.pool = l.pool
$$;
--> statement-breakpoint
-- The same as far as admission needs it, at a cost that does not grow with the backlog: `backlog` is 1 where there is any.
-- Statistics are often older than a flood, so the planner is kept to the indexes here and in `admit`.
CREATE FUNCTION turnwright.pool_room(p_lease_ms integer) RETURNS TABLE (pool text, concurrency integer, admitted integer, backlog integer)
LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
BEGIN
  RETURN QUERY WITH RECURSIVE live AS (
    SELECT w.key AS name, sum(w.value::integer)::integer AS slots
    FROM turnwright.workers k, jsonb_each_text(k.pools) w
    WHERE k.beat_at > v_now - make_interval(secs => p_lease_ms / 1000.0) GROUP BY w.key
  ), handed AS (
    SELECT o.pool AS name, count(*)::integer AS jobs FROM turnwright.outbox o WHERE o.admitted_at IS NOT NULL GROUP BY o.pool
  ), held AS (
    (SELECT o.pool AS name FROM turnwright.outbox o WHERE o.admitted_at IS NULL ORDER BY o.pool LIMIT 1)
    UNION ALL
    SELECT (SELECT o.pool FROM turnwright.outbox o WHERE o.admitted_at IS NULL AND o.pool > h.name ORDER BY o.pool LIMIT 1)
    FROM held h WHERE h.name IS NOT NULL
  ), known AS (
    SELECT l.name FROM live l UNION SELECT a.name FROM handed a UNION SELECT h.name FROM held h WHERE h.name IS NOT NULL
  )
  -- Due times are rounded to milliseconds, some of them up.
  SELECT k.name, coalesce(l.slots, 0), coalesce(a.jobs, 0), coalesce((SELECT 1 FROM turnwright.outbox o
      WHERE o.pool = k.name AND o.admitted_at IS NULL AND o.due_at <= v_now + interval '1 millisecond' LIMIT 1), 0)
  FROM known k LEFT JOIN live l ON l.name = k.name LEFT JOIN handed a ON a.name = k.name;
END $$;
--> statement-breakpoint
-- Hands out backlog, one admitter a pool at a time. Tenants come in turn: each counts what it was given of the pool while
-- others waited and what it has in flight there now, both over its weight; the least comes first, a newcomer before its
-- equals. Inside a tenant the most urgent row is first, then the oldest. So a flood delays another tenant by no more than
-- what was handed out before.
-- With `p_lease_ms` no more is handed out than `p_per_slot` rows a live slot. While others wait, a tenant is kept to
-- `p_share` of the live slots; `p_running` bounds it in any case. Null: somebody else admits, or there is no room.
CREATE FUNCTION turnwright.admit(p_pool text, p_limit integer, p_lease_ms integer DEFAULT NULL, p_per_slot integer DEFAULT 1,
  p_share double precision DEFAULT 1, p_running integer DEFAULT NULL) RETURNS json LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  v_now timestamptz;
  v_limit integer := p_limit;
  v_share integer;
  v_rows json;
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtext('turnwright.admit'), hashtext(p_pool)) THEN
    RETURN NULL;
  END IF;
  v_now := clock_timestamp() + interval '1 millisecond';
  IF p_lease_ms IS NOT NULL THEN
    SELECT least(p_limit, p_per_slot * s.slots - (SELECT count(*) FROM turnwright.outbox o WHERE o.pool = p_pool AND o.admitted_at IS NOT NULL)),
      greatest(1, ceil(p_share * s.slots)) INTO v_limit, v_share
    FROM (SELECT coalesce(sum((w.pools ->> p_pool)::integer), 0) AS slots FROM turnwright.workers w
      WHERE w.beat_at > v_now - make_interval(secs => p_lease_ms / 1000.0)) s;
    IF v_limit <= 0 THEN
      RETURN NULL;
    END IF;
  END IF;
  PERFORM set_config('synchronous_commit', 'off', true);
  WITH RECURSIVE waiting AS (
    (SELECT o.tenant_id FROM turnwright.outbox o WHERE o.pool = p_pool AND o.admitted_at IS NULL ORDER BY o.tenant_id LIMIT 1)
    UNION ALL
    SELECT (SELECT o.tenant_id FROM turnwright.outbox o WHERE o.pool = p_pool AND o.admitted_at IS NULL AND o.tenant_id > w.tenant_id
      ORDER BY o.tenant_id LIMIT 1) FROM waiting w WHERE w.tenant_id IS NOT NULL
  ), flight AS (
    SELECT f.tenant_id, count(*) AS calls FROM (
      SELECT o.tenant_id FROM turnwright.outbox o WHERE o.pool = p_pool AND o.admitted_at IS NOT NULL
      UNION ALL
      SELECT s.tenant_id FROM turnwright.side_calls s WHERE s.status = 'running' AND s.pool = p_pool) f GROUP BY f.tenant_id
  ), standing AS (
    SELECT w.tenant_id, coalesce(n.weight, 1) AS weight, coalesce(f.calls, 0) AS calls, s.served IS NOT NULL AS known,
      min(s.served) OVER () AS least, coalesce(s.served, min(s.served) OVER (), 0) AS served
    FROM waiting w LEFT JOIN turnwright.tenants n ON n.tenant_id = w.tenant_id LEFT JOIN flight f ON f.tenant_id = w.tenant_id
      LEFT JOIN turnwright.tenant_shares s ON s.pool = p_pool AND s.tenant_id = w.tenant_id
    WHERE w.tenant_id IS NOT NULL
  ), candidate AS (
    SELECT r.*, coalesce(t.calls + r.before >= v_share, false) AS beyond, t.served + (t.calls + r.before)::float8 / t.weight AS place, t.known
    FROM standing t, LATERAL (
      SELECT o.ctid AS row, o.tenant_id, o.position,
        row_number() OVER (ORDER BY o.priority, o.position) - 1 AS before
      FROM turnwright.outbox o WHERE o.pool = p_pool AND o.admitted_at IS NULL AND o.tenant_id = t.tenant_id AND o.due_at <= v_now
      ORDER BY o.priority, o.position LIMIT greatest(0, least(v_limit, p_running - t.calls))) r
  ), chosen AS (
    SELECT c.*, row_number() OVER () AS turn FROM (
      SELECT * FROM candidate ORDER BY beyond, place, known, position LIMIT v_limit) c
  ), marked AS (
    UPDATE turnwright.outbox o SET admitted_at = clock_timestamp()
    WHERE o.ctid = ANY (ARRAY(SELECT c.row FROM chosen c)) AND o.admitted_at IS NULL RETURNING o.*
  ), noted AS (
    -- A tenant that comes begins where the least served of those waiting stands. One that waits alone shares with nobody,
    -- unless somebody left lately who was given more: who comes back goes on from there.
    INSERT INTO turnwright.tenant_shares AS s (pool, tenant_id, served)
    SELECT p_pool, t.tenant_id, t.served + count(m.tenant_id)::float8 / t.weight
    FROM standing t LEFT JOIN marked m ON m.tenant_id = t.tenant_id
    WHERE (SELECT count(*) FROM standing) > 1 OR EXISTS (SELECT FROM turnwright.tenant_shares o
      WHERE o.pool = p_pool AND o.tenant_id <> t.tenant_id AND o.served > t.least)
    GROUP BY t.tenant_id, t.served, t.weight, t.known
    HAVING count(m.tenant_id) > 0 OR NOT t.known
    ON CONFLICT (pool, tenant_id) DO UPDATE SET served = excluded.served
  ), forgotten AS (
    DELETE FROM turnwright.tenant_shares s WHERE s.pool = p_pool
      AND s.served <= coalesce((SELECT min(t.least) FROM standing t), 'infinity')
      AND NOT EXISTS (SELECT FROM standing t WHERE t.tenant_id = s.tenant_id)
  )
  SELECT coalesce(json_agg(json_build_object('tenant', m.tenant_id, 'session', m.session_id, 'actor', m.actor_id, 'child', m.child_id,
    'dispatch', m.dispatch, 'priority', m.priority) ORDER BY c.turn), '[]'::json) INTO v_rows
  FROM marked m JOIN chosen c ON c.position = m.position;
  RETURN v_rows;
END $$;
--> statement-breakpoint
-- Milliseconds until the next held-back row or timer falls due, null when none is set. Rows that are due already
-- wait for room, which a claim or the next sweep brings.
CREATE FUNCTION turnwright.next_due_ms() RETURNS double precision LANGUAGE sql STABLE AS $$
  SELECT extract(epoch FROM least(
    (SELECT min(o.due_at) FROM turnwright.outbox o WHERE o.admitted_at IS NULL AND o.due_at > c.read_at),
    (SELECT min(t.due_at) FROM turnwright.timers t)) - c.read_at) * 1000
  FROM (SELECT clock_timestamp() AS read_at) c
$$;
--> statement-breakpoint
-- The first turn of a session that another turn made ends with that one: it is told to, once. Returns how many were.
CREATE FUNCTION turnwright.cancel_children() RETURNS integer LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  v_count integer;
BEGIN
  INSERT INTO turnwright.actor_events (tenant_id, session_id, actor_id, event_id, event)
  SELECT t.tenant_id, t.session_id, t.turn_id, 'cancel', '{"type":"turn.cancel","reason":"parent_ended"}'
  FROM turnwright.sessions s
  JOIN turnwright.turns t ON t.tenant_id = s.tenant_id AND t.session_id = s.session_id AND t.status <> 'closed'
  JOIN turnwright.turns p ON p.tenant_id = s.tenant_id AND p.session_id = s.parent_session AND p.turn_id = s.parent_turn AND p.status = 'closed'
  WHERE s.parent_turn IS NOT NULL AND NOT EXISTS (SELECT FROM turnwright.turns o
    WHERE o.tenant_id = t.tenant_id AND o.session_id = t.session_id AND o.number < t.number)
  ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS v_count = ROW_COUNT;
  RETURN v_count;
END $$;
--> statement-breakpoint
-- Brings back what no worker moves: calls of dead workers, timers past due, turns whose parent ended, events nobody
-- drains. Returns what it did, and the rows the queue was given long ago, for the caller to look for their jobs.
CREATE FUNCTION turnwright.sweep(p_lease_ms integer, p_readmit_ms integer) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_taken integer;
  v_fired integer;
  v_drains integer;
BEGIN
  WITH orphaned AS (
    SELECT s.tenant_id, s.session_id, s.actor_id, s.child_id FROM turnwright.side_calls s
    WHERE s.status = 'running' AND NOT EXISTS (SELECT FROM turnwright.workers w
      WHERE w.worker_id = s.worker_id AND w.beat_at > clock_timestamp() - make_interval(secs => p_lease_ms / 1000.0))
    FOR UPDATE SKIP LOCKED
  ), taken AS (
    UPDATE turnwright.side_calls s SET status = 'queued', dispatch = s.dispatch + 1, deaths = s.deaths + 1, worker_id = NULL, last_error = 'its worker died'
    FROM orphaned o
    WHERE s.tenant_id = o.tenant_id AND s.session_id = o.session_id AND s.actor_id = o.actor_id AND s.child_id = o.child_id
    RETURNING s.*
  ), handed AS (
    INSERT INTO turnwright.outbox (tenant_id, session_id, actor_id, child_id, dispatch, pool, priority)
    SELECT t.tenant_id, t.session_id, t.actor_id, t.child_id, t.dispatch, t.pool, t.priority FROM taken t RETURNING 1
  )
  SELECT count(*) INTO v_taken FROM handed;

  WITH due AS (
    SELECT t.tenant_id, t.session_id, t.actor_id, t.timer_id FROM turnwright.timers t WHERE t.due_at <= clock_timestamp()
    ORDER BY t.due_at LIMIT 500 FOR UPDATE SKIP LOCKED
  ), fired AS (
    DELETE FROM turnwright.timers t USING due d
    WHERE t.tenant_id = d.tenant_id AND t.session_id = d.session_id AND t.actor_id = d.actor_id AND t.timer_id = d.timer_id RETURNING t.*
  ), pending AS (
    INSERT INTO turnwright.actor_events (tenant_id, session_id, actor_id, event_id, event)
    SELECT f.tenant_id, f.session_id, f.actor_id, 'timer.' || f.timer_id || '.' || f.revision, f.event FROM fired f
    ON CONFLICT DO NOTHING RETURNING 1
  )
  SELECT count(*) INTO v_fired FROM pending;

  PERFORM turnwright.cancel_children();

  WITH waiting AS (
    SELECT DISTINCT e.tenant_id, e.session_id, e.actor_id FROM turnwright.actor_events e WHERE e.revision IS NULL
      AND NOT EXISTS (SELECT FROM turnwright.outbox o WHERE o.tenant_id = e.tenant_id AND o.session_id = e.session_id
        AND o.actor_id = e.actor_id AND o.child_id = 'drain')
  ), woken AS (
    UPDATE turnwright.actors a SET drains = a.drains + 1 FROM waiting w
    WHERE a.tenant_id = w.tenant_id AND a.session_id = w.session_id AND a.actor_id = w.actor_id AND a.status = 'active' RETURNING a.*
  ), handed AS (
    INSERT INTO turnwright.outbox (tenant_id, session_id, actor_id, child_id, dispatch, pool)
    SELECT k.tenant_id, k.session_id, k.actor_id, 'drain', k.drains, 'turn' FROM woken k RETURNING 1
  )
  SELECT count(*) INTO v_drains FROM handed;

  -- An event that reached an actor after its end changes nothing, and must not keep it from being folded.
  UPDATE turnwright.actor_events e SET revision = a.revision FROM turnwright.actors a
  WHERE e.revision IS NULL AND a.tenant_id = e.tenant_id AND a.session_id = e.session_id AND a.actor_id = e.actor_id AND a.status = 'done';

  DELETE FROM turnwright.workers w WHERE w.beat_at < clock_timestamp() - make_interval(secs => 10 * p_lease_ms / 1000.0)
    AND NOT EXISTS (SELECT FROM turnwright.side_calls s WHERE s.status = 'running' AND s.worker_id = w.worker_id);

  RETURN json_build_object('taken', v_taken, 'fired', v_fired, 'drains', v_drains,
    'unfolded', EXISTS (SELECT FROM turnwright.actors a WHERE a.status = 'done' AND NOT a.compacted), 'unclaimed', (
    SELECT coalesce(json_agg(json_build_object('pool', u.pool, 'priority', u.priority, 'tenant', u.tenant_id, 'session', u.session_id,
      'actor', u.actor_id, 'child', u.child_id, 'dispatch', u.dispatch,
      'heldMs', extract(epoch FROM clock_timestamp() - u.admitted_at) * 1000)), '[]'::json)
    FROM (SELECT * FROM turnwright.outbox o WHERE o.admitted_at < clock_timestamp() - make_interval(secs => p_readmit_ms / 1000.0)
      ORDER BY o.admitted_at LIMIT 500) u));
END $$;
--> statement-breakpoint
-- A job whose id the queue will not take again gets the next dispatch number. Returns it, or null when the row moved on.
CREATE FUNCTION turnwright.redispatch(p_tenant uuid, p_session uuid, p_actor uuid, p_child text, p_dispatch integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM turnwright.outbox
  WHERE tenant_id = p_tenant AND session_id = p_session AND actor_id = p_actor AND child_id = p_child AND dispatch = p_dispatch;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  IF p_child = 'drain' THEN
    UPDATE turnwright.actors SET drains = greatest(drains, p_dispatch) + 1 WHERE tenant_id = p_tenant AND session_id = p_session AND actor_id = p_actor;
    INSERT INTO turnwright.outbox (tenant_id, session_id, actor_id, child_id, dispatch, pool, admitted_at)
    SELECT tenant_id, session_id, actor_id, 'drain', drains, 'turn', clock_timestamp() FROM turnwright.actors
    WHERE tenant_id = p_tenant AND session_id = p_session AND actor_id = p_actor;
    RETURN (SELECT drains FROM turnwright.actors WHERE tenant_id = p_tenant AND session_id = p_session AND actor_id = p_actor);
  END IF;
  UPDATE turnwright.side_calls SET dispatch = dispatch + 1
  WHERE tenant_id = p_tenant AND session_id = p_session AND actor_id = p_actor AND child_id = p_child AND dispatch = p_dispatch AND status = 'queued';
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  INSERT INTO turnwright.outbox (tenant_id, session_id, actor_id, child_id, dispatch, pool, priority, admitted_at)
  SELECT tenant_id, session_id, actor_id, child_id, dispatch, pool, priority, clock_timestamp() FROM turnwright.side_calls
  WHERE tenant_id = p_tenant AND session_id = p_session AND actor_id = p_actor AND child_id = p_child;
  RETURN p_dispatch + 1;
END $$;
--> statement-breakpoint
-- A closed turn's events become one row that still replays, its settled calls go; receipts keep what they cost.
CREATE FUNCTION turnwright.compact(p_limit integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  v_count integer;
BEGIN
  WITH chosen AS (
    SELECT a.tenant_id, a.session_id, a.actor_id FROM turnwright.actors a
    WHERE a.status = 'done' AND NOT a.compacted AND NOT EXISTS (SELECT FROM turnwright.actor_events e
      WHERE e.tenant_id = a.tenant_id AND e.session_id = a.session_id AND e.actor_id = a.actor_id AND e.revision IS NULL)
    LIMIT p_limit FOR UPDATE SKIP LOCKED
  ), gone AS (
    DELETE FROM turnwright.actor_events e USING chosen c
    WHERE e.tenant_id = c.tenant_id AND e.session_id = c.session_id AND e.actor_id = c.actor_id RETURNING e.*
  ), calls AS (
    DELETE FROM turnwright.side_calls s USING chosen c
    WHERE s.tenant_id = c.tenant_id AND s.session_id = c.session_id AND s.actor_id = c.actor_id AND s.status <> 'running' RETURNING 1
  ), folded AS (
    INSERT INTO turnwright.actor_events (tenant_id, session_id, actor_id, event_id, event, revision, snapshot_digest)
    SELECT g.tenant_id, g.session_id, g.actor_id, 'all',
      json_agg(json_build_array(g.event_id, g.event::json, encode(g.snapshot_digest, 'hex')) ORDER BY g.revision)::text, max(g.revision),
      (array_agg(g.snapshot_digest ORDER BY g.snapshot_digest IS NULL, g.revision DESC))[1]
    FROM gone g GROUP BY g.tenant_id, g.session_id, g.actor_id RETURNING 1
  )
  UPDATE turnwright.actors a SET compacted = true FROM chosen c
  WHERE a.tenant_id = c.tenant_id AND a.session_id = c.session_id AND a.actor_id = c.actor_id;
  GET DIAGNOSTICS v_count = ROW_COUNT;
  DELETE FROM turnwright.deltas d WHERE d.at < clock_timestamp() - interval '10 minutes';
  PERFORM turnwright.fold_usage();
  DELETE FROM turnwright.response_cache c USING (SELECT x.tenant_id, x.key FROM turnwright.response_cache x WHERE x.expires_at < clock_timestamp()
    ORDER BY x.expires_at LIMIT 1000) gone WHERE c.tenant_id = gone.tenant_id AND c.key = gone.key AND c.expires_at < clock_timestamp();
  RETURN v_count;
END $$;
--> statement-breakpoint
-- Large bodies that no record points at: left behind by hops that never committed.
CREATE FUNCTION turnwright.collect_bodies() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  v_count integer;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('turnwright.bodies'));
  DELETE FROM turnwright.bodies b WHERE b.created_at < clock_timestamp() - interval '1 hour'
    AND NOT EXISTS (SELECT FROM turnwright.records r
      WHERE r.tenant_id = b.tenant_id AND r.session_id = b.session_id AND r.body_digest = b.digest AND r.bytes > 8192);
  GET DIAGNOSTICS v_count = ROW_COUNT;
  RETURN v_count;
END $$;
--> statement-breakpoint
-- What a worker believes against what the rows say. `p_held` are the calls it runs, `p_old` those it has run for a
-- while, each as <actor>~<child>. A claim whose answer never reached the worker is handed out again; the calls that
-- are no longer its own come back, for it to abort.
CREATE FUNCTION turnwright.reconcile(p_worker uuid, p_held text[], p_old text[], p_lease_ms integer) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  WITH lost AS (
    SELECT s.tenant_id, s.session_id, s.actor_id, s.child_id FROM turnwright.side_calls s
    WHERE s.status = 'running' AND s.worker_id = p_worker AND s.claimed_at < clock_timestamp() - make_interval(secs => p_lease_ms / 1000.0)
      AND NOT (s.actor_id || '~' || s.child_id = ANY (p_held))
    FOR UPDATE SKIP LOCKED
  ), taken AS (
    UPDATE turnwright.side_calls s SET status = 'queued', dispatch = s.dispatch + 1, deaths = s.deaths + 1, worker_id = NULL, last_error = 'its claim was lost'
    FROM lost l
    WHERE s.tenant_id = l.tenant_id AND s.session_id = l.session_id AND s.actor_id = l.actor_id AND s.child_id = l.child_id
    RETURNING s.*
  )
  INSERT INTO turnwright.outbox (tenant_id, session_id, actor_id, child_id, dispatch, pool, priority)
  SELECT t.tenant_id, t.session_id, t.actor_id, t.child_id, t.dispatch, t.pool, t.priority FROM taken t;
  RETURN (SELECT coalesce(json_agg(k.call), '[]'::json) FROM unnest(p_old) AS k(call)
    WHERE NOT EXISTS (SELECT FROM turnwright.side_calls s
      WHERE s.status = 'running' AND s.worker_id = p_worker AND s.actor_id || '~' || s.child_id = k.call));
END $$;
