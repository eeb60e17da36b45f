/** How a tool is declared: a zod schema for its arguments, what it serves, and what running it would mean. */
import { z } from 'zod';
import type { ToolDefinition } from '../context/request.ts';
import { DOMAINS, type Domain } from '../ledger/domains.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import type { Json, JsonObject } from '../ledger/json.ts';
import { explainArguments } from './arguments.ts';
import {
  type CallTraits,
  TOOL_EFFECTS,
  type Tool,
  type ToolContext,
  type ToolEffect,
  type ToolOutput,
  UNKNOWN_OUTCOMES,
  type UnknownOutcome,
} from './contract.ts';

export const DEFAULT_TOOL_TIMEOUT_MS = 60_000;
/** The largest delay a Node timer takes; a larger one would fire at once. */
export const MAX_TOOL_TIMEOUT_MS = 2_147_483_647;
/** What every provider accepts as the name of a function. */
const NAME_FORM = /^[a-zA-Z0-9_-]{1,64}$/;

export interface ToolSpec<Input extends z.ZodObject> {
  readonly name: string;
  /** The first sentence stands alone in the catalogue of tools. */
  readonly description: string;
  readonly input: Input;
  /** Domains whose turns need this tool; none means that every turn may. */
  readonly serves?: readonly Domain[];
  readonly alwaysLoaded?: boolean;
  /**
   * Whether a call that succeeds has seen the world as it is now. Unless declared, what it serves says so; a tool that
   * says nothing of itself is believed to.
   */
  readonly observes?: boolean;
  /** `once` unless declared. */
  readonly effect?: ToolEffect;
  /**
   * What follows when a `once` tool was started and its worker died: `report` tells the model (unless declared),
   * `ask` lets the turn wait for a person, who has it run again or not.
   */
  readonly onUnknown?: UnknownOutcome;
  /** Whether a person must allow each call. */
  readonly approval?: boolean;
  /** Not loaded merely because it declares no domain. */
  readonly deferred?: boolean;
  /** 60,000 unless declared. */
  readonly timeoutMs?: number;
  /** A text is a success; `{ content, isError: true }` goes back to the model for repair. */
  run(args: z.output<Input>, context: ToolContext): Promise<ToolOutput | string>;
}

/** @throws TurnwrightError `config_invalid` when the declaration cannot become a tool. */
export function defineTool<Input extends z.ZodObject>(spec: ToolSpec<Input>): Tool {
  checkSpec(spec);
  const inputSchema = jsonSchemaOf(spec.name, spec.input);
  const traits = traitsFrom(spec);
  return {
    name: spec.name,
    description: spec.description,
    inputSchema,
    serves: spec.serves ?? [],
    alwaysLoaded: spec.alwaysLoaded ?? false,
    effect: spec.effect ?? 'once',
    onUnknown: spec.onUnknown ?? 'report',
    approval: spec.approval ?? false,
    deferred: spec.deferred ?? false,
    timeoutMs: spec.timeoutMs ?? DEFAULT_TOOL_TIMEOUT_MS,
    inHop: false,
    byClient: false,
    traitsOf: () => traits,
    parse: (args) => {
      const result = spec.input.safeParse(args, { reportInput: true });
      if (result.success) return { ok: true, args: result.data as Json };
      return { ok: false, message: explainArguments(spec.name, inputSchema, result.error.issues) };
    },
    run: async (args, context) => {
      const output = await spec.run(args as z.output<Input>, context);
      return typeof output === 'string' ? { content: output, isError: false } : output;
    },
  };
}

/** What a client's own tool declares: how it is run is the client's. */
export type ClientToolSpec<Input extends z.ZodObject> = Omit<
  ToolSpec<Input>,
  'run' | 'timeoutMs' | 'onUnknown'
>;

/**
 * A tool that the client runs: a turn that calls it waits until the client sends its result by the signal `tool_result`.
 *
 * @throws TurnwrightError `config_invalid` when the declaration cannot become a tool.
 */
