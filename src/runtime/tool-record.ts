/** What is kept of a tool's result, whoever ran the tool. */
import { escapeMarkers } from '../context/assemble/markers.ts';
import { digestResult } from '../context/evidence/digest.ts';
import { windowResult } from '../context/evidence/window.ts';
import type { ToolCallBlock } from '../ledger/blocks.ts';
import { evidenceId } from '../ledger/ids.ts';
import type { RecordDraft, ToolStatus } from '../ledger/kinds.ts';
import type { ToolOutput } from '../tools/contract.ts';
import type { Additions } from './additions.ts';

export interface ToolResult {
  readonly status: ToolStatus;
  /** The whole. */
  readonly content: string;
  readonly files?: ToolOutput['files'];
  readonly listed?: ToolOutput['listed'];
}

/** Which call of which turn was answered. */
export interface AnsweredCall {
  readonly turnId: string | null;
  readonly step: number;
  readonly index: number;
  readonly call: Pick<ToolCallBlock, 'id' | 'name'>;
}

/** The result as the request will carry it; beyond the window the whole stands beside it. `ordinal` is its evidence number. */
export function recordToolResult(
  { turnId, step, index, call }: AnsweredCall,
  result: ToolResult,
  ordinal: number,
): Additions {
  const id = evidenceId(ordinal);
  const shown = windowResult(result.content, { evidenceId: id, guard: escapeMarkers });
  const windowed = shown !== result.content;
  const body = {
    step,
    index,
    callId: call.id,
    name: call.name,
    status: result.status,
    evidence: id,
    content: shown,
    windowed,
    // The whole is not at hand when the turn renders as closed.
    ...(windowed ? digestOfWhole(id, result) : {}),
    ...(result.files === undefined || result.files.length === 0 ? {} : { files: [...result.files] }),
  };
  const drafts: RecordDraft[] = [{ kind: 'tool-result', turnId, body }];
  if (windowed)
    drafts.push({ kind: 'evidence-body', turnId, body: { evidence: id, content: result.content } });
  return { drafts, evidence: [{ ordinal, tool: call.name, draft: drafts.length - 1 }] };
}

function digestOfWhole(evidence: string, { status, content }: ToolResult) {
  const { text, shape } = digestResult({ evidence, content, isError: status !== 'ok' });
  return { digest: text, shape };
}
