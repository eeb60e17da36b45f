/** The `summary` pool: the packet that stands for turns which left the request. */
import { packetMessages } from '../context/assemble/assemble.ts';
import { weighMessages } from '../context/assemble/turn.ts';
import { deterministicPacket } from '../context/packet.ts';
import type { Claim, TurnGist } from '../db/contract.ts';
import { evidenceId } from '../ledger/ids.ts';
import type { BodyOf } from '../ledger/kinds.ts';
import { visibleText } from '../ledger/view.ts';
import type { JobRef } from '../queues/contract.ts';
import { type CallResult, runSideCall, type Settled } from '../runtime/side-call.ts';
import type { WorkerDeps } from './deps.ts';

export function summaryWorker(deps: WorkerDeps, ref: JobRef): Promise<Settled> {
  return runSideCall(deps.host, ref, (claim) => performSummary(deps, ref, claim));
}

async function performSummary(deps: WorkerDeps, ref: JobRef, claim: Claim): Promise<CallResult> {
  const { from, to } = JSON.parse(claim.call.input) as { from: number; to: number };
  const head = claim.loaded.turn?.head ?? claim.loaded.session.liveHead;
  const seed = (claim.packets ?? [])
    .filter((packet) => packet.from === from && packet.to < to)
    .sort((a, b) => b.to - a.to)[0];
  const seedText = seed === undefined ? null : await deps.turns.packet(ref, seed.seq);
  const firstNew = seedText === null || seed === undefined ? from : seed.to + 1;
  const gists = await deps.host.engine.store.turnGists(ref, head, firstNew, to);
  const text = deterministicPacket({ from, to, seed: seedText, turns: gists.map(packetTurn) });
  const bytes = weighMessages(packetMessages({ from, to, text }));
  const turnId = claim.loaded.actor.turn;
  return {
    kind: 'done',
    output: null,
    additions: () => ({
      drafts: [{ kind: 'packet', turnId, body: { from, to, text, quality: 'deterministic' } }],
      packet: { from, to, bytes, draft: 0 },
    }),
  };
}

function packetTurn(gist: TurnGist) {
  const accepted = JSON.parse(gist.accepted) as BodyOf<'turn-accepted'>;
  return {
    number: gist.number,
    asked: visibleText(accepted.input),
    outcome: gist.outcome ?? 'open',
    evidence: gist.evidence.map(({ ordinal, tool }) => ({ id: evidenceId(ordinal), tool })),
  };
}
