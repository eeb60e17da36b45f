/** The result of a call as one text: what can be read of it, and what else there was, by kind and size. */
import { z } from 'zod';
import { byteLength } from '../../ledger/json.ts';
import { firstBytes, plainText } from './plain-text.ts';

/** Loose: a content of a kind that is not known yet is named, not refused. */
export const callResult = z.looseObject({
  content: z.array(z.looseObject({ type: z.string() })).default([]),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().default(false),
});
export type McpCallResult = z.output<typeof callResult>;
type Content = McpCallResult['content'][number];

const SHOWN_LABEL_CHARS = 200;
const MIN_CUT_NOTE_BYTES = 100;

export function readResult(
  result: McpCallResult,
  { maxBytes, mask }: { readonly maxBytes: number; readonly mask: (text: string) => string },
): { readonly content: string; readonly isError: boolean } {
  const parts = result.content.map(partOf);
  const hasText = result.content.some((content) => textOf(content) !== null);
  if (!hasText && result.structuredContent !== undefined) {
    parts.unshift(JSON.stringify(result.structuredContent));
  }
  const whole = mask(plainText(parts.join('\n')));
  return {
    content: whole === '' ? '(The tool returned nothing.)' : bounded(whole, maxBytes),
    isError: result.isError,
  };
}

function partOf(content: Content): string {
  const text = textOf(content);
  if (text !== null) return text;
  const { type, data, mimeType, resource } = content;
  if (type === 'resource' && isObject(resource)) {
    return `[resource${label(resource.uri)}${label(resource.mimeType)}${sizeOf(resource.blob)}]`;
  }
  if (type === 'resource_link') {
    return `[resource link${label(content.name)}${label(content.uri)}${label(mimeType)}]`;
  }
  return `[${clip(type)}${label(mimeType)}${sizeOf(data)}]`;
}

/** The words of a content, also where they come as a resource; null where there are none. */
function textOf({ type, text, resource }: Content): string | null {
  if (type === 'text' && typeof text === 'string') return text;
  if (type === 'resource' && isObject(resource) && typeof resource.text === 'string') return resource.text;
  return null;
}

function label(value: unknown): string {
  return typeof value === 'string' && value !== '' ? ` ${clip(value)}` : '';
}

function clip(text: string): string {
  const line = text.slice(0, SHOWN_LABEL_CHARS).replace(/\s/g, ' ');
  return text.length > SHOWN_LABEL_CHARS ? `${line}…` : line;
}

/** Of bytes that come in base64. */
function sizeOf(base64: unknown): string {
  if (typeof base64 !== 'string') return '';
  const padding = base64.endsWith('==') ? 2 : Number(base64.endsWith('='));
  return `, ${Math.floor((base64.length * 3) / 4) - padding} bytes`;
}

function bounded(text: string, maxBytes: number): string {
  const totalBytes = byteLength(text);
  if (totalBytes <= maxBytes) return text;
  const shown = firstBytes(text, Math.max(0, maxBytes - MIN_CUT_NOTE_BYTES));
  return `${shown}\n[cut off: the first ${byteLength(shown)} of ${totalBytes} bytes; ask for less]`;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
