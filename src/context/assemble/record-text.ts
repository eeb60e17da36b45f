/** The full record of a closed turn as one text, for a recall: what was asked, called, found and answered. */
import { canonicalJson } from '../../ledger/json.ts';
import type { TurnView } from '../../ledger/view.ts';
import type { ChatMessage } from '../request.ts';
import { renderFull } from './full-record.ts';

/** How a digest ends. Inside a recalled text it is no marker of that result, and would be escaped as a forged one. */
const EVIDENCE_TAG = /\[evidence:(e\d+)([^\]\n]*)\]/gu;

export function recordText(turn: TurnView): string {
  return renderFull(turn)
    .flatMap((message) => message.content.map((block) => blockText(message.role, block)))
    .filter((text) => text !== '')
    .join('\n')
    .replace(EVIDENCE_TAG, '($1$2)');
}

function blockText(role: ChatMessage['role'], block: ChatMessage['content'][number]): string {
  switch (block.type) {
    case 'text':
      return `${role === 'user' ? 'asked' : 'answered'}: ${block.text}`;
    case 'image':
      return `(an image, ${block.mediaType})`;
    case 'tool_call':
      return `called ${block.name} ${canonicalJson(block.args)}`;
    case 'tool_result':
      return `${block.name} returned: ${block.content}`;
    case 'thinking':
    case 'native':
      return '';
  }
}
