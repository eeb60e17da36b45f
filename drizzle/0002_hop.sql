-- The hop: claim-and-load, apply. Two statements, each its own transaction.
-- Errors of apply: TW001 the session or an actor moved on, TW002 the call's fence was taken over,
-- TW003 the event was applied before.

-- A session's head and one actor, with the turn that waits behind it.
CREATE FUNCTION turnwright.loaded(p_tenant uuid, p_session uuid, p_actor uuid) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT json_build_object(
    'session', json_build_object(
      'tenant', s.tenant_id, 'session', s.session_id, 'status', s.status, 'leg', s.leg, 'liveHead', s.live_head,
      'nextSeq', s.next_seq, 'lastDigest', encode(s.last_digest, 'hex'), 'nextTurn', s.next_turn,
      'nextEvidence', s.next_evidence, 'nextPresentation', s.next_presentation, 'nextItem', s.next_item, 'prefix', encode(s.prefix_digest, 'hex'), 'epoch', s.epoch, 'profileAt', s.profile_at,
      'watched', coalesce(s.watched_until > now(), false)),
    'actor', json_build_object(
      'actor', a.actor_id, 'turn', a.turn_id, 'machine', a.machine, 'version', a.version, 'revision', a.revision,
      'snapshot', a.snapshot, 'status', a.status,
      'openChildren', (
        SELECT coalesce(json_agg(c.child_id ORDER BY c.child_id), '[]'::json) FROM turnwright.side_calls c
        WHERE c.tenant_id = a.tenant_id AND c.session_id = a.session_id AND c.actor_id = a.actor_id AND c.status IN ('queued', 'running'))),
    'turn', (SELECT json_build_object('head', t.head_id, 'number', t.number, 'status', t.status, 'priority', t.priority)
      FROM turnwright.turns t WHERE t.tenant_id = a.tenant_id AND t.session_id = a.session_id AND t.turn_id = a.turn_id),
    'next', (
      SELECT json_build_object('turn', n.turn_id, 'actor', na.actor_id, 'machine', na.machine, 'version', na.version,
        'revision', na.revision, 'snapshot', na.snapshot, 'status', na.status, 'priority', n.priority, 'number', n.number)
      FROM turnwright.turns t
      JOIN turnwright.turns n ON n.tenant_id = t.tenant_id AND n.session_id = t.session_id AND n.head_id = t.head_id
        AND n.number > t.number AND n.status = 'accepted'
      JOIN turnwright.actors na ON na.tenant_id = n.tenant_id AND na.session_id = n.session_id AND na.actor_id = n.turn_id
      WHERE t.tenant_id = a.tenant_id AND t.session_id = a.session_id AND t.turn_id = a.turn_id
      ORDER BY n.number LIMIT 1))
  FROM turnwright.actors a
  JOIN turnwright.sessions s ON s.tenant_id = a.tenant_id AND s.session_id = a.session_id
  WHERE a.tenant_id = p_tenant AND a.session_id = p_session AND a.actor_id = p_actor
$$;
--> statement-breakpoint
CREATE FUNCTION turnwright.load(p_tenant uuid, p_session uuid, p_actor uuid) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('turnwright.tenant', p_tenant::text, true);
  RETURN turnwright.loaded(p_tenant, p_session, p_actor);
END $$;
--> statement-breakpoint
-- The records of one turn up to `p_to_seq`, bodies joined in. Null means all kinds, and to the end.
CREATE FUNCTION turnwright.turn_records(p_tenant uuid, p_session uuid, p_turn uuid, p_kinds text[], p_to_seq bigint DEFAULT NULL) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT coalesce(json_agg(json_build_object('seq', r.seq, 'kind', r.kind, 'class', r.class, 'turnId', r.turn_id,
      'body', coalesce(r.body, (SELECT b.body FROM turnwright.bodies b
        WHERE b.tenant_id = r.tenant_id AND b.session_id = r.session_id AND b.digest = r.body_digest))) ORDER BY r.seq), '[]'::json)
  FROM turnwright.records r
  WHERE r.tenant_id = p_tenant AND r.session_id = p_session AND r.turn_id = p_turn AND (p_kinds IS NULL OR r.kind = ANY (p_kinds))
    AND (p_to_seq IS NULL OR r.seq <= p_to_seq)
$$;
--> statement-breakpoint
-- What a head goes on from, oldest first, and its own records after all of it.
CREATE FUNCTION turnwright.lineage(p_tenant uuid, p_session uuid, p_head uuid)
RETURNS TABLE (ordinal integer, session_id uuid, head_id uuid, after_seq bigint, to_seq bigint, first_turn integer, last_turn integer) LANGUAGE sql STABLE AS $$
  SELECT g.ordinal, g.from_session, g.from_head, g.after_seq, g.to_seq, g.first_turn, g.last_turn FROM turnwright.segments g
  WHERE g.tenant_id = p_tenant AND g.session_id = p_session AND g.head_id = p_head
  UNION ALL
  SELECT 2147483647, h.session_id, h.head_id, h.cleared_seq, 9223372036854775807, h.first_turn, 2147483647 FROM turnwright.heads h
  WHERE h.tenant_id = p_tenant AND h.session_id = p_session AND h.head_id = p_head
