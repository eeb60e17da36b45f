/** Prompts of a megabyte and more, of shapes that make careless patterns slow. Bounds are against hanging only. */
import { describe, expect, it } from 'vitest';
import type { ChatMessage } from '../../../src/context/request.ts';
import { SIM_HABITS } from '../../../src/sim/contract.ts';
import { correctionIn } from '../../../src/sim/mind/corrections.ts';
import { cut, urlsIn } from '../../../src/sim/mind/facts.ts';
import { asksForForm } from '../../../src/sim/mind/forms.ts';
import { listedIn, withoutLists } from '../../../src/sim/mind/listed.ts';
import { asksForPresent } from '../../../src/sim/mind/present-time.ts';
import {
  ACTIVATE,
  answered,
  ask,
  exchange,
  FIND_TOOLS,
  GREP,
  LOOK_UP,
  METRIC,
  READ,
  RESEARCH,
  told,
} from './prompt-parts.ts';

const MEGABYTE = 1_000_000;
const MOST_MS = 20_000;
const ALL_HABITS = Object.fromEntries(SIM_HABITS.map((name) => [name, 1]));

function filled(piece: string): string {
  return piece.repeat(Math.ceil(MEGABYTE / piece.length));
}

const TEXTS: readonly (readonly [string, string])[] = [
  ['spaces', filled(' ')],
  ['open brackets', filled('[')],
  ['backticks', filled('`')],
  ['fences', filled('```card\n{"title":1\n')],
  ['words without an end', filled('zinc ')],
  ['one word', filled('z')],
  ['addresses', filled('https://tarvo.example/zinc ')],
  ['half addresses', filled('https://')],
  ['promises', filled('I will now ')],
  ['stops', filled('.')],
  ['as of now', filled('current latest today ')],
  ['as a', filled('as a a-')],
  ['written calls', filled('read({"path":{"a":{ ')],
  ['listed tools', filled('tool_name — does what a tool does\n')],
  ['tags', filled('<more_tools>\n')],
  ['corrections', filled('[some-check] ')],
  ['dashes', filled('a-')],
  ['figures', filled('1,234.5 ')],
];

function timed(run: () => void): number {
  const start = performance.now();
  run();
  return performance.now() - start;
}

describe('a long text', () => {
  it.each(TEXTS)('of %s is read by every pattern in bounded time', (_, text) => {
    const spent = timed(() => {
      correctionIn(text);
      urlsIn(text);
      cut(text, 200);
      listedIn(text);
      withoutLists(text);
      asksForForm(text, 'table');
      asksForPresent(text.slice(0, 1_200));
    });
    expect(spent).toBeLessThan(MOST_MS);
  });

  it.each(TEXTS)(
    'of %s is answered in bounded time, wherever it stands',
    (_, text) => {
      const tools = [READ, GREP, LOOK_UP, FIND_TOOLS, ACTIVATE, METRIC, RESEARCH];
      const now = told('What is the current zinc price at Tarvo?');
      const prompts: readonly (readonly ChatMessage[])[] = [
        [told(text)],
        [told('How is zinc?'), answered(text), now],
        [now, ...exchange('1', 'look_up', { query: 'zinc' }, text)],
        [now, told(`[some-check] ${text}`)],
      ];
      const spent = timed(() => {
        for (const messages of prompts) {
          ask(messages, tools, { system: text });
          ask(messages, tools, { habits: { ...ALL_HABITS, thinkingOnly: 0, stubbornness: 1 } });
        }
      });
      expect(spent).toBeLessThan(MOST_MS);
    },
    60_000,
  );
});
