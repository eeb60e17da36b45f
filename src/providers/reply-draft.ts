/**
 * A reply as it arrives. Parts are keyed by the wire's own position and keep the order of their first
 * appearance; `finish` turns them into blocks. Bounded, so that a server cannot fill the process.
 */
import type { FinishReason } from '../context/request.ts';
import type { AssistantBlock, NativeBlock, ToolCallBlock } from '../ledger/blocks.ts';
import type { JsonObject } from '../ledger/json.ts';
import type { Delta, ProviderKind } from './contract.ts';
import { MalformedReply } from './malformed-reply.ts';
import { readArgs, storable } from './tool-args.ts';

export const MAX_REPLY_BYTES = 32 * 1_048_576;
/** Far above any reply; bounds what empty parts cost. */
const MAX_PARTS = 4_096;

interface TextPart {
  readonly kind: 'text' | 'thinking';
  readonly pieces: string[];
  signed: { readonly signature: string; readonly signedBy: ProviderKind } | null;
}

interface CallPart {
  readonly kind: 'call';
  readonly pieces: string[];
  id: string | null;
  name: string;
}

/** `pieces` are the text of the block's `input`; none where it came whole. */
interface NativePart {
  readonly kind: 'native';
  readonly pieces: string[];
  readonly by: ProviderKind;
  readonly data: JsonObject;
}

type Part = TextPart | CallPart | NativePart;

export class ReplyDraft {
  readonly #deliver: (delta: Delta) => void;
  readonly #elapsedMs: () => number;
  readonly #parts = new Map<string, Part>();
  #heldBytes = 0;
  #firstTokenMs: number | null = null;

  constructor(deliver: (delta: Delta) => void, elapsedMs: () => number) {
    this.#deliver = deliver;
    this.#elapsedMs = elapsedMs;
  }

  get firstTokenMs(): number | null {
    return this.#firstTokenMs;
  }

  write(key: string, kind: 'text' | 'thinking', piece: string): void {
    const part = this.#part(key, () => ({ kind, pieces: [], signed: null }));
    if (part.kind !== kind)
      throw new MalformedReply(`Part ${key} of the reply changed from ${part.kind} to ${kind}.`);
    if (piece === '') return;
    this.#add(part, piece);
    this.#deliver({ type: kind, text: piece });
  }

  /** `signedBy` is the one kind of provider that can read the signature. */
  sign(key: string, signature: string, signedBy: ProviderKind): void {
    const part = this.#part(key, () => ({ kind: 'thinking', pieces: [], signed: null }));
    this.#weigh(signature);
    if (part.kind === 'thinking') part.signed = { signature, signedBy };
  }

