/** Prompts of a megabyte and more, of shapes that make careless patterns slow. Bounds are against hanging only. */
import { describe, expect, it } from 'vitest';
import type { ChatMessage } from '../../../src/context/request.ts';
import { CONTEXT_HABITS, SIM_HABITS } from '../../../src/sim/contract.ts';
import { correctionIn } from '../../../src/sim/mind/corrections.ts';
import { cut, urlsIn } from '../../../src/sim/mind/facts.ts';
import { asksForForm } from '../../../src/sim/mind/forms.ts';
import { listedIn, withoutLists } from '../../../src/sim/mind/listed.ts';
import { noticeIn, unstamped } from '../../../src/sim/mind/notices.ts';
import { asksForPresent } from '../../../src/sim/mind/present-time.ts';
import { hitsIn, readText } from '../../../src/sim/mind/transcript-text.ts';
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
import { CONTEXT, TRANSCRIPT } from './transcript-parts.ts';

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
  ['residues', filled('[evicted #1–#2: "')],
  ['reminders', filled('[pressure] #1–#2 {"op":"evict","from":')],
  ['stamps', filled('[item #1] ')],
  ['lines of items', filled('#1 T1 zinc Tarvo\n')],
  ['data', `[${filled('{"item":1,"text":"zinc Tarvo"},')}0]`],
  ['nested data', `{"hits":${filled('[')}`],
  ['escapes', filled('\\"')],
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
      noticeIn(`[evicted #1 ${text}`);
      noticeIn(`[pressure] ${text}`);
      unstamped(text);
      hitsIn(text);
      readText(text);
    });
    expect(spent).toBeLessThan(MOST_MS);
  });

  it.each(TEXTS)(
    'of %s is looked up and managed in bounded time',
    (_, text) => {
      const residue = told(`[evicted #1–#9: gone.\nNote: "${text.slice(0, 2_000)}"]`);
      const asked = [residue, told('What is the zinc price at Tarvo?')];
      const grep = exchange('1', 'transcript', { op: 'grep', pattern: 'zinc', items: 'all' }, text);
      const read = exchange('2', 'transcript', { op: 'read', items: [1] }, text);
      const reminder = told('[pressure] {"op":"evict","from":1,"to":9,"note":"…"}');
      const habits = Object.fromEntries(CONTEXT_HABITS.map((name) => [name, 1]));
      const spent = timed(() => {
        ask([...asked, ...grep, ...read], [TRANSCRIPT, CONTEXT]);
        ask([...asked, ...grep, ...read, reminder], [TRANSCRIPT, CONTEXT], { habits });
        ask([...asked, told(`[evicted #1–#2 ${text}`), told(`[pressure] ${text}`)], [TRANSCRIPT, CONTEXT]);
      });
      expect(spent).toBeLessThan(MOST_MS);
    },
    60_000,
  );

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
