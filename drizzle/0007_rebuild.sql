-- Projections made anew of the originals, run as turnwright_upkeep. `p` is what src/db/upkeep.ts sends.
GRANT SELECT (turn_id, at) ON turnwright.records TO turnwright_upkeep;
--> statement-breakpoint
-- False when the ledger grew since the projections were made: nothing is written then. The session's lock keeps hops
-- out; a session whose row is gone has none.
CREATE FUNCTION turnwright.restore(p jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  v_tenant uuid := (p ->> 'tenant')::uuid;
  v_session uuid := (p ->> 'session')::uuid;
  v_row jsonb := p -> 'row';
  -- Above every number a lost row may have given out.
  v_number integer := ceil(extract(epoch FROM clock_timestamp()) - 1700000000)::integer;
BEGIN
  PERFORM FROM turnwright.sessions s WHERE s.tenant_id = v_tenant AND s.session_id = v_session FOR UPDATE;
  IF (SELECT max(r.seq) + 1 FROM turnwright.records r WHERE r.tenant_id = v_tenant AND r.session_id = v_session) IS DISTINCT FROM (v_row ->> 'nextSeq')::bigint THEN
    RETURN false;
  END IF;
  INSERT INTO turnwright.sessions AS s (tenant_id, session_id, status, leg, config, live_head, next_seq, last_digest, next_turn, next_evidence, next_presentation, next_item, prefix_digest, epoch, profile_at, parent_session, parent_turn, created_at)
  SELECT v_tenant, v_session, v_row ->> 'status', v_row ->> 'leg', v_row ->> 'config', (v_row ->> 'liveHead')::uuid, (v_row ->> 'nextSeq')::bigint,
    decode(v_row ->> 'lastDigest', 'hex'), (v_row ->> 'nextTurn')::integer, (v_row ->> 'nextEvidence')::integer,
    (v_row ->> 'nextPresentation')::integer, (v_row ->> 'nextItem')::integer, decode(v_row ->> 'prefix', 'hex'), (v_row ->> 'epoch')::integer, (v_row ->> 'profileAt')::bigint,
    (v_row -> 'parent' ->> 'session')::uuid, (v_row -> 'parent' ->> 'turn')::uuid, r.at
  FROM turnwright.records r WHERE r.tenant_id = v_tenant AND r.session_id = v_session AND r.seq = 1
  ON CONFLICT (tenant_id, session_id) DO UPDATE SET status = excluded.status, leg = excluded.leg, config = excluded.config,
    live_head = excluded.live_head, next_seq = excluded.next_seq, last_digest = excluded.last_digest, next_turn = excluded.next_turn,
    next_evidence = excluded.next_evidence, next_presentation = excluded.next_presentation, next_item = excluded.next_item, prefix_digest = excluded.prefix_digest, epoch = excluded.epoch, profile_at = excluded.profile_at,
    parent_session = excluded.parent_session, parent_turn = excluded.parent_turn;

  DELETE FROM turnwright.heads x WHERE x.tenant_id = v_tenant AND x.session_id = v_session;
  INSERT INTO turnwright.heads (tenant_id, session_id, head_id, from_head, at_seq, open_turn, reset_seq, cleared_seq, first_turn)
  SELECT v_tenant, v_session, h.head, h."from", h."atSeq", h."openTurn", h.reset, h."clearedSeq", h."firstTurn"
  FROM jsonb_to_recordset(p -> 'heads') AS h(head uuid, "from" uuid, "atSeq" bigint, "openTurn" uuid, reset bigint, "clearedSeq" bigint, "firstTurn" integer);

  DELETE FROM turnwright.turns x WHERE x.tenant_id = v_tenant AND x.session_id = v_session;
  INSERT INTO turnwright.turns (tenant_id, session_id, turn_id, head_id, number, status, outcome, reason, steps, closed_seq, full_bytes, card_bytes, first_item, last_item, terms, priority, accepted_at, started_at, closed_at)
  SELECT v_tenant, v_session, t.turn, t.head, t.number, t.status, t.outcome, t.reason, t.steps, t."closedSeq", t."fullBytes", t."cardBytes", t."firstItem", t."lastItem", decode(t.terms, 'base64'), t.priority, m.accepted, m.started, m.closed
  FROM jsonb_to_recordset(p -> 'turns') AS t(turn uuid, head uuid, number integer, status text, outcome text, reason text, steps integer,
    "closedSeq" bigint, "fullBytes" integer, "cardBytes" integer, "firstItem" integer, "lastItem" integer, terms text, priority integer)
  CROSS JOIN LATERAL (
    SELECT min(r.at) FILTER (WHERE r.kind = 'turn-accepted') AS accepted, min(r.at) FILTER (WHERE r.kind = 'turn-context') AS started,
      min(r.at) FILTER (WHERE r.kind = 'turn-closed') AS closed
    FROM turnwright.records r WHERE r.tenant_id = v_tenant AND r.session_id = v_session AND r.turn_id = t.turn) m;

  DELETE FROM turnwright.accepted_keys x WHERE x.tenant_id = v_tenant AND x.session_id = v_session;
  INSERT INTO turnwright.accepted_keys (tenant_id, session_id, key, turn_id, input_digest)
  SELECT v_tenant, v_session, k.key, k.turn, decode(k."inputDigest", 'hex')
  FROM jsonb_to_recordset(p -> 'keys') AS k(key text, turn uuid, "inputDigest" text);

  DELETE FROM turnwright.evidence x WHERE x.tenant_id = v_tenant AND x.session_id = v_session;
  INSERT INTO turnwright.evidence (tenant_id, session_id, ordinal, seq, turn_id, tool)
  SELECT v_tenant, v_session, e.ordinal, e.seq, e.turn, e.tool
  FROM jsonb_to_recordset(p -> 'evidence') AS e(ordinal integer, seq bigint, turn uuid, tool text);

  DELETE FROM turnwright.packets x WHERE x.tenant_id = v_tenant AND x.session_id = v_session;
  INSERT INTO turnwright.packets (tenant_id, session_id, head_id, from_turn, to_turn, seq, bytes, quality)
  SELECT v_tenant, v_session, k.head, k."from", k."to", k.seq, k.bytes, k.quality
  FROM jsonb_to_recordset(p -> 'packets') AS k(head uuid, "from" integer, "to" integer, seq bigint, bytes integer, quality text);

  DELETE FROM turnwright.evictions x WHERE x.tenant_id = v_tenant AND x.session_id = v_session;
  INSERT INTO turnwright.evictions (tenant_id, session_id, head_id, seq, from_item, to_item, note, author)
  SELECT v_tenant, v_session, x.head, x.seq, x."from", x."to", x.note, x.author
  FROM jsonb_to_recordset(p -> 'evictions') AS x(head uuid, seq bigint, "from" integer, "to" integer, note text, author text);

  DELETE FROM turnwright.segments x WHERE x.tenant_id = v_tenant AND x.session_id = v_session;
  INSERT INTO turnwright.segments (tenant_id, session_id, head_id, ordinal, from_session, from_head, after_seq, to_seq, digest, first_turn, last_turn, first_item, last_item)
  SELECT v_tenant, v_session, x.head, x.ordinal, x."fromSession", x."fromHead", x."afterSeq", x."toSeq", decode(x.digest, 'hex'), x."firstTurn", x."lastTurn", x."firstItem", x."lastItem"
  FROM jsonb_to_recordset(p -> 'segments') AS x(head uuid, ordinal integer, "fromSession" uuid, "fromHead" uuid, "afterSeq" bigint, "toSeq" bigint, digest text,
    "firstTurn" integer, "lastTurn" integer, "firstItem" integer, "lastItem" integer);

  DELETE FROM turnwright.edges x WHERE x.tenant_id = v_tenant AND x.session_id = v_session;
  INSERT INTO turnwright.edges (tenant_id, session_id, turn_id, ordinal, kind, target, provenance, retracted)
  SELECT v_tenant, v_session, e.turn, e.ordinal, e.kind, e."to", e.provenance, e.retracted
  FROM jsonb_to_recordset(p -> 'edges') AS e(turn uuid, ordinal integer, kind text, "to" text, provenance text, retracted boolean);

  DELETE FROM turnwright.presentations x WHERE x.tenant_id = v_tenant AND x.session_id = v_session;
  INSERT INTO turnwright.presentations (tenant_id, session_id, ordinal, seq, turn_id, type)
  SELECT v_tenant, v_session, x.ordinal, x.seq, x.turn, x.type
  FROM jsonb_to_recordset(p -> 'presentations') AS x(ordinal integer, seq bigint, turn uuid, type text);

  DELETE FROM turnwright.prefixes x WHERE x.tenant_id = v_tenant AND x.session_id = v_session;
  INSERT INTO turnwright.prefixes (tenant_id, session_id, digest, seq)
  SELECT v_tenant, v_session, decode(x.digest, 'hex'), x.seq FROM jsonb_to_recordset(p -> 'prefixes') AS x(digest text, seq bigint);

  DELETE FROM turnwright.turn_vectors x WHERE x.tenant_id = v_tenant AND x.session_id = v_session;
  INSERT INTO turnwright.turn_vectors (tenant_id, session_id, turn_id, model, vector, seq)
  SELECT v_tenant, v_session, x.turn, x.model, decode(x.vector, 'base64'), x.seq
  FROM jsonb_to_recordset(p -> 'vectors') AS x(turn uuid, model text, vector text, seq bigint);

  -- What metrics folded of it stays folded.
  DELETE FROM turnwright.usage u WHERE u.tenant_id = v_tenant AND u.session_id = v_session
    AND NOT EXISTS (SELECT FROM turnwright.usage_rows(p -> 'usage') x WHERE x.day = u.day AND x.leg = u.leg AND x.purpose = u.purpose);
  INSERT INTO turnwright.usage AS u (tenant_id, session_id, day, leg, purpose, calls, input_tokens, cache_read_tokens, cache_write_tokens,
    output_tokens, reasoning_tokens, micro_usd, priced, unpriced, looked, cached, process_looked, process_hits, store_looked, store_hits)
  SELECT v_tenant, v_session, x.* FROM turnwright.usage_rows(p -> 'usage') AS x
  ON CONFLICT (tenant_id, session_id, day, leg, purpose) DO UPDATE SET calls = excluded.calls, input_tokens = excluded.input_tokens,
    cache_read_tokens = excluded.cache_read_tokens, cache_write_tokens = excluded.cache_write_tokens, output_tokens = excluded.output_tokens,
    reasoning_tokens = excluded.reasoning_tokens, micro_usd = excluded.micro_usd, priced = excluded.priced, unpriced = excluded.unpriced,
    looked = excluded.looked, cached = excluded.cached, process_looked = excluded.process_looked, process_hits = excluded.process_hits,
    store_looked = excluded.store_looked, store_hits = excluded.store_hits;

  INSERT INTO turnwright.actors (tenant_id, session_id, actor_id, turn_id, machine, version, revision, snapshot, status, compacted)
  SELECT v_tenant, v_session, a.actor, a.turn, a.machine, a.version, a.revision, a.snapshot, a.status, a.compacted
  FROM jsonb_to_recordset(p -> 'actors') AS a(actor uuid, turn uuid, machine text, version integer, revision integer, snapshot text, status text, compacted boolean)
  ON CONFLICT (tenant_id, session_id, actor_id) DO UPDATE SET turn_id = excluded.turn_id, machine = excluded.machine, version = excluded.version,
    revision = excluded.revision, snapshot = excluded.snapshot, status = excluded.status, compacted = excluded.compacted, parked_reason = NULL;

  UPDATE turnwright.side_calls c SET status = 'cancelled', worker_id = NULL FROM jsonb_to_recordset(p -> 'surplusCalls') AS x(actor uuid, child text)
  WHERE c.tenant_id = v_tenant AND c.session_id = v_session AND c.actor_id = x.actor AND c.child_id = x.child;
  -- Whether a tool whose row is gone was let loose is not known: it counts as started.
  INSERT INTO turnwright.side_calls AS c (tenant_id, session_id, actor_id, child_id, src, pool, input, status, priority, attempt, fence, dispatch, started)
  SELECT v_tenant, v_session, x.actor, x.child, x.src, x.pool, x.input, 'queued', x.priority, x.attempt, v_number, v_number, x.src = 'tool'
  FROM jsonb_to_recordset(p -> 'calls') AS x(actor uuid, child text, src text, pool text, input text, priority integer, attempt integer)
  ON CONFLICT (tenant_id, session_id, actor_id, child_id) DO UPDATE SET src = excluded.src, pool = excluded.pool, input = excluded.input,
    status = 'queued', worker_id = NULL, fence = greatest(c.fence, excluded.fence), dispatch = greatest(c.dispatch + 1, excluded.dispatch), started = excluded.started;

  DELETE FROM turnwright.timers t USING jsonb_to_recordset(p -> 'surplusTimers') AS x(actor uuid, timer text)
  WHERE t.tenant_id = v_tenant AND t.session_id = v_session AND t.actor_id = x.actor AND t.timer_id = x.timer;
  INSERT INTO turnwright.timers (tenant_id, session_id, actor_id, timer_id, event, revision, due_at)
  SELECT v_tenant, v_session, t.actor, t.timer, t.event, t.revision, clock_timestamp() + make_interval(secs => t."dueInMs" / 1000.0)
  FROM jsonb_to_recordset(p -> 'timers') AS t(actor uuid, timer text, event text, revision integer, "dueInMs" double precision)
  ON CONFLICT (tenant_id, session_id, actor_id, timer_id) DO UPDATE SET event = excluded.event, revision = excluded.revision, due_at = excluded.due_at;

  -- A queued call has its one hand-over, and nothing else has any.
  DELETE FROM turnwright.outbox o WHERE o.tenant_id = v_tenant AND o.session_id = v_session AND o.child_id <> 'drain'
    AND NOT EXISTS (SELECT FROM turnwright.side_calls c WHERE c.tenant_id = v_tenant AND c.session_id = v_session AND c.actor_id = o.actor_id
      AND c.child_id = o.child_id AND c.status = 'queued' AND c.dispatch = o.dispatch);
  INSERT INTO turnwright.outbox (tenant_id, session_id, actor_id, child_id, dispatch, pool, priority)
  SELECT v_tenant, v_session, c.actor_id, c.child_id, c.dispatch, c.pool, c.priority FROM turnwright.side_calls c
  WHERE c.tenant_id = v_tenant AND c.session_id = v_session AND c.status = 'queued' ON CONFLICT DO NOTHING;
  RETURN true;
END $$;
