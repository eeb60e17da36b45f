/**
 * What Anthropic's API demands of a transcript with tools.
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use
 *
 * 1 every tool_use is answered in the next message  2 results stand before anything else in it
 * 3 one result per call  4 no result without its call  5 call ids are unique
 * 6 with thinking on, the message that opened the running tool loop starts with its thinking
 */
import { anthropicInvalid } from './anthropic-failure.ts';
import type { Block, Turn } from './anthropic-messages.ts';

export function checkTranscript(turns: readonly Turn[], thinkingEnabled: boolean): void {
  const seen = new Set<string>();
  for (const [at, turn] of turns.entries()) {
    if (turn.role === 'assistant') checkCalls(turn, turns[at + 1], seen);
    else checkResults(turn, turns[at - 1]);
  }
  const last = turns.at(-1);
  if (last?.role === 'assistant') checkPrefill(last);
  if (thinkingEnabled) checkThinking(turns);
}

function checkCalls(turn: Turn, next: Turn | undefined, seen: Set<string>): void {
  const ids: string[] = [];
  for (const { block, path } of turn.blocks) {
    if (block.type !== 'tool_call') continue;
    if (seen.has(block.id)) throw anthropicInvalid(`${path}: \`tool_use\` ids must be unique`);
    seen.add(block.id);
    ids.push(block.id);
  }
  const answered = new Set(leadingResults(next).map((result) => result.callId));
  const missing = ids.filter((id) => !answered.has(id));
  if (missing.length === 0) return;
  throw anthropicInvalid(
    `messages.${turn.index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
  );
}

function checkResults(turn: Turn, previous: Turn | undefined): void {
  const open = new Set(
    previous?.blocks.flatMap(({ block }) => (block.type === 'tool_call' ? [block.id] : [])),
  );
  const done = new Set<string>();
  for (const { block, path } of turn.blocks) {
    if (block.type !== 'tool_result') continue;
    if (done.has(block.callId)) {
      throw anthropicInvalid(
        `${path}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${block.callId}`,
      );
    }
    if (!open.has(block.callId)) {
      throw anthropicInvalid(
        `${path}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${block.callId}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
      );
    }
    done.add(block.callId);
  }
}

/** Results before the first text; images that came inside a result stand between them. */
function leadingResults(turn: Turn | undefined) {
  const found: Extract<Block['block'], { type: 'tool_result' }>[] = [];
  for (const { block } of turn?.blocks ?? []) {
    if (block.type === 'tool_result') found.push(block);
    else if (block.type !== 'image') break;
  }
  return found;
}

function checkPrefill(turn: Turn): void {
  const block = turn.blocks.at(-1)?.block;
  if (block?.type === 'text' && /\s$/.test(block.text)) {
    throw anthropicInvalid('messages: final assistant content cannot end with trailing whitespace');
  }
}

function checkThinking(turns: readonly Turn[]): void {
  const assistants = turns.filter((turn) => turn.role === 'assistant');
  const latest = assistants.at(-1);
  const first = latest?.blocks[0];
  const inLoop = turns
    .at(-1)
    ?.blocks.every(({ block }) => block.type === 'tool_result' || block.type === 'image');
  if (latest === undefined || first === undefined || !inLoop || first.block.type === 'thinking') return;
  const found = first.block.type === 'tool_call' ? 'tool_use' : first.block.type;
  throw anthropicInvalid(
    `messages.${latest.index}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${found}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks).`,
  );
}