  /** Once any thinking of this reply cannot be kept whole, none of it may go back as signed. */
  unsign(): void {
    for (const part of this.#parts.values()) if (part.kind === 'thinking') part.signed = null;
  }

  /** Opens the call on first sight; a later id or name fills what was missing. */
  call(key: string, id: string | null, name: string | null): void {
    const part = this.#part(key, () => ({ kind: 'call', pieces: [], id: null, name: '' }));
    if (part.kind !== 'call')
      throw new MalformedReply(`Part ${key} of the reply changed from ${part.kind} to a call.`);
    this.#weigh((id ?? '') + (name ?? ''));
    part.id ??= id;
    if (part.name === '') part.name = name ?? '';
    this.#firstTokenMs ??= this.#elapsedMs();
  }

  /** A block of the provider's own feature, kept as it came; its `input` may still arrive in pieces. */
  native(key: string, block: unknown, by: ProviderKind): void {
    const data = storable(block);
    if (data === null) throw new MalformedReply(`Part ${key} of the reply cannot be stored.`);
    const part = this.#part(key, () => ({ kind: 'native', pieces: [], by, data }));
    if (part.kind !== 'native')
      throw new MalformedReply(`Part ${key} of the reply changed from ${part.kind} to a native block.`);
    this.#weigh(JSON.stringify(data));
    this.#firstTokenMs ??= this.#elapsedMs();
  }

  callId(key: string): string | null {
    const part = this.#parts.get(key);
    return part?.kind === 'call' ? part.id : null;
  }

  args(key: string, piece: string): void {
    const part = this.#parts.get(key);
    if (part?.kind !== 'call' && part?.kind !== 'native')
      throw new MalformedReply(`Arguments came for part ${key}, which is no call.`);
    this.#add(part, piece);
  }

  /** `finish` as the wire stated it; calls win over it, since some servers say `stop` for them. */
  finish(stated: FinishReason): {
    readonly content: readonly AssistantBlock[];
    readonly finish: FinishReason;
  } {
    this.#dropCutNatives();
    const ids = new CallIds([...this.#parts.values()]);
    const content: AssistantBlock[] = [];
    for (const part of this.#parts.values()) {
      if (part.kind === 'call') content.push(callBlock(part, ids.next(part.id)));
      else if (part.kind === 'native') content.push(nativeBlock(part));
      else if (part.pieces.length > 0 || part.signed !== null) content.push(textBlock(part));
    }
    const calls = content.some((block) => block.type === 'tool_call');
    if (calls && stated === 'stop') return { content, finish: 'tool_calls' };
    return { content, finish: !calls && stated === 'tool_calls' ? 'other' : stated };
  }

  /** A native block whose input broke off cannot go back, and no signed sequence can without it. */
  #dropCutNatives(): void {
    for (const [key, part] of this.#parts) {
      if (part.kind !== 'native' || readArgs(part.pieces.join('')).args !== null) continue;
      this.#parts.delete(key);
      this.unsign();
    }
  }

  #part(key: string, create: () => Part): Part {
    const known = this.#parts.get(key);
    if (known !== undefined) return known;
    if (this.#parts.size >= MAX_PARTS)
      throw new MalformedReply(`The reply has more than ${MAX_PARTS} parts.`);
    const part = create();
    this.#parts.set(key, part);
    return part;
  }

  #add(part: Part, piece: string): void {
    this.#weigh(piece);
    part.pieces.push(piece);
    this.#firstTokenMs ??= this.#elapsedMs();
  }

  #weigh(piece: string): void {
    this.#heldBytes += Buffer.byteLength(piece, 'utf8');
    if (this.#heldBytes > MAX_REPLY_BYTES) {
      throw new MalformedReply(`The reply is larger than ${MAX_REPLY_BYTES} bytes.`);
    }
  }
}

/** A missing or repeated id becomes `call_<index>`, so that every result finds one call. */
class CallIds {
  readonly #given: ReadonlySet<string>;
  readonly #used = new Set<string>();
  #index = 0;

  constructor(parts: readonly Part[]) {
    this.#given = new Set(
      parts.flatMap((part) => (part.kind === 'call' && part.id !== null ? [part.id] : [])),
    );
  }

  next(given: string | null): string {
    const index = this.#index;
    this.#index += 1;
    const id = given !== null && !this.#used.has(given) ? given : this.#made(index);
    this.#used.add(id);
    return id;
  }

  #made(index: number): string {
    let id = `call_${index}`;
    for (let again = 1; this.#used.has(id) || this.#given.has(id); again += 1) id = `call_${index}_${again}`;
    return id;
  }
}

function callBlock(part: CallPart, id: string): ToolCallBlock {
  return { type: 'tool_call', id, name: part.name, ...readArgs(part.pieces.join('')) };
}

function nativeBlock({ by, data, pieces }: NativePart): NativeBlock {
  const raw = pieces.join('');
  const { args: input } = readArgs(raw);
  return { type: 'native', by, data: raw === '' || input === null ? data : { ...data, input } };
}

function textBlock(part: TextPart): AssistantBlock {
  const text = part.pieces.join('');
  if (part.kind === 'text') return { type: 'text', text };
  return { type: 'thinking', text, ...part.signed };
}