export function defineClientTool<Input extends z.ZodObject>(spec: ClientToolSpec<Input>): Tool {
  const run = async (): Promise<never> => {
    throw new TurnwrightError('internal', `${spec.name} was run as a job; its client runs it.`);
  };
  return { ...defineTool({ ...spec, run }), byClient: true };
}

/** Domains whose facts change by themselves. */
const CURRENT_DOMAINS: readonly Domain[] = [
  'filesystem',
  'web',
  'live-data',
  'vcs',
  'code-exec',
  'observability',
];
/** Domains whose tools bring text from outside. */
const RETRIEVED_DOMAINS: readonly Domain[] = ['web', 'live-data'];

/** What a declaration says of every call. */
export function traitsFrom(declared: {
  readonly serves?: readonly Domain[];
  readonly observes?: boolean;
  readonly effect?: ToolEffect;
}): CallTraits {
  const { serves = [], effect = 'once' } = declared;
  const meets = (domains: readonly Domain[]): boolean => serves.some((domain) => domains.includes(domain));
  return {
    effect,
    observes: declared.observes ?? (serves.length === 0 || meets(CURRENT_DOMAINS)),
    retrieves: (declared.observes ?? true) && meets(RETRIEVED_DOMAINS),
  };
}

/** Only what a model sees: a tool without its functions. */
export function definitionOf(tool: Tool): ToolDefinition {
  return { name: tool.name, description: tool.description, inputSchema: tool.inputSchema };
}

function checkSpec(spec: ToolSpec<z.ZodObject>): void {
  if (!NAME_FORM.test(spec.name)) {
    refuse(spec.name, 'name must be 1 to 64 letters, digits, "_" or "-"');
  }
  if (spec.description.trim() === '') refuse(spec.name, 'description is empty; say what the tool does');
  const strange = spec.serves?.find((domain) => !DOMAINS.includes(domain));
  if (strange !== undefined) {
    refuse(spec.name, `serves holds "${strange}"; the domains are ${DOMAINS.join(', ')}`);
  }
  if (spec.effect !== undefined && !TOOL_EFFECTS.includes(spec.effect)) {
    refuse(spec.name, `effect is "${spec.effect}"; it may be ${TOOL_EFFECTS.join(', ')}`);
  }
  if (spec.onUnknown !== undefined && !UNKNOWN_OUTCOMES.includes(spec.onUnknown)) {
    refuse(spec.name, `onUnknown is "${spec.onUnknown}"; it may be ${UNKNOWN_OUTCOMES.join(', ')}`);
  }
  const timeoutMs = spec.timeoutMs ?? DEFAULT_TOOL_TIMEOUT_MS;
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > MAX_TOOL_TIMEOUT_MS) {
    refuse(
      spec.name,
      `timeoutMs is ${timeoutMs}; it must be a whole number from 1 to ${MAX_TOOL_TIMEOUT_MS}`,
    );
  }
}

function jsonSchemaOf(name: string, input: z.ZodObject): JsonObject {
  try {
    // The output form is made only to refuse transforms and dates: checked arguments must stay JSON data.
    z.toJSONSchema(input, { io: 'output' });
    const { $schema: _, ...schema } = z.toJSONSchema(input, { io: 'input', override: dropSafeIntegerBounds });
    return JSON.parse(JSON.stringify(schema)) as JsonObject;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    return refuse(name, `input must be a z.object of plain JSON values: ${reason}`, cause);
  }
}

/** `z.int()` states the bounds of safe integers, which would cost tokens on every request and say nothing. */
function dropSafeIntegerBounds(node: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  const schema = node.jsonSchema;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
}

function refuse(name: string, reason: string, cause?: unknown): never {
  throw new TurnwrightError('config_invalid', `Tool ${JSON.stringify(name)} cannot be defined: ${reason}.`, {
    cause,
  });
}