$$;
--> statement-breakpoint
-- Closed turns after `p_after`, oldest first: what the planner's index keeps of each.
CREATE FUNCTION turnwright.indexed_turns(p_tenant uuid, p_session uuid, p_head uuid, p_after integer, p_limit integer) RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
  PERFORM set_config('turnwright.tenant', p_tenant::text, true);
  RETURN (SELECT coalesce(json_agg(json_build_object('number', w.number, 'items', CASE WHEN w.first_item IS NOT NULL THEN json_build_object('from', w.first_item, 'to', w.last_item) END, 'fullBytes', w.full_bytes, 'cardBytes', w.card_bytes,
      'terms', translate(encode(w.terms, 'base64'), E'\n', ''),
      'links', (SELECT coalesce(json_agg(json_build_object('kind', e.kind, 'to', e.target, 'provenance', e.provenance) ORDER BY e.ordinal), '[]'::json)
        FROM turnwright.edges e WHERE e.tenant_id = p_tenant AND e.session_id = w.session_id AND e.turn_id = w.turn_id AND NOT e.retracted)) ORDER BY w.number), '[]'::json)
    FROM (SELECT t.* FROM turnwright.lineage(p_tenant, p_session, p_head) g
      JOIN turnwright.turns t ON t.tenant_id = p_tenant AND t.session_id = g.session_id AND t.head_id = g.head_id
        AND t.number BETWEEN g.first_turn AND g.last_turn AND t.number > p_after
      WHERE t.status = 'closed' AND t.terms IS NOT NULL AND t.closed_seq <= g.to_seq
      ORDER BY t.number LIMIT p_limit) w);
END $$;
--> statement-breakpoint
-- Takes a queued call for a worker; null when the row has moved on. The claim itself may be lost in a crash: then the
-- row is queued again and the sweep hands it over anew.
CREATE FUNCTION turnwright.take_call(p_tenant uuid, p_session uuid, p_actor uuid, p_child text, p_dispatch integer, p_worker uuid, p_token integer) RETURNS turnwright.side_calls LANGUAGE plpgsql AS $$
DECLARE
  v_call turnwright.side_calls;
BEGIN
  PERFORM set_config('turnwright.tenant', p_tenant::text, true), set_config('synchronous_commit', 'off', true);
  DELETE FROM turnwright.outbox
  WHERE tenant_id = p_tenant AND session_id = p_session AND actor_id = p_actor AND child_id = p_child AND dispatch <= p_dispatch;
  UPDATE turnwright.side_calls SET status = 'running', fence = fence + 1, token = p_token, worker_id = p_worker, claimed_at = clock_timestamp()
  WHERE tenant_id = p_tenant AND session_id = p_session AND actor_id = p_actor AND child_id = p_child
    AND dispatch = p_dispatch AND status = 'queued'
  RETURNING * INTO v_call;
  RETURN v_call;
END $$;
--> statement-breakpoint
CREATE FUNCTION turnwright.call_json(c turnwright.side_calls) RETURNS json LANGUAGE sql IMMUTABLE AS $$
  SELECT json_build_object('child', c.child_id, 'src', c.src, 'input', c.input, 'attempt', c.attempt, 'fence', c.fence, 'token', c.token,
    'dispatch', c.dispatch, 'started', c.started, 'deaths', c.deaths)
$$;
--> statement-breakpoint
-- The packets of a head that were stored after record `p_after`. One that stands for turns which were cleared away is none.
CREATE FUNCTION turnwright.packets_after(p_tenant uuid, p_session uuid, p_head uuid, p_after bigint) RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
  PERFORM set_config('turnwright.tenant', p_tenant::text, true);
  RETURN (SELECT coalesce(json_agg(json_build_object('from', p.from_turn, 'to', p.to_turn, 'seq', p.seq, 'bytes', p.bytes, 'quality', p.quality) ORDER BY p.seq), '[]'::json)
    FROM turnwright.packets p WHERE p.tenant_id = p_tenant AND p.session_id = p_session AND p.head_id = p_head AND p.seq > p_after
      AND p.from_turn >= (SELECT min(g.first_turn) FROM turnwright.lineage(p_tenant, p_session, p_head) g));
END $$;
--> statement-breakpoint
-- The evictions of a head after record `p_after`, in the order they were made. Those of the sessions it was forked from
-- come first, as record 0, to a process that knows none yet.
CREATE FUNCTION turnwright.evictions_after(p_tenant uuid, p_session uuid, p_head uuid, p_after bigint) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT coalesce(json_agg(json_build_object('seq', CASE WHEN e.session_id = p_session THEN e.seq ELSE 0 END, 'from', e.from_item, 'to', e.to_item,
      'note', e.note, 'author', e.author) ORDER BY g.ordinal, e.seq), '[]'::json)
  FROM turnwright.lineage(p_tenant, p_session, p_head) g
  JOIN turnwright.evictions e ON e.tenant_id = p_tenant AND e.session_id = g.session_id AND e.head_id = g.head_id AND e.seq > g.after_seq AND e.seq <= g.to_seq
  WHERE CASE WHEN e.session_id = p_session THEN e.seq > p_after ELSE p_after = 0 END
