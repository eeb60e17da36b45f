/** A folder of files for one test, and the context a tool gets in it. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../../src/app/clock.ts';
import type {
  FoundInSessions,
  FoundTurn,
  SessionMemory,
  SessionTranscript,
  Tool,
  ToolContext,
} from '../../../src/tools/contract.ts';
import { runTool } from '../../../src/tools/run.ts';

/** Removed when the test ends. Keys are paths, values contents. */
export function folderOf(files: Readonly<Record<string, string | Uint8Array>>): string {
  const root = mkdtempSync(join(tmpdir(), 'turnwright-tools-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return root;
}

export function contextIn(root: string, overrides: Partial<ToolContext> = {}): ToolContext {
  const signal = new AbortController().signal;
  return { signal, root, idempotencyKey: 'key-1', memory: memoryOf(), ...overrides };
}

export interface Remembered {
  /** Newest last. */
  readonly evidence?: Readonly<Record<string, string>>;
  /** The record of turn 1 and those after it. */
  readonly turns?: readonly string[];
  readonly turnIds?: readonly string[];
  readonly presentations?: Readonly<Record<string, string>>;
  readonly found?: readonly FoundTurn[];
  readonly elsewhere?: FoundInSessions;
  readonly transcript?: SessionTranscript;
}

/** A session that holds what is given; the turn after the last is the one that runs. */
export function memoryOf(held: Remembered = {}): SessionMemory {
  const { evidence = {}, turns = [], turnIds = [], presentations = {}, found = [] } = held;
  const elsewhere = held.elsewhere ?? { found: [], searchedTurns: 0, complete: true };
  return {
    evidence: async (id) => evidence[id] ?? null,
    evidenceIds: async (limit) => Object.keys(evidence).reverse().slice(0, limit),
    turn: async (which) => {
      const at = 'number' in which ? which.number - 1 : turnIds.indexOf(which.id);
      const text = turns[at];
      if (text !== undefined) return { kind: 'closed', text };
      return at === turns.length ? { kind: 'open' } : null;
    },
    newestTurn: async () => turns.length,
    presentation: async (id) => presentations[id] ?? null,
    search: async (_, limit) => found.slice(0, limit),
    searchSessions: async (_, limit) => ({ ...elsewhere, found: elsewhere.found.slice(0, limit) }),
    transcript: held.transcript ?? NO_TRANSCRIPT,
  };
}

const none = async () => ({ content: 'Nothing is recorded.', isError: true });
const NO_TRANSCRIPT: SessionTranscript = { index: none, read: none, grep: none };

/** Runs a tool that is expected to finish; the text carries "error: " when the result is an error. */
export async function textOf(
  tool: Tool,
  args: Parameters<Tool['parse']>[0],
  context: ToolContext,
): Promise<string> {
  const outcome = await runTool(tool, args, context, systemClock);
  if (outcome.kind === 'aborted') return 'aborted';
  return (outcome.output.isError ? 'error: ' : '') + outcome.output.content;
}
