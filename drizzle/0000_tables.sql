CREATE SCHEMA "turnwright";
--> statement-breakpoint
CREATE TABLE "turnwright"."accepted_keys" (
	"tenant_id" uuid NOT NULL,
	"session_id" uuid NOT NULL,
	"key" text NOT NULL,
	"turn_id" uuid NOT NULL,
	"input_digest" "bytea" NOT NULL,
	CONSTRAINT "accepted_keys_tenant_id_session_id_key_pk" PRIMARY KEY("tenant_id","session_id","key")
);
--> statement-breakpoint
CREATE TABLE "turnwright"."actor_events" (
	"tenant_id" uuid NOT NULL,
	"session_id" uuid NOT NULL,
	"actor_id" uuid NOT NULL,
	"event_id" text NOT NULL,
	"event" text NOT NULL,
	"revision" integer,
	"snapshot_digest" "bytea",
	"received_at" timestamp (6) with time zone DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT "actor_events_tenant_id_session_id_actor_id_event_id_pk" PRIMARY KEY("tenant_id","session_id","actor_id","event_id")
);
--> statement-breakpoint
CREATE TABLE "turnwright"."actors" (
	"tenant_id" uuid NOT NULL,
	"session_id" uuid NOT NULL,
	"actor_id" uuid NOT NULL,
	"turn_id" uuid,
	"machine" text NOT NULL,
	"version" integer NOT NULL,
	"revision" integer NOT NULL,
	"snapshot" text NOT NULL,
	"status" text NOT NULL,
	"parked_reason" text,
	"drains" integer DEFAULT 0 NOT NULL,
	"compacted" boolean DEFAULT false NOT NULL,
	"changed_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "actors_tenant_id_session_id_actor_id_pk" PRIMARY KEY("tenant_id","session_id","actor_id")
);
--> statement-breakpoint
CREATE TABLE "turnwright"."api_keys" (
	"tenant_id" uuid NOT NULL,
	"key_id" uuid NOT NULL,
	"name" text NOT NULL,
	"secret_hash" "bytea" NOT NULL,
	"scopes" text[] NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone,
	"revoked_at" timestamp (3) with time zone,
	CONSTRAINT "api_keys_tenant_id_key_id_pk" PRIMARY KEY("tenant_id","key_id")
);
--> statement-breakpoint
CREATE TABLE "turnwright"."bodies" (
	"tenant_id" uuid NOT NULL,
	"session_id" uuid NOT NULL,
	"digest" "bytea" NOT NULL,
	"body" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "bodies_tenant_id_session_id_digest_pk" PRIMARY KEY("tenant_id","session_id","digest")
) PARTITION BY HASH ("tenant_id","session_id");
--> statement-breakpoint
CREATE TABLE "turnwright"."capacity_profiles" (
	"provider" text NOT NULL,
	"endpoint_digest" text NOT NULL,
	"model" text NOT NULL,
	"quantisation" text NOT NULL,
	"profile" text NOT NULL,
	"version" integer NOT NULL,
	"changed_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "capacity_profiles_provider_endpoint_digest_model_quantisation_pk" PRIMARY KEY("provider","endpoint_digest","model","quantisation")
);
--> statement-breakpoint
CREATE UNLOGGED TABLE "turnwright"."deltas" (
	"tenant_id" uuid NOT NULL,
	"session_id" uuid NOT NULL,
	"turn_id" uuid NOT NULL,
	"cursor" bigserial NOT NULL,
	"frame" text NOT NULL,
	"at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "deltas_tenant_id_session_id_turn_id_cursor_pk" PRIMARY KEY("tenant_id","session_id","turn_id","cursor")
);
--> statement-breakpoint
CREATE TABLE "turnwright"."evidence" (
	"tenant_id" uuid NOT NULL,
	"session_id" uuid NOT NULL,
	"ordinal" integer NOT NULL,
	"seq" bigint NOT NULL,
	"turn_id" uuid NOT NULL,
	"tool" text NOT NULL,
	CONSTRAINT "evidence_tenant_id_session_id_ordinal_pk" PRIMARY KEY("tenant_id","session_id","ordinal")
);
--> statement-breakpoint
CREATE TABLE "turnwright"."heads" (
	"tenant_id" uuid NOT NULL,
	"session_id" uuid NOT NULL,
	"head_id" uuid NOT NULL,
	"from_head" uuid,
	"at_seq" bigint NOT NULL,
	"open_turn" uuid,
	"reset_seq" bigint,
	"cleared_seq" bigint DEFAULT 0 NOT NULL,
	"first_turn" integer DEFAULT 1 NOT NULL,
	CONSTRAINT "heads_tenant_id_session_id_head_id_pk" PRIMARY KEY("tenant_id","session_id","head_id")
);
--> statement-breakpoint
CREATE TABLE "turnwright"."outbox" (
	"tenant_id" uuid NOT NULL,
	"session_id" uuid NOT NULL,
	"actor_id" uuid NOT NULL,
	"child_id" text NOT NULL,
	"dispatch" integer NOT NULL,
	"pool" text NOT NULL,
	"priority" integer DEFAULT 0 NOT NULL,
	"position" bigserial NOT NULL,
	"due_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"admitted_at" timestamp (3) with time zone,
	CONSTRAINT "outbox_tenant_id_session_id_actor_id_child_id_dispatch_pk" PRIMARY KEY("tenant_id","session_id","actor_id","child_id","dispatch")
);
--> statement-breakpoint
CREATE TABLE "turnwright"."packets" (
	"tenant_id" uuid NOT NULL,
	"session_id" uuid NOT NULL,
	"head_id" uuid NOT NULL,
	"from_turn" integer NOT NULL,
	"to_turn" integer NOT NULL,
	"seq" bigint NOT NULL,
	"bytes" integer NOT NULL,
	"quality" text NOT NULL,
	CONSTRAINT "packets_tenant_id_session_id_head_id_from_turn_to_turn_pk" PRIMARY KEY("tenant_id","session_id","head_id","from_turn","to_turn")
);
--> statement-breakpoint
CREATE TABLE "turnwright"."evictions" (
	"tenant_id" uuid NOT NULL,
	"session_id" uuid NOT NULL,
	"head_id" uuid NOT NULL,
	"seq" bigint NOT NULL,
	"from_item" integer NOT NULL,
	"to_item" integer NOT NULL,
	"note" text,
	"author" text NOT NULL,
	CONSTRAINT "evictions_tenant_id_session_id_head_id_seq_pk" PRIMARY KEY("tenant_id","session_id","head_id","seq")
);
--> statement-breakpoint
CREATE TABLE "turnwright"."segments" (
	"tenant_id" uuid NOT NULL,
	"session_id" uuid NOT NULL,
	"head_id" uuid NOT NULL,
	"ordinal" integer NOT NULL,
	"from_session" uuid NOT NULL,
	"from_head" uuid NOT NULL,
	"after_seq" bigint NOT NULL,
	"to_seq" bigint NOT NULL,
	"digest" "bytea" NOT NULL,
	"first_turn" integer NOT NULL,
	"last_turn" integer NOT NULL,
	"first_item" integer NOT NULL,
	"last_item" integer NOT NULL,
	CONSTRAINT "segments_tenant_id_session_id_head_id_ordinal_pk" PRIMARY KEY("tenant_id","session_id","head_id","ordinal")
);
--> statement-breakpoint
CREATE TABLE "turnwright"."edges" (
	"tenant_id" uuid NOT NULL,
	"session_id" uuid NOT NULL,
	"turn_id" uuid NOT NULL,
	"ordinal" integer NOT NULL,
	"kind" text NOT NULL,
	"target" text NOT NULL,
	"provenance" text NOT NULL,
	"retracted" boolean DEFAULT false NOT NULL,
	CONSTRAINT "edges_tenant_id_session_id_turn_id_ordinal_pk" PRIMARY KEY("tenant_id","session_id","turn_id","ordinal")
);
--> statement-breakpoint
CREATE TABLE "turnwright"."presentations" (
	"tenant_id" uuid NOT NULL,
	"session_id" uuid NOT NULL,
	"ordinal" integer NOT NULL,
	"seq" bigint NOT NULL,
	"turn_id" uuid NOT NULL,
	"type" text NOT NULL,
	CONSTRAINT "presentations_tenant_id_session_id_ordinal_pk" PRIMARY KEY("tenant_id","session_id","ordinal")
);
--> statement-breakpoint
CREATE TABLE "turnwright"."prefixes" (
	"tenant_id" uuid NOT NULL,
	"session_id" uuid NOT NULL,
	"digest" "bytea" NOT NULL,
	"seq" bigint NOT NULL,
	CONSTRAINT "prefixes_tenant_id_session_id_digest_pk" PRIMARY KEY("tenant_id","session_id","digest")
);
--> statement-breakpoint
CREATE TABLE "turnwright"."records" (
	"tenant_id" uuid NOT NULL,
	"session_id" uuid NOT NULL,
	"seq" bigint NOT NULL,
	"head_id" uuid NOT NULL,
	"turn_id" uuid,
	"kind" text NOT NULL,
	"class" text NOT NULL,
	"body" text,
	"bytes" integer NOT NULL,
	"body_digest" "bytea" NOT NULL,
	"digest" "bytea" NOT NULL,
	"prev_digest" "bytea" NOT NULL,
	"at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "records_tenant_id_session_id_seq_pk" PRIMARY KEY("tenant_id","session_id","seq")
) PARTITION BY HASH ("tenant_id","session_id");
--> statement-breakpoint
CREATE TABLE "turnwright"."sessions" (
	"tenant_id" uuid NOT NULL,
	"session_id" uuid NOT NULL,
	"status" text NOT NULL,
	"leg" text NOT NULL,
	"config" text NOT NULL,
	"live_head" uuid NOT NULL,
	"next_seq" bigint NOT NULL,
	"last_digest" "bytea" NOT NULL,
	"next_turn" integer NOT NULL,
	"next_evidence" integer NOT NULL,
	"next_presentation" integer NOT NULL,
	"next_item" integer NOT NULL,
	"prefix_digest" "bytea",
	"epoch" integer DEFAULT 0 NOT NULL,
	"profile_at" bigint DEFAULT 0 NOT NULL,
	"watched_until" timestamp (3) with time zone,
	"parent_session" uuid,
	"parent_turn" uuid,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "sessions_tenant_id_session_id_pk" PRIMARY KEY("tenant_id","session_id")
);
--> statement-breakpoint
CREATE TABLE "turnwright"."side_calls" (
	"tenant_id" uuid NOT NULL,
	"session_id" uuid NOT NULL,
	"actor_id" uuid NOT NULL,
	"child_id" text NOT NULL,
	"src" text NOT NULL,
	"pool" text NOT NULL,
	"input" text NOT NULL,
	"status" text NOT NULL,
	"priority" integer DEFAULT 0 NOT NULL,
	"attempt" integer DEFAULT 1 NOT NULL,
	"fence" integer DEFAULT 0 NOT NULL,
	"token" integer DEFAULT 0 NOT NULL,
	"dispatch" integer DEFAULT 1 NOT NULL,
	"started" boolean DEFAULT false NOT NULL,
	"deaths" integer DEFAULT 0 NOT NULL,
	"worker_id" uuid,
	"last_error" text,
	"claimed_at" timestamp (3) with time zone,
	CONSTRAINT "side_calls_tenant_id_session_id_actor_id_child_id_pk" PRIMARY KEY("tenant_id","session_id","actor_id","child_id")
);
--> statement-breakpoint
CREATE TABLE "turnwright"."tenants" (
	"tenant_id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "turnwright"."timers" (
	"tenant_id" uuid NOT NULL,
	"session_id" uuid NOT NULL,
	"actor_id" uuid NOT NULL,
	"timer_id" text NOT NULL,
	"event" text NOT NULL,
	"revision" integer NOT NULL,
	"due_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "timers_tenant_id_session_id_actor_id_timer_id_pk" PRIMARY KEY("tenant_id","session_id","actor_id","timer_id")
);
--> statement-breakpoint
CREATE TABLE "turnwright"."turns" (
	"tenant_id" uuid NOT NULL,
	"session_id" uuid NOT NULL,
	"turn_id" uuid NOT NULL,
	"head_id" uuid NOT NULL,
	"number" integer NOT NULL,
	"status" text NOT NULL,
	"outcome" text,
	"reason" text,
	"steps" integer DEFAULT 0 NOT NULL,
	"closed_seq" bigint,
	"full_bytes" integer,
	"card_bytes" integer,
	"first_item" integer,
	"last_item" integer,
	"terms" "bytea",
	"priority" integer DEFAULT 0 NOT NULL,
	"accepted_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"started_at" timestamp (3) with time zone,
	"closed_at" timestamp (3) with time zone,
	CONSTRAINT "turns_tenant_id_session_id_turn_id_pk" PRIMARY KEY("tenant_id","session_id","turn_id")
);
--> statement-breakpoint
CREATE TABLE "turnwright"."workers" (
	"worker_id" uuid PRIMARY KEY NOT NULL,
	"host" text NOT NULL,
	"pid" integer NOT NULL,
	"pools" jsonb NOT NULL,
	"started_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"beat_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE INDEX "actor_events_pending" ON "turnwright"."actor_events" USING btree ("tenant_id","session_id","actor_id") WHERE revision is null;--> statement-breakpoint
CREATE INDEX "actors_unfolded" ON "turnwright"."actors" USING btree ("tenant_id","session_id") WHERE status = 'done' and not compacted;--> statement-breakpoint
CREATE INDEX "evidence_turn" ON "turnwright"."evidence" USING btree ("tenant_id","session_id","turn_id");--> statement-breakpoint
CREATE INDEX "outbox_backlog" ON "turnwright"."outbox" USING btree ("pool","priority","position") WHERE admitted_at is null;--> statement-breakpoint
CREATE INDEX "outbox_due" ON "turnwright"."outbox" USING btree ("due_at") WHERE admitted_at is null;--> statement-breakpoint
CREATE INDEX "records_turn" ON "turnwright"."records" USING btree ("tenant_id","session_id","turn_id");--> statement-breakpoint
CREATE INDEX "sessions_children" ON "turnwright"."sessions" USING btree ("tenant_id","session_id") WHERE parent_turn is not null;--> statement-breakpoint
CREATE INDEX "side_calls_running" ON "turnwright"."side_calls" USING btree ("worker_id") WHERE status = 'running';--> statement-breakpoint
CREATE INDEX "timers_due" ON "turnwright"."timers" USING btree ("due_at");--> statement-breakpoint
CREATE INDEX "turns_open" ON "turnwright"."turns" USING btree ("tenant_id") WHERE status <> 'closed';--> statement-breakpoint
CREATE UNIQUE INDEX "turns_number" ON "turnwright"."turns" USING btree ("tenant_id","session_id","head_id","number");
--> statement-breakpoint
CREATE TABLE "turnwright"."probe_flights" (
	"provider" text NOT NULL,
	"endpoint_digest" text NOT NULL,
	"model" text NOT NULL,
	"holder" text,
	"began_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"held_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "probe_flights_provider_endpoint_digest_model_pk" PRIMARY KEY("provider","endpoint_digest","model")
);
--> statement-breakpoint
CREATE TABLE "turnwright"."response_cache" (
	"tenant_id" uuid NOT NULL,
	"key" text NOT NULL,
	"reply" text NOT NULL,
	"reply_bytes" integer NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "response_cache_tenant_id_key_pk" PRIMARY KEY("tenant_id","key")
);
--> statement-breakpoint
CREATE TABLE "turnwright"."usage" (
	"tenant_id" uuid NOT NULL,
	"session_id" uuid NOT NULL,
	"day" date NOT NULL,
	"leg" text NOT NULL,
	"purpose" text NOT NULL,
	"calls" bigint NOT NULL,
	"input_tokens" bigint NOT NULL,
	"cache_read_tokens" bigint NOT NULL,
	"cache_write_tokens" bigint NOT NULL,
	"output_tokens" bigint NOT NULL,
	"reasoning_tokens" bigint NOT NULL,
	"micro_usd" bigint NOT NULL,
	"priced" bigint NOT NULL,
	"unpriced" bigint NOT NULL,
	"looked" bigint NOT NULL,
	"cached" bigint NOT NULL,
	"process_looked" bigint NOT NULL,
	"process_hits" bigint NOT NULL,
	"store_looked" bigint NOT NULL,
	"store_hits" bigint NOT NULL,
	"changed_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"folded" boolean DEFAULT false NOT NULL,
	CONSTRAINT "usage_tenant_id_session_id_day_leg_purpose_pk" PRIMARY KEY("tenant_id","session_id","day","leg","purpose")
);
--> statement-breakpoint
CREATE TABLE "turnwright"."turn_vectors" (
	"tenant_id" uuid NOT NULL,
	"session_id" uuid NOT NULL,
	"turn_id" uuid NOT NULL,
	"model" text NOT NULL,
	"vector" "bytea" NOT NULL,
	"seq" bigint NOT NULL,
	CONSTRAINT "turn_vectors_tenant_id_session_id_turn_id_model_pk" PRIMARY KEY("tenant_id","session_id","turn_id","model")
);
--> statement-breakpoint
CREATE INDEX "response_cache_expiry" ON "turnwright"."response_cache" USING btree ("expires_at");
--> statement-breakpoint
CREATE INDEX "turn_vectors_seq" ON "turnwright"."turn_vectors" USING btree ("tenant_id","session_id","model","seq");
--> statement-breakpoint
CREATE INDEX "usage_day" ON "turnwright"."usage" USING btree ("tenant_id","day");
--> statement-breakpoint
CREATE INDEX "usage_unfolded" ON "turnwright"."usage" USING btree ("day") WHERE not folded;--> statement-breakpoint
CREATE INDEX "segments_from" ON "turnwright"."segments" USING btree ("tenant_id","from_session");