$$;
--> statement-breakpoint
-- Where closed turns of a head stand in the space of an embedding model, as stored after record `p_after`, oldest record first.
CREATE FUNCTION turnwright.vectors_after(p_tenant uuid, p_session uuid, p_head uuid, p_model text, p_after bigint, p_limit integer) RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
  PERFORM set_config('turnwright.tenant', p_tenant::text, true);
  RETURN (SELECT coalesce(json_agg(json_build_object('number', w.number, 'seq', w.seq,
      'vector', translate(encode(w.vector, 'base64'), E'\n', '')) ORDER BY w.seq), '[]'::json)
    FROM (SELECT t.number, v.seq, v.vector FROM turnwright.turn_vectors v
      JOIN turnwright.turns t ON t.tenant_id = v.tenant_id AND t.session_id = v.session_id AND t.turn_id = v.turn_id
      WHERE v.tenant_id = p_tenant AND v.session_id = p_session AND v.model = p_model AND v.seq > p_after AND t.head_id = p_head
      ORDER BY v.seq LIMIT p_limit) w);
END $$;
--> statement-breakpoint
-- What a step that is still to be planned needs beside its turn, past what the claiming process has indexed.
CREATE FUNCTION turnwright.to_plan(p_tenant uuid, p_session uuid, p_head uuid, p_indexed integer, p_record_seq bigint) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT json_build_object('after', json_build_object('turn', p_indexed, 'recordSeq', p_record_seq), 'turns', turnwright.indexed_turns(p_tenant, p_session, p_head, p_indexed, 256),
    'packets', turnwright.packets_after(p_tenant, p_session, p_head, p_record_seq),
    'evictions', turnwright.evictions_after(p_tenant, p_session, p_head, p_record_seq),
    'reset', (SELECT h.reset_seq FROM turnwright.heads h WHERE h.tenant_id = p_tenant AND h.session_id = p_session AND h.head_id = p_head))
$$;
--> statement-breakpoint
CREATE FUNCTION turnwright.claimed(p_tenant uuid, p_session uuid, p_actor uuid, p_call turnwright.side_calls, p_indexed integer, p_record_seq bigint) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_loaded json := turnwright.loaded(p_tenant, p_session, p_actor);
  v_turn uuid := (v_loaded -> 'actor' ->> 'turn')::uuid;
  v_head uuid := (v_loaded -> 'turn' ->> 'head')::uuid;
  v_records json;
  v_planned boolean := true;
BEGIN
  IF p_call.src IN ('step', 'intent', 'tool') THEN
    v_records := turnwright.turn_records(p_tenant, p_session, v_turn, CASE WHEN p_call.src = 'tool' THEN ARRAY['assistant-message'] END);
  END IF;
  IF p_call.src = 'step' THEN
    v_planned := EXISTS (SELECT FROM turnwright.records r WHERE r.tenant_id = p_tenant AND r.session_id = p_session
      AND r.turn_id = v_turn AND r.kind = 'context-plan');
  END IF;
  RETURN json_build_object(
    'call', turnwright.call_json(p_call),
    'loaded', v_loaded,
    'records', coalesce(v_records, '[]'::json),
    'whole', p_call.src IN ('step', 'intent'),
    'toPlan', CASE WHEN NOT v_planned THEN turnwright.to_plan(p_tenant, p_session, v_head, p_indexed, p_record_seq) END);
END $$;
--> statement-breakpoint
-- A claim with all that the call needs.
CREATE FUNCTION turnwright.claim(p_tenant uuid, p_session uuid, p_actor uuid, p_child text, p_dispatch integer, p_worker uuid, p_token integer,
  p_indexed integer, p_record_seq bigint) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_call turnwright.side_calls := turnwright.take_call(p_tenant, p_session, p_actor, p_child, p_dispatch, p_worker, p_token);
BEGIN
  IF v_call.child_id IS NULL THEN
    RETURN NULL;
  END IF;
  RETURN turnwright.claimed(p_tenant, p_session, p_actor, v_call, p_indexed, p_record_seq);
END $$;
--> statement-breakpoint
-- A claim by a process that knows the session up to `p_known_seq`: what it knows is not brought again.
CREATE FUNCTION turnwright.claim_known(p_tenant uuid, p_session uuid, p_actor uuid, p_child text, p_dispatch integer, p_worker uuid, p_token integer,
  p_known_seq bigint, p_head uuid, p_to_plan boolean, p_indexed integer, p_record_seq bigint) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_call turnwright.side_calls := turnwright.take_call(p_tenant, p_session, p_actor, p_child, p_dispatch, p_worker, p_token);
  v_next_seq bigint;
  v_watched boolean;
BEGIN
  IF v_call.child_id IS NULL THEN
    RETURN NULL;
  END IF;
  SELECT s.next_seq, coalesce(s.watched_until > now(), false) INTO v_next_seq, v_watched FROM turnwright.sessions s
  WHERE s.tenant_id = p_tenant AND s.session_id = p_session;
  IF v_next_seq <> p_known_seq THEN
    RETURN json_build_object('changed', turnwright.claimed(p_tenant, p_session, p_actor, v_call, p_indexed, p_record_seq));
  END IF;
  RETURN json_build_object('call', turnwright.call_json(v_call), 'watched', v_watched,
    'toPlan', CASE WHEN p_to_plan THEN turnwright.to_plan(p_tenant, p_session, p_head, p_indexed, p_record_seq) END);
