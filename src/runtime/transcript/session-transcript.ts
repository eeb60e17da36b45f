/** The transcript as the tools of a running turn read it. */
import type { Clock } from '../../ledger/clock.ts';
import type { SessionTranscript, ToolOutput } from '../../tools/contract.ts';
import type { Refused } from './answers.ts';
import type { TranscriptPlace, TranscriptStore } from './locate.ts';
import { TranscriptReader } from './reader.ts';
import { foundText, indexText, itemsText } from './text.ts';

export function sessionTranscript(
  { store, clock }: { readonly store: TranscriptStore; readonly clock: Pick<Clock, 'after'> },
  place: TranscriptPlace,
): SessionTranscript {
  const reader = new TranscriptReader(store, clock);
  return {
    index: async (page) => success(indexText(await reader.index(place, page))),
    read: async (items) => {
      const answer = await reader.read(place, items);
      return answer.kind === 'read' ? success(itemsText(answer.items)) : failure(answer);
    },
    grep: async (asked, limits) => {
      const answer = await reader.grep(place, asked, limits);
      return answer.kind === 'found' ? success(foundText(answer)) : failure(answer);
    },
  };
}

function success(content: string): ToolOutput {
  return { content, isError: false };
}

function failure({ code, message }: Refused): ToolOutput {
  const content = code === 'bad_pattern' ? `The pattern cannot be searched for: ${message}` : message;
  return { content, isError: true };
}
