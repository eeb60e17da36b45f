#!/usr/bin/env node
/** The process: its streams, its signals and its exit code. */
import { constants } from 'node:os';
import { runCli } from './run.ts';

const stopping = new AbortController();

/** The first signal asks for an orderly end; whoever sends a second one does not want to wait for it. */
function onSignal(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP'): void {
  if (stopping.signal.aborted) process.exit(128 + constants.signals[signal]);
  stopping.abort();
}

process.on('SIGINT', onSignal);
process.on('SIGTERM', onSignal);
process.on('SIGHUP', onSignal);

// Whoever reads us may leave early, as `head` does.
process.stdout.on('error', () => stopping.abort());
process.stderr.on('error', () => undefined);

process.exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  cwd: process.cwd(),
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  stopped: stopping.signal,
});
process.stdin.destroy();
