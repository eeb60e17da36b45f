/** The MCP server of tests as a deployment has it configured, and what it did. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { MCP_DEFAULTS, type McpServerSettings } from '../../src/tools/mcp/settings.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SCRIPT = fileURLToPath(new URL('./mcp-server.ts', import.meta.url));
const argsOf = (transport: string, logFile: string, port: number): string[] => [
  '--import',
  'tsx',
  SCRIPT,
  transport,
  logFile,
  String(port),
];

export const SECRET_VARIABLE = 'HARBOUR_KEY';

export interface Harbour {
  readonly settings: McpServerSettings;
  /** Lines of its log that begin with `word`. */
  logged(word: string): readonly string[];
  /** Ends the process that runs, if one does, and starts a new one where it would not be started by a demand. */
  restart(): Promise<void>;
}

type Overrides = Partial<McpServerSettings>;

export function stdioHarbour(overrides: Overrides = {}): Harbour {
  const logFile = freshLog();
  const endpoint = {
    kind: 'stdio',
    command: process.execPath,
    args: argsOf('stdio', logFile, 0),
    cwd: ROOT,
    environment: { KEY: SECRET_VARIABLE },
  } as const;
  return {
    settings: { ...MCP_DEFAULTS, declared: {}, tools: {}, endpoint, ...overrides },
    logged: (word) => logLines(logFile, word),
    restart: async () => {},
  };
}

export async function httpHarbour(overrides: Overrides = {}): Promise<Harbour> {
  const logFile = freshLog();
  let child: ChildProcess | null = null;
  let port = 0;
  const stop = async (): Promise<void> => {
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  const start = async (): Promise<void> => {
    await stop();
    child = spawn(process.execPath, argsOf('http', logFile, port), {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const { stdout } = child;
    if (stdout === null) throw new Error('the server has no output');
    const [line] = (await once(stdout, 'data')) as [Buffer];
    port = Number(line.toString());
  };
  await start();
  onTestFinished(stop);
  const headers = { 'X-Key': SECRET_VARIABLE };
  const endpoint = { kind: 'http', url: `http://127.0.0.1:${port}/mcp`, headers } as const;
  return {
    settings: { ...MCP_DEFAULTS, declared: {}, tools: {}, endpoint, ...overrides },
    logged: (word) => logLines(logFile, word),
    restart: start,
  };
}

function freshLog(): string {
  const folder = mkdtempSync(join(tmpdir(), 'turnwright-mcp-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'log');
}

function logLines(file: string, word: string): readonly string[] {
  let text = '';
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    // It has not started yet.
  }
  return text.split('\n').filter((line) => line.split(' ')[0] === word);
}
