-- Partitions, row-level security, privileges and the triggers that keep the originals append-only.
-- Runs as turnwright_owner; the three roles exist before the first migration.

DO $$
BEGIN
  FOR i IN 0..15 LOOP
    EXECUTE format('CREATE TABLE turnwright.records_p%s PARTITION OF turnwright.records FOR VALUES WITH (MODULUS 16, REMAINDER %s)', lpad(i::text, 2, '0'), i);
    EXECUTE format('CREATE TABLE turnwright.bodies_p%s PARTITION OF turnwright.bodies FOR VALUES WITH (MODULUS 16, REMAINDER %s)', lpad(i::text, 2, '0'), i);
  END LOOP;
END $$;
--> statement-breakpoint
-- Rows that are updated once a hop: room on the page keeps those updates off the indexes.
ALTER TABLE turnwright.sessions SET (fillfactor = 60);
--> statement-breakpoint
ALTER TABLE turnwright.actors SET (fillfactor = 60);
--> statement-breakpoint
ALTER TABLE turnwright.side_calls SET (fillfactor = 70);
--> statement-breakpoint
GRANT USAGE ON SCHEMA turnwright TO turnwright_app, turnwright_upkeep;
--> statement-breakpoint
GRANT USAGE ON ALL SEQUENCES IN SCHEMA turnwright TO turnwright_app, turnwright_upkeep;
--> statement-breakpoint
GRANT SELECT, INSERT ON turnwright.records, turnwright.bodies TO turnwright_app;
--> statement-breakpoint
GRANT SELECT, INSERT, UPDATE ON turnwright.sessions, turnwright.heads, turnwright.turns, turnwright.actors, turnwright.actor_events, turnwright.side_calls, turnwright.api_keys, turnwright.capacity_profiles, turnwright.packets, turnwright.evictions, turnwright.evidence, turnwright.accepted_keys, turnwright.edges, turnwright.presentations, turnwright.prefixes, turnwright.usage, turnwright.turn_vectors TO turnwright_app;
--> statement-breakpoint
GRANT SELECT, INSERT, UPDATE, DELETE ON turnwright.timers, turnwright.outbox, turnwright.deltas, turnwright.segments TO turnwright_app;
--> statement-breakpoint
GRANT SELECT, INSERT, UPDATE ON turnwright.response_cache, turnwright.probe_flights TO turnwright_app;
--> statement-breakpoint
GRANT SELECT (tenant_id, key, expires_at), DELETE ON turnwright.response_cache TO turnwright_upkeep;
--> statement-breakpoint
GRANT SELECT ON turnwright.tenants, turnwright.workers TO turnwright_app;
--> statement-breakpoint
GRANT SELECT (tenant_id, session_id, seq, kind, bytes, body_digest), UPDATE (body) ON turnwright.records TO turnwright_upkeep;
--> statement-breakpoint
GRANT SELECT (tenant_id, session_id, digest, created_at), DELETE, UPDATE (body) ON turnwright.bodies TO turnwright_upkeep;
--> statement-breakpoint
GRANT SELECT, INSERT, UPDATE, DELETE ON turnwright.sessions, turnwright.heads, turnwright.turns, turnwright.packets, turnwright.evictions, turnwright.segments, turnwright.evidence, turnwright.accepted_keys, turnwright.edges, turnwright.presentations, turnwright.prefixes, turnwright.usage, turnwright.turn_vectors TO turnwright_upkeep;
--> statement-breakpoint
GRANT SELECT, INSERT, UPDATE, DELETE ON turnwright.actors TO turnwright_upkeep;
--> statement-breakpoint
GRANT SELECT, INSERT, UPDATE, DELETE ON turnwright.actor_events, turnwright.side_calls, turnwright.timers, turnwright.outbox, turnwright.deltas, turnwright.workers TO turnwright_upkeep;
--> statement-breakpoint
GRANT SELECT, INSERT ON turnwright.tenants TO turnwright_upkeep;
--> statement-breakpoint
DO $$
DECLARE
  t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['tenants', 'api_keys', 'sessions', 'records', 'bodies', 'heads', 'turns', 'actors', 'actor_events', 'side_calls', 'timers', 'outbox', 'packets', 'evictions', 'segments', 'evidence', 'accepted_keys', 'edges', 'presentations', 'prefixes', 'deltas', 'usage', 'turn_vectors', 'response_cache'] LOOP
    EXECUTE format('ALTER TABLE turnwright.%I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format('ALTER TABLE turnwright.%I FORCE ROW LEVEL SECURITY', t);
    EXECUTE format($policy$CREATE POLICY own_tenant ON turnwright.%I TO turnwright_app
      USING (tenant_id = nullif(current_setting('turnwright.tenant', true), '')::uuid)$policy$, t);
    IF t <> 'api_keys' THEN
      EXECUTE format('CREATE POLICY every_tenant ON turnwright.%I TO turnwright_upkeep USING (true)', t);
    END IF;
  END LOOP;
END $$;
--> statement-breakpoint
CREATE POLICY key_lookup ON turnwright.api_keys FOR SELECT TO turnwright_owner USING (true);
--> statement-breakpoint
CREATE INDEX api_keys_id ON turnwright.api_keys (key_id);
--> statement-breakpoint
-- The one way to find a key before its tenant is known.
CREATE FUNCTION turnwright.find_key(p_key_id uuid)
RETURNS TABLE (tenant_id uuid, secret_hash bytea, scopes text[], expires_at timestamptz, revoked_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = turnwright, pg_temp AS $$
  SELECT k.tenant_id, k.secret_hash, k.scopes, k.expires_at, k.revoked_at FROM turnwright.api_keys k WHERE k.key_id = p_key_id
$$;
--> statement-breakpoint
REVOKE ALL ON FUNCTION turnwright.find_key(uuid) FROM PUBLIC;
--> statement-breakpoint
GRANT EXECUTE ON FUNCTION turnwright.find_key(uuid) TO turnwright_app;
--> statement-breakpoint
-- The one change an original ever sees: its body set to null by the transaction that appends its `erased` record.
CREATE FUNCTION turnwright.erased_now(p_tenant uuid, p_session uuid, p_seq bigint, p_digest bytea) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM turnwright.records e WHERE e.tenant_id = p_tenant AND e.session_id = p_session
    AND e.kind = 'erased' AND e.xmin = pg_current_xact_id()::xid AND e.body::jsonb ->> 'digest' = encode(p_digest, 'hex')
    AND (p_seq IS NULL OR (e.body::jsonb ->> 'seq')::bigint = p_seq))
$$;
--> statement-breakpoint
CREATE FUNCTION turnwright.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    IF NEW.body IS NULL AND to_jsonb(NEW) - 'body' = to_jsonb(OLD) - 'body' AND turnwright.erased_now(OLD.tenant_id, OLD.session_id, OLD.seq, OLD.body_digest) THEN
      RETURN NEW;
    END IF;
  END IF;
  RAISE EXCEPTION 'the ledger is append-only: % on % is refused', TG_OP, TG_TABLE_NAME USING ERRCODE = 'TW010';
END $$;
--> statement-breakpoint
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON turnwright.records FOR EACH ROW EXECUTE FUNCTION turnwright.refuse_change();
--> statement-breakpoint
-- A large body goes only when no record points at it: one left behind by a hop that never committed.
CREATE FUNCTION turnwright.refuse_body_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    IF NOT EXISTS (SELECT FROM turnwright.records r
      WHERE r.tenant_id = OLD.tenant_id AND r.session_id = OLD.session_id AND r.body_digest = OLD.digest AND r.bytes > 8192) THEN
      RETURN OLD;
    END IF;
  ELSIF NEW.body IS NULL AND to_jsonb(NEW) - 'body' = to_jsonb(OLD) - 'body' AND turnwright.erased_now(OLD.tenant_id, OLD.session_id, NULL, OLD.digest) THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'the ledger is append-only: % on % is refused', TG_OP, TG_TABLE_NAME USING ERRCODE = 'TW010';
END $$;
--> statement-breakpoint
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON turnwright.bodies FOR EACH ROW EXECUTE FUNCTION turnwright.refuse_body_change();
--> statement-breakpoint
CREATE FUNCTION turnwright.refuse_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the ledger is append-only: TRUNCATE on % is refused', TG_TABLE_NAME USING ERRCODE = 'TW010';
END $$;
--> statement-breakpoint
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON turnwright.records FOR EACH STATEMENT EXECUTE FUNCTION turnwright.refuse_truncate();
--> statement-breakpoint
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON turnwright.bodies FOR EACH STATEMENT EXECUTE FUNCTION turnwright.refuse_truncate();
--> statement-breakpoint
-- A trigger on statements is not handed down to partitions.
DO $$
BEGIN
  FOR i IN 0..15 LOOP
    EXECUTE format('CREATE TRIGGER no_truncate BEFORE TRUNCATE ON turnwright.records_p%s FOR EACH STATEMENT EXECUTE FUNCTION turnwright.refuse_truncate()', lpad(i::text, 2, '0'));
    EXECUTE format('CREATE TRIGGER no_truncate BEFORE TRUNCATE ON turnwright.bodies_p%s FOR EACH STATEMENT EXECUTE FUNCTION turnwright.refuse_truncate()', lpad(i::text, 2, '0'));
  END LOOP;
END $$;
