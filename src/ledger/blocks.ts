/** The content blocks of a conversation, as the ledger stores them and every wire renders them. */
import { z } from 'zod';
import type { Json, JsonObject } from './json.ts';

export const json: z.ZodType<Json> = z.json() as z.ZodType<Json>;
const jsonObject: z.ZodType<JsonObject> = z.record(z.string(), json);

export const textBlock = z.strictObject({ type: z.literal('text'), text: z.string() });

/** An image carried inline: base64 `data` of the given media type. */
export const imageBlock = z.strictObject({
  type: z.literal('image'),
  mediaType: z.enum(['image/png', 'image/jpeg', 'image/gif', 'image/webp']),
  data: z.base64(),
});

/** `id` is the provider's; `args` is null and `raw` the text when the model's arguments were no JSON object. */
export const toolCallBlock = z.strictObject({
  type: z.literal('tool_call'),
  id: z.string(),
  name: z.string(),
  args: json,
  raw: z.string().optional(),
});

/**
 * `signature` comes from the provider and goes back to it unmodified, or the whole block is left out. `signedBy` is the
 * kind of provider that made it: no other can read it.
 */
export const thinkingBlock = z.strictObject({
  type: z.literal('thinking'),
  text: z.string(),
  signature: z.string().optional(),
  signedBy: z.string().optional(),
});

/**
 * What a feature of the provider's own put into a reply, such as a search that it ran itself. `by` is the kind of
 * provider; `data`, in that kind's form, goes back to it unmodified or is left out. It is neither text nor a call.
 */
export const nativeBlock = z.strictObject({
  type: z.literal('native'),
  by: z.string(),
  data: jsonObject,
});

export const toolResultBlock = z.strictObject({
  type: z.literal('tool_result'),
  callId: z.string(),
  name: z.string(),
  content: z.string(),
  isError: z.boolean(),
});

export const inputBlock = z.discriminatedUnion('type', [textBlock, imageBlock]);
export const assistantBlock = z.discriminatedUnion('type', [
  textBlock,
  toolCallBlock,
  thinkingBlock,
  nativeBlock,
]);

export type TextBlock = z.infer<typeof textBlock>;
export type ImageBlock = z.infer<typeof imageBlock>;
export type ToolCallBlock = z.infer<typeof toolCallBlock>;
export type ThinkingBlock = z.infer<typeof thinkingBlock>;
export type NativeBlock = z.infer<typeof nativeBlock>;
export type ToolResultBlock = z.infer<typeof toolResultBlock>;
export type InputBlock = z.infer<typeof inputBlock>;
export type AssistantBlock = z.infer<typeof assistantBlock>;
