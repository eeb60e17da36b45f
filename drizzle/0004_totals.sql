CREATE TABLE "turnwright"."totals" (
	"name" text NOT NULL,
	"a" text NOT NULL,
	"b" text NOT NULL,
	"value" double precision NOT NULL,
	CONSTRAINT "totals_name_a_b_pk" PRIMARY KEY("name","a","b")
);
--> statement-breakpoint
CREATE INDEX "turns_id" ON "turnwright"."turns" USING btree ("tenant_id","turn_id");
--> statement-breakpoint
-- The metrics of the deployment. A turn is counted from its own rows until its events are folded, and in `totals`
-- from then on: one transaction moves it, so every scrape counts each turn once and no scrape reads old turns.
GRANT SELECT ON turnwright.totals TO turnwright_upkeep;
--> statement-breakpoint
-- A process asks whether the database is of its version.
GRANT USAGE ON SCHEMA turnwright_migrations TO turnwright_app;
--> statement-breakpoint
GRANT SELECT ON turnwright_migrations.migrations TO turnwright_app;
--> statement-breakpoint
-- What a tally reads, and nothing that holds words of a conversation.
CREATE POLICY tally_reads ON turnwright.records FOR SELECT TO turnwright_owner USING (kind = 'check-fired');
--> statement-breakpoint
CREATE POLICY tally_reads ON turnwright.turns FOR SELECT TO turnwright_owner USING (true);
--> statement-breakpoint
-- What one closed turn adds to the totals.
CREATE FUNCTION turnwright.tally(p_tenant uuid, p_session uuid, p_turn uuid) RETURNS TABLE (name text, a text, b text, value double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = turnwright, pg_temp AS $$
DECLARE
  v_outcome text;
  v_seconds double precision;
  v_body text;
  v_data jsonb;
BEGIN
  SELECT t.outcome, coalesce(extract(epoch FROM t.closed_at - t.accepted_at), 0) INTO v_outcome, v_seconds FROM turnwright.turns t
  WHERE t.tenant_id = p_tenant AND t.session_id = p_session AND t.turn_id = p_turn AND t.status = 'closed';
  IF v_outcome IS NULL THEN
    RETURN;
  END IF;
  RETURN QUERY SELECT 'turns', v_outcome, '', 1::double precision;
  RETURN QUERY SELECT 'turn_seconds', 'sum', '', v_seconds;
  RETURN QUERY SELECT 'turn_seconds', l, '', 1::double precision
    FROM unnest(ARRAY['0.1', '0.25', '0.5', '1', '2.5', '5', '10', '30', '60', '120', '300', '900', '+Inf']) l
    WHERE v_seconds <= replace(l, '+Inf', 'Infinity')::double precision;
  FOR v_body IN SELECT r.body FROM turnwright.records r
    WHERE r.tenant_id = p_tenant AND r.session_id = p_session AND r.turn_id = p_turn
      AND r.kind = 'check-fired' AND r.body IS NOT NULL ORDER BY r.seq
  LOOP
    BEGIN
      v_data := v_body::jsonb;
    EXCEPTION WHEN data_exception THEN
      -- A text that jsonb does not take, as one with an escaped NUL, goes uncounted.
      CONTINUE;
    END;
    RETURN QUERY SELECT 'checks', coalesce(v_data ->> 'check', ''), '', 1::double precision;
  END LOOP;
END $$;
--> statement-breakpoint
REVOKE ALL ON FUNCTION turnwright.tally(uuid, uuid, uuid) FROM PUBLIC;
--> statement-breakpoint
GRANT EXECUTE ON FUNCTION turnwright.tally(uuid, uuid, uuid) TO turnwright_upkeep;
--> statement-breakpoint
CREATE FUNCTION turnwright.add_to_totals() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = turnwright, pg_temp AS $$
BEGIN
  -- Two folders at once would lock the same totals in different orders.
  PERFORM pg_advisory_xact_lock(hashtext('turnwright.totals'));
  INSERT INTO turnwright.totals AS t (name, a, b, value)
  SELECT y.name, y.a, y.b, sum(y.value) FROM turnwright.tally(NEW.tenant_id, NEW.session_id, NEW.turn_id) y
  GROUP BY y.name, y.a, y.b ORDER BY y.name, y.a, y.b
  ON CONFLICT (name, a, b) DO UPDATE SET value = t.value + excluded.value;
  RETURN NULL;
END $$;
--> statement-breakpoint
-- Only statements that set `compacted` look at it: a hop does not.
CREATE TRIGGER folded AFTER UPDATE OF compacted ON turnwright.actors FOR EACH ROW
  WHEN (NEW.compacted AND NOT OLD.compacted AND NEW.turn_id IS NOT NULL) EXECUTE FUNCTION turnwright.add_to_totals();
--> statement-breakpoint
CREATE POLICY tally_reads ON turnwright.usage TO turnwright_owner USING (true);
--> statement-breakpoint
-- What rows of usage add to the totals.
CREATE FUNCTION turnwright.usage_totals(u turnwright.usage) RETURNS TABLE (name text, a text, b text, value double precision) LANGUAGE sql IMMUTABLE AS $$
  SELECT v.* FROM (VALUES ('tokens', u.leg, 'input', u.input_tokens::double precision), ('tokens', u.leg, 'cache_read', u.cache_read_tokens),
    ('tokens', u.leg, 'cache_write', u.cache_write_tokens), ('tokens', u.leg, 'output', u.output_tokens),
    ('cost', u.leg, u.purpose, u.micro_usd)) AS v(name, a, b, value) WHERE v.value > 0
$$;
--> statement-breakpoint
-- Days that are over move into the totals, so that no scrape adds up the whole past.
CREATE FUNCTION turnwright.fold_usage() RETURNS integer LANGUAGE plpgsql SECURITY DEFINER SET search_path = turnwright, pg_temp AS $$
DECLARE
  v_count integer;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('turnwright.totals'));
  WITH past AS (
    UPDATE turnwright.usage SET folded = true WHERE NOT folded AND day < (now() AT TIME ZONE 'UTC')::date - 1
      AND changed_at < now() - interval '1 day' RETURNING *
  ), added AS (
    INSERT INTO turnwright.totals AS t (name, a, b, value)
    SELECT y.name, y.a, y.b, sum(y.value) FROM past, LATERAL turnwright.usage_totals(past.*::turnwright.usage) y
    GROUP BY y.name, y.a, y.b ORDER BY y.name, y.a, y.b
    ON CONFLICT (name, a, b) DO UPDATE SET value = t.value + excluded.value RETURNING 1
  )
  SELECT count(*) INTO v_count FROM past;
  RETURN v_count;
END $$;
--> statement-breakpoint
REVOKE ALL ON FUNCTION turnwright.fold_usage() FROM PUBLIC;
--> statement-breakpoint
GRANT EXECUTE ON FUNCTION turnwright.fold_usage() TO turnwright_upkeep;
--> statement-breakpoint
CREATE FUNCTION turnwright.totals_now() RETURNS TABLE (name text, a text, b text, value double precision) LANGUAGE sql STABLE AS $$
  SELECT u.name, u.a, u.b, sum(u.value) FROM (
    SELECT t.name, t.a, t.b, t.value FROM turnwright.totals t
    UNION ALL
    SELECT y.name, y.a, y.b, y.value FROM turnwright.actors c, LATERAL turnwright.tally(c.tenant_id, c.session_id, c.turn_id) y
    WHERE c.status = 'done' AND NOT c.compacted AND c.turn_id IS NOT NULL
    UNION ALL
    SELECT y.name, y.a, y.b, y.value FROM turnwright.usage w, LATERAL turnwright.usage_totals(w) y WHERE NOT w.folded) u
  GROUP BY u.name, u.a, u.b
$$;
