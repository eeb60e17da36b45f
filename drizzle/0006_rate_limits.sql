CREATE TABLE "turnwright"."rate_limits" (
	"limit_key" text PRIMARY KEY NOT NULL,
	"requests_until_ms" double precision DEFAULT 0 NOT NULL,
	"tokens_until_ms" double precision DEFAULT 0 NOT NULL,
	"paused_until_ms" double precision DEFAULT 0 NOT NULL,
	"spacing_ms" double precision DEFAULT 0 NOT NULL,
	"spaced_at_ms" double precision DEFAULT 0 NOT NULL,
	"next_at_ms" double precision DEFAULT 0 NOT NULL,
	"refused_at_ms" double precision DEFAULT 0 NOT NULL,
	"held_ms" double precision DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "turnwright"."rate_slots" (
	"limit_key" text NOT NULL,
	"call_id" text NOT NULL,
	"worker_id" uuid NOT NULL,
	"taken_at_ms" double precision NOT NULL,
	CONSTRAINT "rate_slots_limit_key_call_id_pk" PRIMARY KEY("limit_key","call_id")
);
--> statement-breakpoint
CREATE TABLE "turnwright"."rate_waits" (
	"limit_key" text NOT NULL,
	"tenant_id" uuid NOT NULL,
	"call_id" text NOT NULL,
	"since_ms" double precision NOT NULL,
	"back_at_ms" double precision NOT NULL,
	CONSTRAINT "rate_waits_limit_key_tenant_id_call_id_pk" PRIMARY KEY("limit_key","tenant_id","call_id")
);
--> statement-breakpoint
CREATE TABLE "turnwright"."tenant_shares" (
	"pool" text NOT NULL,
	"tenant_id" uuid NOT NULL,
	"served" double precision NOT NULL,
	CONSTRAINT "tenant_shares_pool_tenant_id_pk" PRIMARY KEY("pool","tenant_id")
);
--> statement-breakpoint
DROP INDEX "turnwright"."outbox_backlog";--> statement-breakpoint
ALTER TABLE "turnwright"."tenants" ADD COLUMN "weight" integer DEFAULT 1 NOT NULL;--> statement-breakpoint
CREATE INDEX "rate_waits_order" ON "turnwright"."rate_waits" USING btree ("limit_key","tenant_id","since_ms");--> statement-breakpoint
CREATE INDEX "outbox_admitted" ON "turnwright"."outbox" USING btree ("pool","tenant_id") WHERE admitted_at is not null;--> statement-breakpoint
CREATE INDEX "outbox_backlog" ON "turnwright"."outbox" USING btree ("pool","tenant_id","priority","position","due_at") WHERE admitted_at is null;--> statement-breakpoint
ALTER TABLE "turnwright"."tenants" ADD CONSTRAINT "tenants_weight" CHECK ("turnwright"."tenants"."weight" between 1 and 1000);
--> statement-breakpoint
GRANT SELECT, INSERT, UPDATE, DELETE ON turnwright.tenant_shares TO turnwright_upkeep;
--> statement-breakpoint
GRANT UPDATE (weight) ON turnwright.tenants TO turnwright_upkeep;
--> statement-breakpoint
-- The limiter. Processes ask its functions, and no role reads its tables, which belong to no tenant. It is advice: what
-- is lost of it in a crash is learned again, so nothing here waits for the disk. `p_now_ms` null is the clock.

-- A bucket takes a tenth of a minute's allowance at once and drains at its pace. The pace leaves room for that tenth,
-- so that no minute, wherever it begins, holds more than the allowance.
CREATE FUNCTION turnwright.rate_burst(p_per_minute double precision) RETURNS double precision LANGUAGE sql IMMUTABLE AS $$
  SELECT greatest(1, floor(p_per_minute / 10))
$$;
--> statement-breakpoint
CREATE FUNCTION turnwright.rate_pace_ms(p_per_minute double precision) RETURNS double precision LANGUAGE sql IMMUTABLE AS $$
  SELECT 60000 / (p_per_minute - turnwright.rate_burst(p_per_minute) + 1)
$$;
--> statement-breakpoint
-- Until a cost fits; 0 without a limit. A cost larger than the bucket goes when the bucket is empty, and overfills it.
CREATE FUNCTION turnwright.rate_wait_ms(p_until_ms double precision, p_now_ms double precision, p_cost double precision, p_per_minute double precision)
RETURNS double precision LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN p_per_minute IS NULL THEN 0 ELSE greatest(0, p_until_ms - p_now_ms
    - greatest(0, turnwright.rate_burst(p_per_minute) - p_cost) * turnwright.rate_pace_ms(p_per_minute)) END
$$;
--> statement-breakpoint
-- When the bucket is empty again with the cost in it; unchanged without a limit.
CREATE FUNCTION turnwright.rate_filled_ms(p_until_ms double precision, p_now_ms double precision, p_cost double precision, p_per_minute double precision)
RETURNS double precision LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN p_per_minute IS NULL THEN p_until_ms
    ELSE greatest(p_until_ms, p_now_ms) + p_cost * turnwright.rate_pace_ms(p_per_minute) END
$$;
--> statement-breakpoint
-- What is left of a learned spacing: it halves every 30 seconds, and is over below 10 ms.
CREATE FUNCTION turnwright.rate_spacing_ms(p_spacing_ms double precision, p_spaced_at_ms double precision, p_now_ms double precision)
RETURNS double precision LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN w.spacing_ms >= 10 THEN w.spacing_ms ELSE 0 END
  FROM (SELECT p_spacing_ms * power(0.5, least(60, greatest(0, p_now_ms - p_spaced_at_ms) / 30000)) AS spacing_ms) w
$$;
--> statement-breakpoint
-- Asks for one call: at once, after a wait short enough to sit out, or later. What is let through is taken from the
-- buckets here. A call that has to come back keeps its place among those of its tenant, and is told a time that leaves
-- the tenants which wait for the same key a turn each; a long wait is told by half, so that it notices when the line
-- grew shorter. `limited` false: nothing limits this key, and there is no need to ask for the next call.
CREATE FUNCTION turnwright.rate_take(p_key text, p_tenant uuid, p_call text, p_worker uuid, p_tokens double precision,
  p_requests_per_minute double precision, p_tokens_per_minute double precision, p_concurrent integer,
  p_in_place_ms double precision, p_lease_ms double precision, p_now_ms double precision DEFAULT NULL) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = turnwright, pg_temp AS $$
DECLARE
  -- Whoever did not come back this long after its time is not in line any more.
  c_stale_ms CONSTANT double precision := 10000;
  -- A place that opens is kept so long for the oldest of those whose time has come: a younger one that is quicker yields.
  c_kept_ms CONSTANT double precision := 2000;
  c_patience_ms CONSTANT double precision := 30000;
  c_counted CONSTANT integer := 1000;
  v turnwright.rate_limits;
  v_now double precision;
  v_spacing double precision;
  v_waits double precision[];
  v_wait double precision;
  v_since double precision;
  v_returns boolean;
  v_ahead integer;
  v_yields boolean;
  v_lines integer;
  v_each double precision;
  v_free boolean := p_requests_per_minute IS NULL AND p_tokens_per_minute IS NULL AND p_concurrent IS NULL;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  SELECT * INTO v FROM turnwright.rate_limits WHERE limit_key = p_key FOR UPDATE;
  IF NOT FOUND THEN
    IF v_free THEN
      RETURN json_build_object('granted', true, 'waitMs', 0, 'limited', false);
    END IF;
    INSERT INTO turnwright.rate_limits (limit_key) VALUES (p_key) ON CONFLICT DO NOTHING;
    SELECT * INTO v FROM turnwright.rate_limits WHERE limit_key = p_key FOR UPDATE;
  END IF;
  v_now := coalesce(p_now_ms, extract(epoch FROM clock_timestamp()) * 1000);
  v_spacing := turnwright.rate_spacing_ms(v.spacing_ms, v.spaced_at_ms, v_now);
  v_free := v_free AND v_spacing = 0 AND v.paused_until_ms <= v_now;
  v_waits := ARRAY[
    greatest(0, v.paused_until_ms - v_now),
    CASE WHEN v_spacing > 0 THEN greatest(0, v.next_at_ms - v_now) ELSE 0 END,
    turnwright.rate_wait_ms(v.requests_until_ms, v_now, 1, p_requests_per_minute),
    turnwright.rate_wait_ms(v.tokens_until_ms, v_now, p_tokens, p_tokens_per_minute),
    CASE WHEN p_concurrent <= (SELECT count(*) FROM turnwright.rate_slots s JOIN turnwright.workers w ON w.worker_id = s.worker_id
        WHERE s.limit_key = p_key AND s.call_id <> p_call AND w.beat_at > to_timestamp((v_now - p_lease_ms) / 1000))
      -- Nobody knows when a place comes free: after a share of what a call takes on average.
      THEN greatest(v.held_ms / p_concurrent, 2 * p_in_place_ms) ELSE 0 END];
  SELECT max(w) INTO v_wait FROM unnest(v_waits) AS w;

  SELECT r.since_ms INTO v_since FROM turnwright.rate_waits r WHERE r.limit_key = p_key AND r.tenant_id = p_tenant AND r.call_id = p_call;
  v_returns := FOUND;
  v_since := coalesce(v_since, v_now);
  SELECT count(*), coalesce(bool_or(a.back_at_ms <= v_now + p_in_place_ms AND a.back_at_ms > v_now - c_kept_ms), false) INTO v_ahead, v_yields
  FROM (SELECT r.back_at_ms FROM turnwright.rate_waits r
    WHERE r.limit_key = p_key AND r.tenant_id = p_tenant AND r.since_ms <= v_since
      AND (r.since_ms < v_since OR r.call_id COLLATE "C" < p_call) AND r.back_at_ms > v_now - c_stale_ms
    ORDER BY r.since_ms, r.call_id COLLATE "C" LIMIT c_counted) a;

  IF v_free OR v_wait <= p_in_place_ms AND (v_ahead = 0 OR v_returns AND NOT v_yields) THEN
    IF NOT v_free THEN
      UPDATE turnwright.rate_limits SET
        requests_until_ms = turnwright.rate_filled_ms(v.requests_until_ms, v_now, 1, p_requests_per_minute),
        tokens_until_ms = turnwright.rate_filled_ms(v.tokens_until_ms, v_now, p_tokens, p_tokens_per_minute),
        next_at_ms = v_now + v_wait + v_spacing
      WHERE limit_key = p_key;
    END IF;
    IF p_concurrent IS NOT NULL THEN
      INSERT INTO turnwright.rate_slots (limit_key, call_id, worker_id, taken_at_ms) VALUES (p_key, p_call, p_worker, v_now)
      ON CONFLICT (limit_key, call_id) DO UPDATE SET worker_id = excluded.worker_id, taken_at_ms = excluded.taken_at_ms;
    END IF;
    IF v_returns THEN
      DELETE FROM turnwright.rate_waits r WHERE r.limit_key = p_key AND r.tenant_id = p_tenant AND r.call_id = p_call;
    END IF;
    RETURN json_build_object('granted', true, 'waitMs', v_wait, 'limited', NOT v_free);
  END IF;

  WITH RECURSIVE line AS (
    (SELECT r.tenant_id FROM turnwright.rate_waits r WHERE r.limit_key = p_key ORDER BY r.tenant_id LIMIT 1)
    UNION ALL
    SELECT (SELECT r.tenant_id FROM turnwright.rate_waits r WHERE r.limit_key = p_key AND r.tenant_id > l.tenant_id ORDER BY r.tenant_id LIMIT 1)
    FROM line l WHERE l.tenant_id IS NOT NULL
  )
  SELECT 1 + count(*) INTO v_lines FROM line l WHERE l.tenant_id <> p_tenant AND EXISTS (SELECT FROM turnwright.rate_waits r
    WHERE r.limit_key = p_key AND r.tenant_id = l.tenant_id AND r.back_at_ms > v_now - c_stale_ms);
  v_each := greatest(1, v_spacing, turnwright.rate_pace_ms(p_requests_per_minute), p_tokens * turnwright.rate_pace_ms(p_tokens_per_minute),
    v.held_ms / p_concurrent);
  v_wait := v_wait + v_ahead * v_lines * v_each;
  IF v_wait > c_patience_ms THEN
    v_wait := greatest(c_patience_ms, v_wait / 2, v_waits[1]);
  END IF;
  v_wait := greatest(v_wait, p_in_place_ms);
  INSERT INTO turnwright.rate_waits AS r (limit_key, tenant_id, call_id, since_ms, back_at_ms) VALUES (p_key, p_tenant, p_call, v_since, v_now + v_wait)
  ON CONFLICT (limit_key, tenant_id, call_id) DO UPDATE SET back_at_ms = excluded.back_at_ms;
  RETURN json_build_object('granted', false, 'waitMs', v_wait, 'cause', (
    SELECT CASE WHEN c.wait_ms > 0 THEN c.cause ELSE 'line' END
    FROM unnest(v_waits, ARRAY['pause', 'spacing', 'requests', 'tokens', 'concurrent']) WITH ORDINALITY AS c(wait_ms, cause, place)
    ORDER BY c.wait_ms DESC, c.place LIMIT 1));
END $$;
--> statement-breakpoint
-- A call that was let through has ended: its place is free, and what it really cost stands in the bucket.
CREATE FUNCTION turnwright.rate_settle(p_key text, p_call text, p_worker uuid, p_reserved double precision, p_used double precision,
  p_tokens_per_minute double precision, p_now_ms double precision DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = turnwright, pg_temp AS $$
DECLARE
  v_held double precision;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  DELETE FROM turnwright.rate_slots s WHERE s.limit_key = p_key AND s.call_id = p_call AND s.worker_id = p_worker
  RETURNING coalesce(p_now_ms, extract(epoch FROM clock_timestamp()) * 1000) - s.taken_at_ms INTO v_held;
  UPDATE turnwright.rate_limits l SET
    tokens_until_ms = l.tokens_until_ms + coalesce((p_used - p_reserved) * turnwright.rate_pace_ms(p_tokens_per_minute), 0),
    held_ms = CASE WHEN v_held IS NULL THEN l.held_ms WHEN l.held_ms = 0 THEN v_held ELSE 0.8 * l.held_ms + 0.2 * v_held END
  WHERE l.limit_key = p_key;
END $$;
--> statement-breakpoint
-- A provider refused a call for its rate: nobody calls before the time it asked for, and then one after the other, twice
-- as far apart as before. The first refusal of a series knows the pace from the time asked for, or from how far apart
-- the process was answered lately, if it was. One that was sent before the last refusal came teaches nothing new.
CREATE FUNCTION turnwright.rate_penalise(p_key text, p_pause_ms double precision, p_sent_ago_ms double precision, p_paced_ms double precision,
  p_now_ms double precision DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = turnwright, pg_temp AS $$
DECLARE
  v turnwright.rate_limits;
  v_now double precision;
  v_spacing double precision;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  INSERT INTO turnwright.rate_limits (limit_key) VALUES (p_key) ON CONFLICT DO NOTHING;
  SELECT * INTO v FROM turnwright.rate_limits WHERE limit_key = p_key FOR UPDATE;
  v_now := coalesce(p_now_ms, extract(epoch FROM clock_timestamp()) * 1000);
  v_spacing := turnwright.rate_spacing_ms(v.spacing_ms, v.spaced_at_ms, v_now);
  v.paused_until_ms := greatest(v.paused_until_ms, v_now + p_pause_ms);
  IF v_now - p_sent_ago_ms >= v.refused_at_ms THEN
    v.spacing_ms := CASE WHEN v_spacing > 0 THEN least(30000, 2 * v_spacing)
      ELSE least(2000, greatest(20, 2 * least(p_pause_ms, p_paced_ms))) END;
    v.refused_at_ms := v_now;
    v.spaced_at_ms := v.paused_until_ms;
  END IF;
  UPDATE turnwright.rate_limits SET paused_until_ms = v.paused_until_ms, spacing_ms = v.spacing_ms, spaced_at_ms = v.spaced_at_ms,
    refused_at_ms = v.refused_at_ms, next_at_ms = greatest(next_at_ms, v.paused_until_ms)
  WHERE limit_key = p_key;
  PERFORM pg_notify('turnwright_limits', p_key);
END $$;
--> statement-breakpoint
-- The keys that refusals limit now. Lines nobody stands in and places of workers that are gone are cleared by the way.
CREATE FUNCTION turnwright.rate_limited(p_now_ms double precision DEFAULT NULL) RETURNS text[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = turnwright, pg_temp AS $$
DECLARE
  v_now double precision := coalesce(p_now_ms, extract(epoch FROM clock_timestamp()) * 1000);
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  DELETE FROM turnwright.rate_waits r WHERE r.back_at_ms < v_now - 60000;
  DELETE FROM turnwright.rate_slots s WHERE NOT EXISTS (SELECT FROM turnwright.workers w WHERE w.worker_id = s.worker_id);
  RETURN (SELECT coalesce(array_agg(l.limit_key ORDER BY l.limit_key), '{}') FROM turnwright.rate_limits l
    WHERE l.paused_until_ms > v_now OR turnwright.rate_spacing_ms(l.spacing_ms, l.spaced_at_ms, v_now) > 0);
END $$;
--> statement-breakpoint
DO $$
DECLARE
  f regprocedure;
BEGIN
  FOR f IN SELECT p.oid::regprocedure FROM pg_proc p WHERE p.pronamespace = 'turnwright'::regnamespace
    AND p.proname IN ('rate_take', 'rate_settle', 'rate_penalise', 'rate_limited')
  LOOP
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', f);
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO turnwright_app', f);
  END LOOP;
END $$;
--> statement-breakpoint
-- Both tables name tenants, and no tenant may read them.
ALTER TABLE turnwright.rate_waits ENABLE ROW LEVEL SECURITY;
--> statement-breakpoint
ALTER TABLE turnwright.rate_waits FORCE ROW LEVEL SECURITY;
--> statement-breakpoint
ALTER TABLE turnwright.tenant_shares ENABLE ROW LEVEL SECURITY;
--> statement-breakpoint
ALTER TABLE turnwright.tenant_shares FORCE ROW LEVEL SECURITY;
--> statement-breakpoint
CREATE POLICY limiter ON turnwright.rate_waits TO turnwright_owner USING (true);
--> statement-breakpoint
CREATE POLICY every_tenant ON turnwright.tenant_shares TO turnwright_upkeep USING (true);
