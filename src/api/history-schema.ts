/** A conversation held elsewhere, as a session is created with it. */
import { z } from 'zod';
import { inputBlock, textBlock } from '../ledger/blocks.ts';
import { byteLength, canonicalJson } from '../ledger/json.ts';
import type { ImportedMessage } from '../runtime/imported-history.ts';

const MAX_MESSAGES = 2_000;
const MAX_BLOCKS = 100;
/** It is written in one commit. */
const MAX_HISTORY_BYTES = 4_194_304;
/** What a body may have that holds such a history: around its texts there are quotes and names. */
export const MAX_HISTORY_BODY_BYTES = 2 * MAX_HISTORY_BYTES;

const message = z
  .discriminatedUnion('role', [
    z.strictObject({
      role: z.literal('user'),
      text: z.string().optional(),
      content: z.array(inputBlock).min(1).max(MAX_BLOCKS).optional(),
    }),
    z.strictObject({
      role: z.literal('assistant'),
      text: z.string().optional(),
      content: z.array(textBlock).min(1).max(MAX_BLOCKS).optional(),
    }),
  ])
  .refine(
    ({ text, content }) => (text === undefined) !== (content === undefined),
    'text or content, one of them',
  )
  .refine(
    ({ text = '', content = [] }) => text.trim() !== '' || content.some(says),
    'a message that is not blank',
  );

type HistoryMessage = z.infer<typeof message>;

const messages = z
  .array(message)
  .min(1)
  .superRefine((sent, context) => {
    const wrong = misplaced(sent);
    if (wrong !== null) context.addIssue({ code: 'custom', path: [wrong.index], message: wrong.problem });
  });

export const history = z
  .preprocess((sent, context) => {
    // Before each is looked at: of what is far too much, every message would have its own complaint.
    if (Array.isArray(sent) && sent.length > MAX_MESSAGES)
      context.addIssue({
        code: 'custom',
        path: [MAX_MESSAGES],
        message: `at most ${MAX_MESSAGES} messages; this is one more`,
      });
    return sent;
  }, messages)
  .describe(
    `A conversation held elsewhere, oldest message first: what the session begins with. At most ${MAX_MESSAGES} messages and ${MAX_HISTORY_BYTES} bytes; the first is the user's.`,
  );

/** A text alone is one block of it. */
export function imported(sent: HistoryMessage): ImportedMessage {
  const text = [{ type: 'text', text: sent.text ?? '' }] as const;
  return sent.role === 'user'
    ? { role: 'user', content: sent.content ?? text }
    : { role: 'assistant', content: sent.content ?? text };
}

/** Stops at the first: what follows it is not looked at. */
function misplaced(
  messages: readonly HistoryMessage[],
): { readonly index: number; readonly problem: string } | null {
  if (messages[0]?.role === 'assistant') return { index: 0, problem: "the first message is the user's" };
  let bytes = 0;
  for (const [index, sent] of messages.entries()) {
    bytes += byteLength(canonicalJson(sent));
    if (bytes > MAX_HISTORY_BYTES)
      return { index, problem: `at most ${MAX_HISTORY_BYTES} bytes; with this message they are ${bytes}` };
  }
  return null;
}

function says(block: z.infer<typeof inputBlock>): boolean {
  return block.type === 'image' || block.text.trim() !== '';
}
