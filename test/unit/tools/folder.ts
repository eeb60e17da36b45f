/** A folder of files for one test, and the context a tool gets in it. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../../src/app/clock.ts';
import type { EvidenceReader, Tool, ToolContext } from '../../../src/tools/contract.ts';
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
  return { signal, root, idempotencyKey: 'key-1', evidence: evidenceOf({}), ...overrides };
}

/** Newest first is the reverse of the order given. */
export function evidenceOf(stored: Readonly<Record<string, string>>): EvidenceReader {
  return {
    read: async (id) => stored[id] ?? null,
    list: async (limit) => Object.keys(stored).reverse().slice(0, limit),
  };
}

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
