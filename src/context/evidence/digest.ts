/**
 * What a closed turn shows of a result: what its shape says is telling, never a cut at some length.
 *
 * Laws: the last line names the evidence; a digest that is not the content itself is smaller than the
 * content and says with which call the content comes back; text of the content can form no marker of ours.
 */
import { byteLength } from '../../ledger/json.ts';
import { escapeMarkers } from '../assemble/markers.ts';
import { commandForm } from './digest-command.ts';
import type { Form } from './digest-form.ts';
import { jsonForm } from './digest-json.ts';
import { textForm } from './digest-text.ts';
import { countChars, recallCall } from './window.ts';

export interface DigestInput {
  /** Evidence id, such as `e7`. */
  readonly evidence: string;
  /** The whole result, not its window. */
  readonly content: string;
  readonly isError: boolean;
}

export interface Digest {
  readonly text: string;
  /** What kind of result it was, in a few words of ours: `exit 1, 240 lines`, `list of 12 links`, `error`. */
  readonly shape: string;
}

export function digestResult({ evidence, content, isError }: DigestInput): Digest {
  if (isError) return { text: verbatim(content, evidence), shape: 'error' };
  const { body, shape } = formOf(content);
  const call = recallCall({ id: evidence });
  const tag = `[evidence:${evidence} — ${countChars(content)} characters; ${call} returns it]`;
  const text = `${escapeMarkers(body)}\n${tag}`;
  if (byteLength(text) < byteLength(content)) return { text, shape };
  return { text: verbatim(content, evidence), shape };
}

/** A command's first line may look like a JSON list, so it is looked at first. */
function formOf(content: string): Form {
  return commandForm(content) ?? jsonForm(content) ?? textForm(content);
}

function verbatim(content: string, evidence: string): string {
  const gap = content === '' || content.endsWith('\n') ? '' : '\n';
  return `${escapeMarkers(content)}${gap}[evidence:${evidence}]`;
}