END $$;
--> statement-breakpoint
-- What accepting a turn needs: the session, whether its head is busy, and the turn an idempotency key named before.
CREATE FUNCTION turnwright.load_session(p_tenant uuid, p_session uuid, p_key text) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('turnwright.tenant', p_tenant::text, true);
  RETURN (SELECT json_build_object(
    'session', json_build_object(
      'tenant', s.tenant_id, 'session', s.session_id, 'status', s.status, 'leg', s.leg, 'liveHead', s.live_head,
      'nextSeq', s.next_seq, 'lastDigest', encode(s.last_digest, 'hex'), 'nextTurn', s.next_turn,
      'nextEvidence', s.next_evidence, 'nextPresentation', s.next_presentation, 'nextItem', s.next_item, 'prefix', encode(s.prefix_digest, 'hex'), 'epoch', s.epoch, 'profileAt', s.profile_at,
      'watched', coalesce(s.watched_until > now(), false)),
    'openTurn', (SELECT h.open_turn FROM turnwright.heads h
      WHERE h.tenant_id = s.tenant_id AND h.session_id = s.session_id AND h.head_id = s.live_head),
    'sameKey', (SELECT json_build_object('turn', k.turn_id, 'inputDigest', encode(k.input_digest, 'hex')) FROM turnwright.accepted_keys k
      WHERE k.tenant_id = s.tenant_id AND k.session_id = s.session_id AND k.key = p_key))
    FROM turnwright.sessions s WHERE s.tenant_id = p_tenant AND s.session_id = p_session);
END $$;
--> statement-breakpoint
-- Takes an actor's pending events in the order they came.
CREATE FUNCTION turnwright.drain(p_tenant uuid, p_session uuid, p_actor uuid, p_dispatch integer) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('turnwright.tenant', p_tenant::text, true), set_config('synchronous_commit', 'off', true);
  DELETE FROM turnwright.outbox
  WHERE tenant_id = p_tenant AND session_id = p_session AND actor_id = p_actor AND child_id = 'drain' AND dispatch <= p_dispatch;
  RETURN (SELECT coalesce(json_agg(json_build_object('id', e.event_id, 'event', e.event) ORDER BY e.received_at, e.event_id), '[]'::json)
    FROM turnwright.actor_events e
    WHERE e.tenant_id = p_tenant AND e.session_id = p_session AND e.actor_id = p_actor AND e.revision IS NULL);
