/** A request as the model sees it, whatever wire brought it, and its rendering into counted segments. */
import type { ChatMessage, ToolDefinition } from '../context/request.ts';
import { byteLength, type JsonObject } from '../ledger/json.ts';
import type { SimModel } from './contract.ts';
import { readImage } from './images.ts';
import { asArray, asObject, asString } from './untyped.ts';

/** Anthropic's rule of thumb, width × height / 750; https://platform.claude.com/docs/en/build-with-claude/vision */
const PIXELS_PER_IMAGE_TOKEN = 750;
const MAX_IMAGE_TOKENS = 1_600;

/** Tools the model finds by a search of the provider's: they cost no prompt until a result names them. */
export interface ToolSearch {
  /** Of the search tool, which is offered like any other. */
  readonly name: string;
  readonly deferred: readonly ToolDefinition[];
}

export interface SimPrompt {
  readonly tools: readonly ToolDefinition[];
  readonly search?: ToolSearch;
  readonly system: readonly string[];
  readonly messages: readonly ChatMessage[];
}

/** How the caller steers tool use; `named` forces one tool. */
export type ToolChoice =
  | { readonly kind: 'auto' | 'none' | 'required' }
  | { readonly kind: 'named'; readonly name: string };

/** Two running 32-bit states give a key of 53 bits: far more than the entries of any cache here. */
const START_LOW = 0xdeadbeef;
const START_HIGH = 0x41c6ce57;
const STEP_LOW = 2_654_435_761;
const STEP_HIGH = 1_597_334_677;
const LOW_RANGE = 2 ** 32;
const HIGH_BITS = 0x1f_ffff;

/**
 * One tool, system block or content block. `key` is the digest of everything up to and including it, so
 * two prompts share a prefix exactly as far as their keys are equal.
 */
export interface Segment {
  readonly key: number;
  /** Bytes of all segments so far, this one included. */
  readonly endBytes: number;
  /** Tokens of all images so far. */
  readonly endImageTokens: number;
}

/** Order is tools, system, messages: the order in which all three providers render a prompt. */
export function segmentsOf(prompt: SimPrompt): readonly Segment[] {
  const segments: Segment[] = [];
  const digest = new RunningDigest();
  let endBytes = 0;
  let endImageTokens = 0;
  const push = (tag: string, text: string, imageTokens = 0) => {
    digest.add(tag);
    digest.add(text);
    endBytes += imageTokens > 0 ? 0 : byteLength(text);
    endImageTokens += imageTokens;
    segments.push({ key: digest.key(), endBytes, endImageTokens });
  };
  for (const tool of prompt.tools) push('tool', toolText(tool));
  if (prompt.search !== undefined) push('tool', prompt.search.name);
  for (const text of prompt.system) push('system', text);
  for (const message of prompt.messages) {
    for (const block of message.content) {
      const tag = `${message.role}.${block.type}`;
      if (block.type === 'text') push(tag, block.text);
      else if (block.type === 'tool_call') push(`${tag}.${block.id}`, block.name + callText(block));
      else if (block.type === 'tool_result') push(`${tag}.${block.callId}`, block.content);
      else if (block.type === 'image') push(tag, block.data, imageTokens(block.data));
      else if (block.type === 'native')
        push(`${tag}.${JSON.stringify(block.data)}`, foundText(block.data, prompt.search));
      // Thinking of past steps is not billed as prompt; it still is part of what a prefix must repeat.
      else push(`${tag}.${block.text}`, '');
    }
  }
  return segments;
}

/** How many segments stand before the messages. */
export function stableSegments({ tools, search, system }: SimPrompt): number {
  return tools.length + (search === undefined ? 0 : 1) + system.length;
}

/** Names of the tools that a search's result refers to. */
export function referencedTools(data: JsonObject): readonly string[] {
  const references = asArray(asObject(data.content)?.tool_references) ?? [];
  return references.flatMap((reference) => asString(asObject(reference)?.tool_name) ?? []);
}

/** Tokens of the prompt up to a segment; rounded up like the whole, so a cached prompt counts as it was billed. */
export function prefixTokens(segment: Segment | undefined, model: SimModel): number {
  return segment === undefined
    ? 0
    : Math.ceil(segment.endBytes * model.tokensPerByte) + segment.endImageTokens;
}

export function promptTokens(segments: readonly Segment[], model: SimModel): number {
  return prefixTokens(segments.at(-1), model);
}

export function outputTokens(text: string, model: SimModel): number {
  return Math.ceil(byteLength(text) * model.tokensPerByte);
}

/** A digest that can be read at every boundary; made for speed, not against adversaries. */
class RunningDigest {
  #low = START_LOW;
  #high = START_HIGH;

  add(text: string): void {
    // Length first: without it a boundary could move between two texts unseen.
    let low = Math.imul(this.#low ^ text.length, STEP_LOW);
    let high = Math.imul(this.#high ^ text.length, STEP_HIGH);
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      low = Math.imul(low ^ code, STEP_LOW);
      high = Math.imul(high ^ code, STEP_HIGH) + (low >>> 15);
    }
    this.#low = low ^ (low >>> 16);
    this.#high = high ^ (high >>> 13);
  }

  key(): number {
    return (this.#high & HIGH_BITS) * LOW_RANGE + (this.#low >>> 0);
  }
}

function toolText(tool: ToolDefinition): string {
  return tool.name + tool.description + JSON.stringify(tool.inputSchema);
}

/** What a block of a search puts before the model: its query, or the definitions it found. */
function foundText(data: JsonObject, search: ToolSearch | undefined): string {
  const names = new Set(referencedTools(data));
  const found = search?.deferred.filter(({ name }) => names.has(name)) ?? [];
  return JSON.stringify(data.input ?? '') + found.map(toolText).join('');
}

function callText(call: { readonly args: unknown; readonly raw?: string | undefined }): string {
  return call.raw ?? JSON.stringify(call.args);
}

function imageTokens(data: string): number {
  const image = readImage(data);
  if (image === null) return MAX_IMAGE_TOKENS;
  const tokens = Math.ceil((image.width * image.height) / PIXELS_PER_IMAGE_TOKEN);
  return Math.min(MAX_IMAGE_TOKENS, Math.max(1, tokens));
}
