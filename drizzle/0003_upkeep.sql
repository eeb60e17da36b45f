-- Work across tenants, run as turnwright_upkeep: heartbeats, admission, the sweep.

CREATE FUNCTION turnwright.beat(p_worker uuid, p_host text, p_pid integer, p_pools jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  INSERT INTO turnwright.workers (worker_id, host, pid, pools) VALUES (p_worker, p_host, p_pid, p_pools)
  ON CONFLICT (worker_id) DO UPDATE SET beat_at = clock_timestamp(), pools = excluded.pools;
END $$;
--> statement-breakpoint
-- Room of every pool: live concurrency, rows handed to the queue and not yet claimed, rows held back, age of the oldest.
CREATE FUNCTION turnwright.pool_state(p_lease_ms integer) RETURNS TABLE (pool text, concurrency integer, admitted integer, backlog integer, oldest_seconds double precision) LANGUAGE sql STABLE AS $$
  WITH live AS (
    SELECT w.key AS pool, sum(w.value::integer)::integer AS concurrency
    FROM turnwright.workers, jsonb_each_text(pools) w
    WHERE beat_at > clock_timestamp() - make_interval(secs => p_lease_ms / 1000.0) GROUP BY w.key
  ), waiting AS (
    SELECT o.pool, count(*) FILTER (WHERE o.admitted_at IS NOT NULL)::integer AS admitted,
      count(*) FILTER (WHERE o.admitted_at IS NULL AND o.due_at <= clock_timestamp())::integer AS backlog,
      extract(epoch FROM clock_timestamp() - min(o.due_at))::double precision AS oldest
    FROM turnwright.outbox o GROUP BY o.pool
  )
  SELECT coalesce(l.pool, w.pool), coalesce(l.concurrency, 0), coalesce(w.admitted, 0), coalesce(w.backlog, 0), greatest(coalesce(w.oldest, 0), 0)
  FROM live l FULL JOIN waiting w ON w.pool = l.pool
$$;
--> statement-breakpoint
-- Hands out backlog by priority, then by rank inside its tenant, so that one tenant's flood delays nobody by more
-- than what was admitted before. One admitter a pool at a time.
CREATE FUNCTION turnwright.admit(p_pool text, p_limit integer) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_rows json;
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtext('turnwright.admit'), hashtext(p_pool)) THEN
    RETURN NULL;
  END IF;
  PERFORM set_config('synchronous_commit', 'off', true);
  WITH ranked AS (
    SELECT o.position, o.priority, row_number() OVER (PARTITION BY o.tenant_id ORDER BY o.priority, o.position) AS rank
    FROM turnwright.outbox o WHERE o.pool = p_pool AND o.admitted_at IS NULL AND o.due_at <= clock_timestamp()
  ), chosen AS (
    SELECT r.position, r.rank FROM ranked r ORDER BY r.priority, r.rank, r.position LIMIT p_limit
  ), marked AS (
    UPDATE turnwright.outbox o SET admitted_at = clock_timestamp() FROM chosen c
    WHERE o.pool = p_pool AND o.position = c.position AND o.admitted_at IS NULL RETURNING o.*, c.rank
  )
  SELECT coalesce(json_agg(json_build_object('tenant', m.tenant_id, 'session', m.session_id, 'actor', m.actor_id, 'child', m.child_id,
    'dispatch', m.dispatch, 'priority', m.priority) ORDER BY m.priority, m.rank, m.position), '[]'::json) INTO v_rows FROM marked m;
  RETURN v_rows;
END $$;
--> statement-breakpoint
-- Milliseconds until the next held-back row or timer falls due, null when none is set. Rows that are due already
-- wait for room, which a claim or the next sweep brings.
CREATE FUNCTION turnwright.next_due_ms() RETURNS double precision LANGUAGE sql STABLE AS $$
  SELECT extract(epoch FROM least(
    (SELECT min(o.due_at) FROM turnwright.outbox o WHERE o.admitted_at IS NULL AND o.due_at > clock_timestamp()),
    (SELECT min(t.due_at) FROM turnwright.timers t)) - clock_timestamp()) * 1000
$$;
--> statement-breakpoint
-- Brings back what no worker moves: calls of dead workers, timers past due, events nobody drains. Returns what it did,
-- and the rows the queue was given long ago, for the caller to look for their jobs.
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
    UPDATE turnwright.side_calls s SET status = 'queued', dispatch = s.dispatch + 1, worker_id = NULL, last_error = 'its worker died'
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
      json_agg(json_build_array(g.event_id, g.event, encode(g.snapshot_digest, 'hex')) ORDER BY g.revision)::text, max(g.revision),
      (array_agg(g.snapshot_digest ORDER BY g.snapshot_digest IS NULL, g.revision DESC))[1]
    FROM gone g GROUP BY g.tenant_id, g.session_id, g.actor_id RETURNING 1
  )
  UPDATE turnwright.actors a SET compacted = true FROM chosen c
  WHERE a.tenant_id = c.tenant_id AND a.session_id = c.session_id AND a.actor_id = c.actor_id;
  GET DIAGNOSTICS v_count = ROW_COUNT;
  DELETE FROM turnwright.deltas d WHERE d.at < clock_timestamp() - interval '10 minutes';
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
    UPDATE turnwright.side_calls s SET status = 'queued', dispatch = s.dispatch + 1, worker_id = NULL, last_error = 'its claim was lost'
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
