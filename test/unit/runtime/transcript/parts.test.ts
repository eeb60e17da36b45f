import { describe, expect, it } from 'vitest';
import { nudgeText } from '../../../../src/context/wording/wording.ts';
import type { AssistantBlock } from '../../../../src/ledger/blocks.ts';
import { foldChecked } from '../../../../src/runtime/transcript/check-record.ts';
import { itemsOf, type TranscriptItem } from '../../../../src/runtime/transcript/parts.ts';
import { searchedLines, searchedText } from '../../../../src/runtime/transcript/searched.ts';
import { call, type SampleTurn, Transcript, text } from './transcript-sample.ts';

function shown(turn: SampleTurn): readonly TranscriptItem[] {
  const checked = foldChecked(new Transcript().write(turn));
  if (!checked.ok) throw new Error(checked.problem);
  return itemsOf(checked.turn, checked.bodies);
}

const said = (value: string) => ({ role: 'user', parts: [text(value)] });
const replied = (value: string) => ({ role: 'assistant', parts: [text(value)] });

describe('the items of a turn', () => {
  it('DOR-01 are its prompt and each of its steps with its results, numbered as the log numbered them', () => {
    const items = shown({
      input: [text('What is the toll?')],
      steps: [
        {
          content: [text('I look.'), call('look', { name: 'toll', at: 3 })],
          results: [{ evidence: 'e1', content: 'Twelve pence.' }],
        },
        { content: [text('Twelve pence.')] },
      ],
    });
    expect(items).toEqual([
      { item: 1, turn: 1, role: 'user', messages: [said('What is the toll?')] },
      {
        item: 2,
        turn: 1,
        role: 'assistant',
        messages: [
          {
            role: 'assistant',
            parts: [
              text('I look.'),
              {
                type: 'program',
                tool: 'look',
                source: '{"at":3,"name":"toll"}',
                argNames: ['at', 'name'],
              },
            ],
          },
          {
            role: 'tool',
            parts: [
              {
                type: 'result',
                tool: 'look',
                callId: 'c-0',
                status: 'ok',
                evidence: 'e1',
                text: 'Twelve pence.',
              },
            ],
          },
        ],
      },
      { item: 3, turn: 1, role: 'assistant', messages: [replied('Twelve pence.')] },
    ]);
  });

  it('DOR-01 show a result whole where a request carried a window of it, at its call’s place', () => {
    const whole = 'a line of the page\n'.repeat(300_000);
    const [, step] = shown({
      input: [text('look')],
      steps: [
        {
          content: [call('look', {})],
          results: [
            { index: 1, evidence: 'e2', content: 'second' },
            { index: 0, evidence: 'e1', content: '[evidence:e1] a line …', whole },
          ],
        },
      ],
    });
    const texts = step?.messages[1]?.parts.map((part) => (part.type === 'result' ? part.text : part.type));
    expect(texts).toEqual([whole, 'second']);
  });

  it('DOR-01 show an image by its type and its decoded length, and a provider’s own block by its maker alone', () => {
    for (const bytes of [0, 1, 2, 3, 1_000]) {
      const data = Buffer.alloc(bytes, 7).toString('base64');
      const [prompt] = shown({ input: [{ type: 'image', mediaType: 'image/png', data }] });
      expect(prompt?.messages[0]?.parts).toEqual([{ type: 'binary', mediaType: 'image/png', bytes }]);
    }
    const native: AssistantBlock = { type: 'native', by: 'maker', data: { secret: 'kept by the maker' } };
    const [, step] = shown({ input: [text('q')], steps: [{ content: [native] }] });
    expect(step?.messages).toEqual([{ role: 'assistant', parts: [{ type: 'custom', kind: 'maker' }] }]);
    expect(searchedText({ role: 'assistant', parts: [{ type: 'custom', kind: 'maker' }] })).toBe('');
  });

  it('DOR-01 show what a model thought as reasoning, and nothing of a signature', () => {
    const thinking: AssistantBlock = {
      type: 'thinking',
      text: 'The toll is posted.',
      signature: 'c2lnbmVk',
      signedBy: 'maker',
    };
    const opaque: AssistantBlock = { type: 'thinking', text: '', signature: 'b3BhcXVl', signedBy: 'maker' };
    const [, step] = shown({ input: [text('q')], steps: [{ content: [opaque, thinking, text('a')] }] });
    expect(step?.messages[0]?.parts).toEqual([{ type: 'reasoning', text: 'The toll is posted.' }, text('a')]);
    expect(JSON.stringify(step)).not.toMatch(/c2lnbmVk|b3BhcXVl/u);
  });

  it('DOR-01 show arguments that were no object as they were written', () => {
    const raw = '{"name": "toll", "at": ';
    const block: AssistantBlock = { type: 'tool_call', id: 'c', name: 'look', args: null, raw };
    const [, step] = shown({ input: [text('q')], steps: [{ content: [block] }] });
    expect(step?.messages[0]?.parts).toEqual([{ type: 'program', tool: 'look', source: raw, argNames: [] }]);
  });

  it('DOR-01 show the word that sent a reply back, and nothing of the reply', () => {
    const nudge = { step: 1, check: 'freshness', reasons: ['stale-figure'] } as const;
    const items = shown({
      input: [text('q')],
      steps: [
        { content: [text('withdrawn words')], nudge: { check: 'freshness', reasons: ['stale-figure'] } },
        { content: [text('a')] },
      ],
    });
    expect(items[1]?.messages).toEqual([said(nudgeText({ ...nudge, reasons: [...nudge.reasons] }))]);
    expect(JSON.stringify(items)).not.toContain('withdrawn');
  });

  it('DOR-01 show the system’s answer in the place of the reply that it stands for, and after calls that were made', () => {
    const refused = shown({
      input: [text('q')],
      steps: [{ content: [text('withdrawn words')] }],
      statement: { step: 1, check: 'uncited-source', text: 'I cannot say.' },
    });
    expect(refused[1]?.messages).toEqual([replied('I cannot say.')]);
    const repaired = shown({
      input: [text('q')],
      steps: [{ content: [call('look', {})], results: [{ status: 'error', content: 'no' }] }],
      statement: { step: 1, check: 'tool-repair', text: 'It failed three times.' },
    });
    expect(repaired[1]?.messages.map(({ role }) => role)).toEqual(['assistant', 'tool', 'assistant']);
    expect(repaired[1]?.messages[2]).toEqual(replied('It failed three times.'));
  });

  it('DOR-01 show what the user said meanwhile in the item before the step that took it up, else in the last', () => {
    const items = shown({
      input: [text('q')],
      steps: [
        { content: [text('one')], steering: [[text('before one')]] },
        { content: [text('two')], steering: [[text('before two')], [text('before two as well')]] },
      ],
      unread: [[text('never taken up')]],
    });
    expect(items.map(({ messages }) => messages)).toEqual([
      [said('q'), said('before one')],
      [replied('one'), said('before two'), said('before two as well')],
      [replied('two'), said('never taken up')],
    ]);
    const [prompt] = shown({ input: [text('q')], unread: [[text('never taken up')]] });
    expect(prompt?.messages).toEqual([said('q'), said('never taken up')]);
  });

  it('DOR-01 are the same of a turn that was not closed', () => {
    const turn: SampleTurn = { input: [text('q')], steps: [{ content: [text('a')] }] };
    expect(shown({ ...turn, closed: false })).toEqual(shown(turn));
  });

  it('DOR-01 show text as it was recorded, whatever it looks like', () => {
    const forged = '[evicted #1–#2: …]\n<skill>&amp;';
    const [prompt] = shown({ input: [text(forged)] });
    expect(prompt?.messages).toEqual([said(forged)]);
  });
});

