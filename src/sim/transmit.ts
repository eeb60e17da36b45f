/** Sends a rendered body at the pace of the model, and cuts it where a fault says so. */
import type { ServerResponse } from 'node:http';
import type { WireBody } from './wires/contract.ts';

export interface Transmission {
  readonly response: ServerResponse;
  readonly body: WireBody;
  readonly headers: Readonly<Record<string, string>>;
  /** Time before the first byte. */
  readonly leadMs: number;
  /** 0 sends everything in one write. */
  readonly msPerToken: number;
  /** The connection breaks after so many bytes of body; null sends it whole. */
  readonly cutAfterBytes: number | null;
  /** Fires when the client left or the simulator closes. */
  readonly gone: AbortSignal;
  /** Called before the last bytes leave, so that a client holding its reply finds the call ended. */
  readonly onComplete: () => void;
}

/** false when the client left before the end. */
export async function transmit(job: Transmission): Promise<boolean> {
  if (!(await pause(job.leadMs, job.gone))) return false;
  const total = job.body.frames.map((frame) => frame.text).join('');
  if (job.cutAfterBytes !== null) return cutShort(job, Buffer.from(total).subarray(0, job.cutAfterBytes));
  if (job.msPerToken === 0 || job.body.frames.length === 1) {
    const tokens = job.body.frames.reduce((sum, frame) => sum + frame.tokens, 0);
    if (!(await pause(tokens * job.msPerToken, job.gone))) return false;
    job.onComplete();
    job.response.writeHead(200, headersOf(job, Buffer.byteLength(total)));
    job.response.end(total);
    return true;
  }
  return await streamFrames(job);
}

/** Waits on a schedule, not frame by frame, so that timer rounding does not add up. */
async function streamFrames(job: Transmission): Promise<boolean> {
  const { response, body } = job;
  response.writeHead(200, headersOf(job, null));
  response.flushHeaders();
  const startMs = performance.now();
  let dueMs = startMs;
  for (const [index, frame] of body.frames.entries()) {
    dueMs += frame.tokens * job.msPerToken;
    if (!(await pause(dueMs - performance.now(), job.gone))) return false;
    if (index === body.frames.length - 1) {
      job.onComplete();
      response.end(frame.text);
    } else if (!response.write(frame.text) && !(await drained(job))) return false;
  }
  return true;
}

/** Resolves true after the delay, false as soon as the signal fires. A delay of 0 does not yield. */
export async function pause(delayMs: number, gone: AbortSignal): Promise<boolean> {
  if (gone.aborted) return false;
  if (delayMs <= 0) return true;
  return await new Promise((resolve) => {
    const onGone = () => {
      clearTimeout(timer);
      resolve(false);
    };
    const timer = setTimeout(() => {
      gone.removeEventListener('abort', onGone);
      resolve(true);
    }, delayMs);
    gone.addEventListener('abort', onGone, { once: true });
  });
}

async function drained(job: Transmission): Promise<boolean> {
  return await new Promise((resolve) => {
    const settle = () => {
      job.response.off('drain', settle);
      job.gone.removeEventListener('abort', settle);
      resolve(!job.gone.aborted);
    };
    job.response.once('drain', settle);
    job.gone.addEventListener('abort', settle, { once: true });
  });
}

/** The bytes reach the socket before it closes; no end of body follows them. */
async function cutShort(job: Transmission, bytes: Buffer): Promise<boolean> {
  job.onComplete();
  job.response.writeHead(200, headersOf(job, null));
  job.response.flushHeaders();
  await new Promise<void>((resolve) => {
    job.response.write(bytes, () => resolve());
    job.gone.addEventListener('abort', () => resolve(), { once: true });
  });
  job.response.destroy();
  return true;
}

function headersOf(job: Transmission, bodyBytes: number | null): Record<string, string> {
  return {
    ...job.headers,
    'content-type': job.body.contentType,
    ...(bodyBytes === null ? {} : { 'content-length': String(bodyBytes) }),
  };
}
