/** A request as the model sees it, whatever wire brought it, and its rendering into counted segments. */
import { hash } from 'node:crypto';
import type { ChatMessage, ToolDefinition } from '../context/request.ts';
import { byteLength } from '../ledger/json.ts';
import type { SimModel } from './contract.ts';
import { readImage } from './images.ts';

/** Anthropic's rule of thumb, width × height / 750; https://platform.claude.com/docs/en/build-with-claude/vision */
const PIXELS_PER_IMAGE_TOKEN = 750;
const MAX_IMAGE_TOKENS = 1_600;

export interface SimPrompt {
  readonly tools: readonly ToolDefinition[];
  readonly system: readonly string[];
  readonly messages: readonly ChatMessage[];
}

/** How the caller steers tool use; `named` forces one tool. */
export type ToolChoice =
  | { readonly kind: 'auto' | 'none' | 'required' }
  | { readonly kind: 'named'; readonly name: string };

/**
 * One tool, system block or content block. `key` is the digest of everything up to and including it, so
 * two prompts share a prefix exactly as far as their keys are equal.
 */
export interface Segment {
  readonly key: string;
  /** Bytes of all segments so far, this one included. */
  readonly endBytes: number;
  /** Tokens of all images so far. */
  readonly endImageTokens: number;
}

/** Order is tools, system, messages: the order in which all three providers render a prompt. */
export function segmentsOf(prompt: SimPrompt): readonly Segment[] {
  const segments: Segment[] = [];
  let key = '';
  let endBytes = 0;
  let endImageTokens = 0;
  const push = (tag: string, text: string, imageTokens = 0) => {
    key = hash('sha1', `${key}\u0000${tag}\u0000${text}`, 'base64');
    endBytes += imageTokens > 0 ? 0 : byteLength(text);
    endImageTokens += imageTokens;
    segments.push({ key, endBytes, endImageTokens });
  };
  for (const tool of prompt.tools) push('tool', toolText(tool));
  for (const text of prompt.system) push('system', text);
  for (const message of prompt.messages) {
    for (const block of message.content) {
      const tag = `${message.role}.${block.type}`;
      if (block.type === 'text') push(tag, block.text);
      else if (block.type === 'tool_call') push(`${tag}.${block.id}`, block.name + callText(block));
      else if (block.type === 'tool_result') push(`${tag}.${block.callId}`, block.content);
      else if (block.type === 'image') push(tag, block.data, imageTokens(block.data));
      // Thinking of past steps is not billed as prompt; it still is part of what a prefix must repeat.
      else push(`${tag}.${block.text}`, '');
    }
  }
  return segments;
}

/** Prompt tokens up to a segment: rounded down inside the prompt, so that a prefix never exceeds the whole. */
export function prefixTokens(segment: Segment | undefined, model: SimModel): number {
  if (segment === undefined) return 0;
  return Math.floor(segment.endBytes * model.tokensPerByte) + segment.endImageTokens;
}

export function promptTokens(segments: readonly Segment[], model: SimModel): number {
  const last = segments.at(-1);
  return last === undefined ? 0 : Math.ceil(last.endBytes * model.tokensPerByte) + last.endImageTokens;
}

export function outputTokens(text: string, model: SimModel): number {
  return Math.ceil(byteLength(text) * model.tokensPerByte);
}

function toolText(tool: ToolDefinition): string {
  return tool.name + tool.description + JSON.stringify(tool.inputSchema);
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