END $$;
--> statement-breakpoint
-- Leaves an event for an actor and asks for a drain. Returns the drain's dispatch, or null when the event was known.
CREATE FUNCTION turnwright.submit_event(p_tenant uuid, p_session uuid, p_actor uuid, p_event_id text, p_event text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  v_dispatch integer;
BEGIN
  PERFORM set_config('turnwright.tenant', p_tenant::text, true);
  PERFORM FROM turnwright.actors
  WHERE tenant_id = p_tenant AND session_id = p_session AND actor_id = p_actor AND status = 'active' FOR UPDATE;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  INSERT INTO turnwright.actor_events (tenant_id, session_id, actor_id, event_id, event)
  VALUES (p_tenant, p_session, p_actor, p_event_id, p_event) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  UPDATE turnwright.actors SET drains = drains + 1
  WHERE tenant_id = p_tenant AND session_id = p_session AND actor_id = p_actor RETURNING drains INTO v_dispatch;
  INSERT INTO turnwright.outbox (tenant_id, session_id, actor_id, child_id, dispatch, pool, admitted_at)
  VALUES (p_tenant, p_session, p_actor, 'drain', v_dispatch, 'turn', clock_timestamp());
  RETURN v_dispatch;
END $$;
--> statement-breakpoint
CREATE FUNCTION turnwright.usage_rows(p jsonb) RETURNS TABLE (day date, leg text, purpose text, calls bigint, input_tokens bigint,
  cache_read_tokens bigint, cache_write_tokens bigint, output_tokens bigint, reasoning_tokens bigint, micro_usd bigint, priced bigint, unpriced bigint,
  looked bigint, cached bigint, process_looked bigint, process_hits bigint, store_looked bigint, store_hits bigint) LANGUAGE sql IMMUTABLE AS $$
  SELECT x.day, x.leg, x.purpose, x.calls, x."inputTokens", x."cacheReadTokens", x."cacheWriteTokens", x."outputTokens", x."reasoningTokens",
    x."microUsd", x.priced, x.unpriced, x.looked, x.cached, x."processLooked", x."processHits", x."storeLooked", x."storeHits"
  FROM jsonb_to_recordset(p) AS x(day date, leg text, purpose text, calls bigint, "inputTokens" bigint, "cacheReadTokens" bigint,
    "cacheWriteTokens" bigint, "outputTokens" bigint, "reasoningTokens" bigint, "microUsd" bigint, priced bigint, unpriced bigint, looked bigint,
    cached bigint, "processLooked" bigint, "processHits" bigint, "storeLooked" bigint, "storeHits" bigint)
$$;
--> statement-breakpoint
-- Commits one hop, or nothing. `p` is the commit as src/db/commit.ts writes it.
CREATE FUNCTION turnwright.apply(p jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_tenant uuid := (p ->> 'tenant')::uuid;
  v_session uuid := (p ->> 'session')::uuid;
  v_watched boolean;
  v_count integer;
  v_row jsonb;
BEGIN
  PERFORM set_config('turnwright.tenant', v_tenant::text, true);
  IF p ? 'create' THEN
    INSERT INTO turnwright.sessions (tenant_id, session_id, status, leg, config, live_head, next_seq, last_digest, next_turn, next_evidence, next_presentation, next_item,
      parent_session, parent_turn)
    VALUES (v_tenant, v_session, 'open', p -> 'create' ->> 'leg', p -> 'create' ->> 'config', (p -> 'create' ->> 'head')::uuid,
      (p ->> 'baseSeq')::bigint, decode(p ->> 'lastDigest', 'hex'), 1, 1, 1, 1,
      (p -> 'create' -> 'parent' ->> 'session')::uuid, (p -> 'create' -> 'parent' ->> 'turn')::uuid);
    INSERT INTO turnwright.heads (tenant_id, session_id, head_id, at_seq, first_turn)
    VALUES (v_tenant, v_session, (p -> 'create' ->> 'head')::uuid, 0, coalesce((p -> 'create' ->> 'firstTurn')::integer, 1));
  END IF;
  IF p ? 'newHead' THEN
    INSERT INTO turnwright.heads (tenant_id, session_id, head_id, from_head, at_seq, first_turn)
    SELECT v_tenant, v_session, x.head, x."from", x."atSeq", x."firstTurn"
    FROM jsonb_to_record(p -> 'newHead') AS x(head uuid, "from" uuid, "atSeq" bigint, "firstTurn" integer);
  END IF;
  UPDATE turnwright.sessions SET status = coalesce(p ->> 'status', status), live_head = coalesce((p ->> 'liveHead')::uuid, live_head), next_seq = (p ->> 'nextSeq')::bigint, last_digest = decode(p ->> 'lastDigest', 'hex'),
    next_turn = (p ->> 'nextTurn')::integer, next_evidence = (p ->> 'nextEvidence')::integer,
    next_presentation = (p ->> 'nextPresentation')::integer, next_item = (p ->> 'nextItem')::integer, prefix_digest = decode(p ->> 'prefix', 'hex'), epoch = (p ->> 'epoch')::integer,
    profile_at = (p ->> 'profileAt')::bigint
  WHERE tenant_id = v_tenant AND session_id = v_session AND next_seq = (p ->> 'baseSeq')::bigint
  RETURNING coalesce(watched_until > now(), false) INTO v_watched;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the session moved on' USING ERRCODE = 'TW001';
  END IF;
  IF p ? 'settle' THEN
    UPDATE turnwright.side_calls SET status = p -> 'settle' ->> 'status', worker_id = NULL,
      attempt = attempt + (p -> 'settle' ->> 'attemptBy')::integer, dispatch = dispatch + (p -> 'settle' ->> 'dispatchBy')::integer,
      last_error = coalesce(p -> 'settle' ->> 'error', last_error)
    WHERE tenant_id = v_tenant AND session_id = v_session AND actor_id = (p -> 'settle' ->> 'actor')::uuid
      AND child_id = p -> 'settle' ->> 'child' AND fence = (p -> 'settle' ->> 'fence')::integer AND token = (p -> 'settle' ->> 'token')::integer AND status = 'running';
    IF NOT FOUND THEN
      -- A claim has one holder: a call that ended under it was settled by this very claim, whose answer was lost.
      IF EXISTS (SELECT FROM turnwright.side_calls WHERE tenant_id = v_tenant AND session_id = v_session
        AND actor_id = (p -> 'settle' ->> 'actor')::uuid AND child_id = p -> 'settle' ->> 'child'
        AND fence = (p -> 'settle' ->> 'fence')::integer AND token = (p -> 'settle' ->> 'token')::integer AND status IN ('done', 'failed')) THEN
        RAISE EXCEPTION 'the call was settled before' USING ERRCODE = 'TW003';
      END IF;
      RAISE EXCEPTION 'the call was taken over' USING ERRCODE = 'TW002';
    END IF;
  END IF;
  IF p ? 'turns' THEN
    INSERT INTO turnwright.turns (tenant_id, session_id, turn_id, head_id, number, status, priority)
    SELECT v_tenant, v_session, t.turn, t.head, t.number, 'accepted', t.priority
    FROM jsonb_to_recordset(p -> 'turns') AS t(turn uuid, head uuid, number integer, priority integer);
  END IF;
  IF p ? 'keys' THEN
    INSERT INTO turnwright.accepted_keys (tenant_id, session_id, key, turn_id, input_digest)
    SELECT v_tenant, v_session, k.key, k.turn, decode(k."inputDigest", 'hex')
    FROM jsonb_to_recordset(p -> 'keys') AS k(key text, turn uuid, "inputDigest" text);
  END IF;
  FOR v_row IN SELECT * FROM jsonb_array_elements(p -> 'actors') LOOP
    IF (v_row ->> 'base')::integer = 0 THEN
      INSERT INTO turnwright.actors (tenant_id, session_id, actor_id, turn_id, machine, version, revision, snapshot, status)
      VALUES (v_tenant, v_session, (v_row ->> 'actor')::uuid, (v_row ->> 'turn')::uuid, v_row ->> 'machine', (v_row ->> 'version')::integer,
        (v_row ->> 'revision')::integer, v_row ->> 'snapshot', v_row ->> 'status');
    ELSE
      UPDATE turnwright.actors SET revision = (v_row ->> 'revision')::integer, snapshot = v_row ->> 'snapshot', status = v_row ->> 'status',
        parked_reason = v_row ->> 'parkedReason', changed_at = clock_timestamp()
      WHERE tenant_id = v_tenant AND session_id = v_session AND actor_id = (v_row ->> 'actor')::uuid AND revision = (v_row ->> 'base')::integer;
      IF NOT FOUND THEN
        RAISE EXCEPTION 'the actor moved on' USING ERRCODE = 'TW001';
      END IF;
    END IF;
  END LOOP;
  IF p ? 'events' THEN
    INSERT INTO turnwright.actor_events AS e (tenant_id, session_id, actor_id, event_id, event, revision, snapshot_digest)
    SELECT v_tenant, v_session, v.actor, v.id, v.event, v.revision, decode(v.digest, 'hex')
    FROM jsonb_to_recordset(p -> 'events') AS v(actor uuid, id text, event text, revision integer, digest text)
    -- Of two under one id, that which was applied is the one to run again.
    ON CONFLICT (tenant_id, session_id, actor_id, event_id) DO UPDATE SET revision = excluded.revision, snapshot_digest = excluded.snapshot_digest,
      event = CASE WHEN excluded.revision IS NULL THEN e.event ELSE excluded.event END
    WHERE e.revision IS NULL;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    IF v_count <> jsonb_array_length(p -> 'events') THEN
      RAISE EXCEPTION 'the event was applied before' USING ERRCODE = 'TW003';
    END IF;
  END IF;
  IF p ? 'records' THEN
    INSERT INTO turnwright.records (tenant_id, session_id, seq, head_id, turn_id, kind, class, body, bytes, body_digest, digest, prev_digest)
    SELECT v_tenant, v_session, r.seq, r.head, r.turn, r.kind, r.class, r.body, r.bytes, decode(r."bodyDigest", 'hex'), decode(r.digest, 'hex'), decode(r.prev, 'hex')
    FROM jsonb_to_recordset(p -> 'records')
      AS r(seq bigint, head uuid, turn uuid, kind text, class text, body text, bytes integer, "bodyDigest" text, digest text, prev text);
  END IF;
  IF p ? 'largeBodies' THEN
    -- Held against the collection of orphans: one taken since its insert is stored again by the caller.
    PERFORM pg_advisory_xact_lock_shared(hashtext('turnwright.bodies'));
    IF EXISTS (SELECT FROM jsonb_array_elements_text(p -> 'largeBodies') AS d(digest)
      WHERE NOT EXISTS (SELECT FROM turnwright.bodies b
        WHERE b.tenant_id = v_tenant AND b.session_id = v_session AND b.digest = decode(d.digest, 'hex'))) THEN
      RAISE EXCEPTION 'a body is gone' USING ERRCODE = 'TW001';
    END IF;
  END IF;
  IF p ? 'calls' THEN
    INSERT INTO turnwright.side_calls (tenant_id, session_id, actor_id, child_id, src, pool, input, status, priority)
    SELECT v_tenant, v_session, c.actor, c.child, c.src, c.pool, c.input, 'queued', c.priority
    FROM jsonb_to_recordset(p -> 'calls') AS c(actor uuid, child text, src text, pool text, input text, priority integer);
  END IF;
  IF p ? 'outbox' THEN
    INSERT INTO turnwright.outbox (tenant_id, session_id, actor_id, child_id, dispatch, pool, priority, due_at, admitted_at)
    SELECT v_tenant, v_session, o.actor, o.child, o.dispatch, o.pool, o.priority,
      clock_timestamp() + make_interval(secs => o."delayMs" / 1000.0), CASE WHEN o.admitted THEN clock_timestamp() END
    FROM jsonb_to_recordset(p -> 'outbox') AS o(actor uuid, child text, dispatch integer, pool text, priority integer, "delayMs" double precision, admitted boolean);
  END IF;
  IF p ? 'cancels' THEN
    DELETE FROM turnwright.outbox o USING jsonb_to_recordset(p -> 'cancels') AS x(actor uuid, child text)
    WHERE o.tenant_id = v_tenant AND o.session_id = v_session AND o.actor_id = x.actor AND o.child_id = x.child;
    WITH stopped AS (
      UPDATE turnwright.side_calls c SET status = 'cancelled', worker_id = NULL FROM jsonb_to_recordset(p -> 'cancels') AS x(actor uuid, child text)
      WHERE c.tenant_id = v_tenant AND c.session_id = v_session AND c.actor_id = x.actor AND c.child_id = x.child AND c.status IN ('queued', 'running')
      RETURNING c.actor_id, c.child_id)
    SELECT count(pg_notify('turnwright_cancel', stopped.actor_id || '~' || stopped.child_id)) INTO v_count FROM stopped;
  END IF;
  IF p ? 'clearedTimers' THEN
    DELETE FROM turnwright.timers t USING jsonb_to_recordset(p -> 'clearedTimers') AS x(actor uuid, timer text)
    WHERE t.tenant_id = v_tenant AND t.session_id = v_session AND t.actor_id = x.actor AND (x.timer IS NULL OR t.timer_id = x.timer);
  END IF;
  IF p ? 'timers' THEN
    INSERT INTO turnwright.timers (tenant_id, session_id, actor_id, timer_id, event, revision, due_at)
    SELECT v_tenant, v_session, t.actor, t.timer, t.event, t.revision, clock_timestamp() + make_interval(secs => t."delayMs" / 1000.0)
    FROM jsonb_to_recordset(p -> 'timers') AS t(actor uuid, timer text, event text, revision integer, "delayMs" double precision)
    ON CONFLICT (tenant_id, session_id, actor_id, timer_id) DO UPDATE SET event = excluded.event, revision = excluded.revision, due_at = excluded.due_at;
  END IF;
  IF p ? 'turnChanges' THEN
    UPDATE turnwright.turns t SET status = c.status, outcome = coalesce(c.outcome, t.outcome), reason = coalesce(c.reason, t.reason),
      steps = coalesce(c.steps, t.steps), closed_seq = c."closedSeq", full_bytes = c."fullBytes", card_bytes = c."cardBytes", first_item = c."firstItem", last_item = c."lastItem", terms = decode(c.terms, 'base64'),
      started_at = CASE WHEN c.status = 'running' THEN now() ELSE t.started_at END,
      closed_at = CASE WHEN c.status = 'closed' THEN now() ELSE t.closed_at END
    FROM jsonb_to_recordset(p -> 'turnChanges') AS c(turn uuid, status text, outcome text, reason text, steps integer, "closedSeq" bigint, "fullBytes" integer, "cardBytes" integer, "firstItem" integer, "lastItem" integer, terms text)
    WHERE t.tenant_id = v_tenant AND t.session_id = v_session AND t.turn_id = c.turn;
  END IF;
  IF p ? 'heads' THEN
    UPDATE turnwright.heads h SET open_turn = x."openTurn" FROM jsonb_to_recordset(p -> 'heads') AS x(head uuid, "openTurn" uuid)
    WHERE h.tenant_id = v_tenant AND h.session_id = v_session AND h.head_id = x.head;
  END IF;
  IF p ? 'packets' THEN
    INSERT INTO turnwright.packets (tenant_id, session_id, head_id, from_turn, to_turn, seq, bytes, quality)
    SELECT v_tenant, v_session, k.head, k."from", k."to", k.seq, k.bytes, k.quality
    FROM jsonb_to_recordset(p -> 'packets') AS k(head uuid, "from" integer, "to" integer, seq bigint, bytes integer, quality text) ON CONFLICT DO NOTHING;
  END IF;
  IF p ? 'edges' THEN
    INSERT INTO turnwright.edges (tenant_id, session_id, turn_id, ordinal, kind, target, provenance)
    SELECT v_tenant, v_session, e.turn, e.ordinal, e.kind, e."to", e.provenance
    FROM jsonb_to_recordset(p -> 'edges') AS e(turn uuid, ordinal integer, kind text, "to" text, provenance text);
  END IF;
  IF p ? 'retractedEdges' THEN
    UPDATE turnwright.edges e SET retracted = true FROM jsonb_to_recordset(p -> 'retractedEdges') AS x(turn uuid, kind text, "to" text)
    WHERE e.tenant_id = v_tenant AND e.session_id = v_session AND e.turn_id = x.turn AND e.kind = x.kind AND e.target = x."to";
  END IF;
  IF p ? 'presentations' THEN
    INSERT INTO turnwright.presentations (tenant_id, session_id, ordinal, seq, turn_id, type)
    SELECT v_tenant, v_session, x.ordinal, x.seq, x.turn, x.type
    FROM jsonb_to_recordset(p -> 'presentations') AS x(ordinal integer, seq bigint, turn uuid, type text);
  END IF;
  IF p ? 'resets' THEN
    UPDATE turnwright.heads h SET reset_seq = x.seq FROM jsonb_to_recordset(p -> 'resets') AS x(head uuid, seq bigint)
    WHERE h.tenant_id = v_tenant AND h.session_id = v_session AND h.head_id = x.head;
  END IF;
  IF p ? 'evictions' THEN
    INSERT INTO turnwright.evictions (tenant_id, session_id, head_id, seq, from_item, to_item, note, author)
    SELECT v_tenant, v_session, x.head, x.seq, x."from", x."to", x.note, x.author
    FROM jsonb_to_recordset(p -> 'evictions') AS x(head uuid, seq bigint, "from" integer, "to" integer, note text, author text);
  END IF;
  IF p ? 'segments' THEN
    INSERT INTO turnwright.segments (tenant_id, session_id, head_id, ordinal, from_session, from_head, after_seq, to_seq, digest, first_turn, last_turn, first_item, last_item)
    SELECT v_tenant, v_session, x.head, x.ordinal, x."fromSession", x."fromHead", x."afterSeq", x."toSeq", decode(x.digest, 'hex'), x."firstTurn", x."lastTurn", x."firstItem", x."lastItem"
    FROM jsonb_to_recordset(p -> 'segments') AS x(head uuid, ordinal integer, "fromSession" uuid, "fromHead" uuid, "afterSeq" bigint, "toSeq" bigint, digest text,
      "firstTurn" integer, "lastTurn" integer, "firstItem" integer, "lastItem" integer);
  END IF;
  IF p ? 'cleared' THEN
    DELETE FROM turnwright.segments g USING jsonb_to_recordset(p -> 'cleared') AS x(head uuid)
    WHERE g.tenant_id = v_tenant AND g.session_id = v_session AND g.head_id = x.head;
    UPDATE turnwright.heads h SET cleared_seq = x.seq, first_turn = x."firstTurn", reset_seq = NULL
    FROM jsonb_to_recordset(p -> 'cleared') AS x(head uuid, seq bigint, "firstTurn" integer)
    WHERE h.tenant_id = v_tenant AND h.session_id = v_session AND h.head_id = x.head;
  END IF;
  IF p ? 'prefixes' THEN
    INSERT INTO turnwright.prefixes (tenant_id, session_id, digest, seq)
    SELECT v_tenant, v_session, decode(x.digest, 'hex'), x.seq FROM jsonb_to_recordset(p -> 'prefixes') AS x(digest text, seq bigint);
  END IF;
  IF p ? 'vectors' THEN
    INSERT INTO turnwright.turn_vectors (tenant_id, session_id, turn_id, model, vector, seq)
    SELECT v_tenant, v_session, x.turn, x.model, decode(x.vector, 'base64'), x.seq
    FROM jsonb_to_recordset(p -> 'vectors') AS x(turn uuid, model text, vector text, seq bigint);
  END IF;
  IF p ? 'usage' THEN
    INSERT INTO turnwright.usage AS u (tenant_id, session_id, day, leg, purpose, calls, input_tokens, cache_read_tokens, cache_write_tokens,
      output_tokens, reasoning_tokens, micro_usd, priced, unpriced, looked, cached, process_looked, process_hits, store_looked, store_hits)
    SELECT v_tenant, v_session, x.* FROM turnwright.usage_rows(p -> 'usage') AS x
    ON CONFLICT (tenant_id, session_id, day, leg, purpose) DO UPDATE SET calls = u.calls + excluded.calls,
      input_tokens = u.input_tokens + excluded.input_tokens, cache_read_tokens = u.cache_read_tokens + excluded.cache_read_tokens,
      cache_write_tokens = u.cache_write_tokens + excluded.cache_write_tokens, output_tokens = u.output_tokens + excluded.output_tokens,
      reasoning_tokens = u.reasoning_tokens + excluded.reasoning_tokens, micro_usd = u.micro_usd + excluded.micro_usd,
      priced = u.priced + excluded.priced, unpriced = u.unpriced + excluded.unpriced, looked = u.looked + excluded.looked,
      cached = u.cached + excluded.cached, process_looked = u.process_looked + excluded.process_looked,
      process_hits = u.process_hits + excluded.process_hits, store_looked = u.store_looked + excluded.store_looked,
      store_hits = u.store_hits + excluded.store_hits, changed_at = clock_timestamp();
  END IF;
  IF p ? 'evidence' THEN
    INSERT INTO turnwright.evidence (tenant_id, session_id, ordinal, seq, turn_id, tool)
    SELECT v_tenant, v_session, e.ordinal, e.seq, e.turn, e.tool
    FROM jsonb_to_recordset(p -> 'evidence') AS e(ordinal integer, seq bigint, turn uuid, tool text);
  END IF;
  IF v_watched THEN
    PERFORM pg_notify('turnwright_session', v_session::text);
  END IF;
END $$;
--> statement-breakpoint
-- The planned turns of a head, as the records of those kinds.
CREATE FUNCTION turnwright.history(p_tenant uuid, p_session uuid, p_head uuid, p_from integer, p_to integer, p_kinds text[]) RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
  PERFORM set_config('turnwright.tenant', p_tenant::text, true);
  RETURN (SELECT coalesce(json_agg(json_build_object('session', t.session_id, 'number', t.number, 'turn', t.turn_id, 'records', turnwright.turn_records(p_tenant, t.session_id, t.turn_id,
      p_kinds, g.to_seq)) ORDER BY t.number), '[]'::json)
    FROM turnwright.lineage(p_tenant, p_session, p_head) g
    JOIN turnwright.turns t ON t.tenant_id = p_tenant AND t.session_id = g.session_id AND t.head_id = g.head_id
      AND t.number BETWEEN greatest(g.first_turn, p_from) AND least(g.last_turn, p_to));
END $$;