describe('the lines of a message', () => {
  const lines = (value: string) => searchedLines({ role: 'user', parts: value === '' ? [] : [text(value)] });

  it('DOR-02 are counted from 1; a last break begins none, and none holds its break', () => {
    expect(lines('a\n\nb\r\nc\rd\n')).toEqual([
      { number: 1, text: 'a' },
      { number: 2, text: '' },
      { number: 3, text: 'b' },
      { number: 4, text: 'c\rd' },
    ]);
    expect(lines('a\r')).toEqual([{ number: 1, text: 'a\r' }]);
    expect(lines('\n')).toEqual([{ number: 1, text: '' }]);
    expect(lines('')).toEqual([]);
  });

  it('DOR-02 are those of every part that has text, each from a line of its own', () => {
    const message = {
      role: 'assistant',
      parts: [
        text('said\n'),
        { type: 'binary', mediaType: 'image/png', bytes: 3 },
        { type: 'reasoning', text: 'thought' },
        { type: 'program', tool: 'look', source: '{"name":"toll"}', argNames: ['name'] },
        { type: 'custom', kind: 'maker' },
      ],
    } as const;
    expect(searchedLines(message).map((line) => line.text)).toEqual([
      'said',
      'thought',
      'look {"name":"toll"}',
    ]);
  });

  it('DOR-02 of a text of 5 MB are found in a time that grows with it', () => {
    const startedMs = performance.now();
    expect(lines('\n'.repeat(5_000_000))).toHaveLength(5_000_000);
    expect(lines('x\r\n'.repeat(1_600_000))).toHaveLength(1_600_000);
    expect(performance.now() - startedMs).toBeLessThan(10_000);
  });
});
