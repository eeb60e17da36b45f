import { describe, expect, it } from 'vitest';
import { MAX_CALLS_PER_STEP } from '../../../src/checks/called-tools.ts';
import { isEmptyStep } from '../../../src/checks/empty-step.ts';
import { BUILTIN_CARDS, createCards } from '../../../src/context/cards/index.ts';
import { presentCall } from '../../../src/context/cards/present.ts';
import type { AssistantBlock } from '../../../src/ledger/blocks.ts';
import type { Json } from '../../../src/ledger/json.ts';
import type { Presentation } from '../../../src/ledger/presentation.ts';
import { call, judge, judgedTool, LIVE, openTurn, READING, TOOLS, text } from '../../support/judging.ts';

const thinking: AssistantBlock = { type: 'thinking', text: 'I should call grep.' };
const metric = (title: string, value: Json = 7) => call('emit_metric_card', { title, value });

function shown(title: string, value: Json = 7): Presentation {
  const made = presentCall(
    createCards(BUILTIN_CARDS),
    { name: 'emit_metric_card', args: { title, value }, id: 'c', step: 1, index: 0 },
    { id: 'p1', earlier: [], evidence: [] },
  );
  if (made.kind !== 'presented') throw new Error('the card was not made');
  return made.presentation;
}

describe('judging a reply', () => {
  it.each([
    ['nothing at all', []],
    ['thinking alone', [thinking]],
    ['white space', [thinking, text(' \n\t')]],
  ])('CHK-01 calls %s empty', (_, content) => {
    expect(judge(content)).toEqual({ kind: 'empty', shown: false });
  });

  it('CHK-01 says of an empty reply whether the turn has shown a card', () => {
    const turn = openTurn('show it', { presentations: [shown('Load')] });
    expect(judge([thinking], { turn })).toEqual({ kind: 'empty', shown: true });
  });

  it('takes any visible text for the answer', () => {
    expect(judge([thinking, text('no')])).toEqual({ kind: 'answer', degraded: false, findings: [] });
    expect(judge([text(''), text('0')])).toEqual({ kind: 'answer', degraded: false, findings: [] });
  });

  it('lets calls go before text: a reply with a call is no answer, and no empty step', () => {
    expect(judge([text('Looking.'), call('read')])).toEqual({
      kind: 'calls',
      admitted: 1,
      approvals: [],
      inHop: [],
      byClient: [],
      withheld: [],
      unfit: [],
      idle: false,
      shown: false,
    });
    expect(isEmptyStep(1, '')).toBe(false);
  });

  it('admits 32 calls of a step, and asks approval for those among them that need it', () => {
    const toolOf = (name: string) => (name === 'deploy' ? judgedTool({ approval: true }) : TOOLS[name]);
    const many = Array.from({ length: 40 }, (_, index) => call(index % 2 === 0 ? 'deploy' : 'read'));
    expect(MAX_CALLS_PER_STEP).toBe(32);
    const facts = judge(many, { toolOf });
    expect(facts).toMatchObject({ admitted: 32, inHop: [] });
    expect(facts.kind === 'calls' && facts.approvals).toEqual(Array.from({ length: 16 }, (_, at) => 2 * at));
    const beyond = [...Array.from({ length: 32 }, () => call('read')), call('deploy')];
    expect(judge(beyond, { toolOf })).toMatchObject({ approvals: [] });
  });

  it('EVI-04 names by their places the admitted calls that need no job', () => {
    const some = [metric('One'), text('so'), call('read'), metric('Two')];
    expect(judge(some)).toMatchObject({ admitted: 3, inHop: [0, 2] });
    const beyond = [...Array.from({ length: 32 }, () => call('read')), metric('One')];
    expect(judge(beyond)).toMatchObject({ admitted: 32, inHop: [] });
  });

  it('SUR-02 gives the client the calls that fit their schema; what does not is answered by a job', () => {
    const ask = judgedTool({
      byClient: true,
      fits: (args) => JSON.stringify(args) === '{"question":"Which?"}',
    });
    const toolOf = (name: string) => (name === 'ask' ? ask : TOOLS[name]);
    const broken: AssistantBlock = { type: 'tool_call', id: 'c', name: 'ask', args: null, raw: '{"que' };
    const facts = judge([call('ask', { question: 'Which?' }), call('ask', {}), broken], { toolOf });
    expect(facts).toMatchObject({ admitted: 3, byClient: [0] });
  });

  it('PLN-02 says of an answer whether it rests on a packet that should have been summarised', () => {
    expect(judge([text('yes')], { degraded: true })).toMatchObject({ kind: 'answer', degraded: true });
    expect(judge([], { degraded: true })).toEqual({ kind: 'empty', shown: false });
  });
});

describe('judging the cards of a reply', () => {
  it('CHK-02 a batch of cards that were shown before, or twice in it, changes nothing', () => {
    const turn = openTurn('show it', { presentations: [shown('Load')] });
    expect(judge([metric('Load')], { turn })).toMatchObject({ idle: true, shown: true, withheld: [] });
    expect(judge([metric('Load'), metric('Load', 8)], { turn })).toMatchObject({ idle: false });
    expect(judge([metric('New'), metric('New')])).toMatchObject({ idle: false });
    expect(judge([metric('Load'), call('read')], { turn })).toMatchObject({ idle: false });
  });

  it('CHK-02 the order of members does not make a card another one', () => {
    const turn = openTurn('show it', { presentations: [shown('Load')] });
    expect(judge([call('emit_metric_card', { value: 7, title: 'Load' })], { turn })).toMatchObject({
      idle: true,
    });
  });

  it('CHK-08 a card that does not fit its schema is said to be unfit, and is withheld by no check', () => {
    const turn = openTurn('what is the current load', { reading: LIVE });
    expect(judge([call('emit_metric_card', { title: 5 })], { turn })).toMatchObject({
      unfit: [0],
      withheld: [],
      idle: false,
    });
  });

  it('CHK-03 a card of a current value is withheld until something was observed in the turn, whichever card it is', () => {
    const asked = 'what is the current load';
    const turn = openTurn(asked, { reading: LIVE });
    for (const title of ['Load', 'Load, last week'])
      expect(judge([metric(title)], { turn })).toMatchObject({
        withheld: [{ index: 0, check: 'freshness', tools: ['search'] }],
        idle: true,
      });
    const looked = (tool: string, status: 'ok' | 'error' = 'ok') =>
      openTurn(asked, { reading: LIVE, steps: [{ calls: [{ tool, result: 'load is 7', status }] }] });
    expect(judge([metric('Load')], { turn: looked('read') })).toMatchObject({ withheld: [] });
    expect(judge([metric('Load')], { turn: looked('read', 'error') })).toMatchObject({ idle: true });
    expect(judge([metric('Load')], { turn: looked('recall') })).toMatchObject({ idle: true });
  });

  it('CHK-03 a look in the same batch comes too late for its card: it was written before the result', () => {
    const turn = openTurn('what is the current load', { reading: LIVE });
    expect(judge([call('search'), metric('Load')], { turn })).toMatchObject({
      withheld: [{ index: 1, check: 'freshness' }],
      idle: false,
    });
  });

  it('CHK-04 an old card after a search for something else is withheld, whole results counted', () => {
    const steps = [{ calls: [{ tool: 'search', result: 'shown in part', evidence: 'e7' }] }];
    const turn = openTurn('what is new in robotics', { steps });
    const old = metric('Harbour depth', '12 m');
    expect(judge([old], { turn })).toMatchObject({ withheld: [{ index: 0, check: 'topic-mismatch' }] });
    const wholes = new Map([['e7', `${'padding '.repeat(2_000)}the harbour was dredged`]]);
    expect(judge([old], { turn, wholes })).toMatchObject({ withheld: [] });
  });

  it('CHK-04 without a successful retrieval no card is held against the request', () => {
    for (const steps of [
      [],
      [{ calls: [{ tool: 'read', result: 'x' }] }],
      [{ calls: [{ tool: 'search', result: 'no network', status: 'error' as const }] }],
    ])
      expect(
        judge([metric('Harbour depth')], { turn: openTurn('a chart of nothing', { steps }) }),
      ).toMatchObject({
        withheld: [],
      });
  });

  it('CHK-04 only the batch that retrieved last counts', () => {
    const steps = [
      { calls: [{ tool: 'search', result: 'the harbour was dredged' }] },
      { calls: [{ tool: 'search', result: 'robots fold laundry' }] },
    ];
    const turn = openTurn('what is new in robotics', { steps });
    expect(judge([metric('Harbour depth')], { turn })).toMatchObject({ idle: true });
  });

  it('CHK-04 a source that stands nowhere is withheld with its address', () => {
    const steps = [
      { calls: [{ tool: 'search', result: 'robots fold laundry, says https://one.example/a' }] },
    ];
    const turn = openTurn('what is new in robotics', { steps });
    const research = call('emit_research_card', {
      title: 'Robots',
      takeaways: ['They fold laundry'],
      sources: [{ title: 'Two', url: 'https://two.example/b' }],
    });
    expect(judge([research], { turn, isGiven: (url) => url.includes('one.example') })).toMatchObject({
      withheld: [{ check: 'uncited-source', reasons: ['https://two.example/b'] }],
    });
    expect(judge([research], { turn })).toMatchObject({ withheld: [] });
  });

  it('a tool the session may not call is left to the job that says so', () => {
    expect(judge([call('nobody_knows')])).toMatchObject({ admitted: 1, inHop: [], withheld: [] });
  });
});

describe('judging a final text', () => {
  const findings = (...given: Parameters<typeof judge>) => {
    const facts = judge(...given);
    return facts.kind === 'answer' ? facts.findings.map(({ check }) => check) : [];
  };

  it('CHK-03 an answer about now needs an observation in this turn, or honesty', () => {
    const turn = openTurn('what is the current load', { reading: LIVE });
    expect(judge([text('The load is 7.')], { turn })).toMatchObject({
      findings: [{ check: 'freshness', tools: ['search'] }],
    });
    expect(findings([text('I do not have access to live data.')], { turn })).toEqual([]);
    const steps = [{ calls: [{ tool: 'read', result: 'load 7' }] }];
    expect(findings([text('The load is 7.')], { turn: openTurn('now?', { reading: LIVE, steps }) })).toEqual(
      [],
    );
    expect(findings([text('The load is 7.')], { turn: openTurn('now?', { reading: READING }) })).toEqual([]);
  });

  it('CHK-05 an earlier answer word for word is drift, unless it was asked the same or in its thread', () => {
    const answer = 'The bridge was opened in the spring of that year.';
    const turn = openTurn('who painted the door');
    const earlier = { number: 4, answer, asked: 'when was the bridge opened', sameThread: false };
    expect(judge([text(answer)], { turn, earlier })).toMatchObject({
      findings: [{ check: 'drift', turn: 4 }],
    });
    expect(findings([text(answer)], { turn, earlier: { ...earlier, sameThread: true } })).toEqual([]);
    expect(
      findings([text(answer)], { turn, earlier: { ...earlier, asked: 'Who painted the door?' } }),
    ).toEqual([]);
    expect(findings([text(`${answer} Twice.`)], { turn, earlier })).toEqual([]);
  });

  it('CHK-06 an answer after a search uses something of it, or has a card', () => {
    const steps = [{ calls: [{ tool: 'search', result: 'revenue 4820 at https://one.example/a' }] }];
    const vague = [text('It went quite well for everybody involved.')];
    expect(findings(vague, { turn: openTurn('how did it go', { steps }) })).toEqual(['grounding']);
    expect(findings([text('Revenue was 4,820.')], { turn: openTurn('how did it go', { steps }) })).toEqual(
      [],
    );
    const carded = openTurn('how did it go', { steps, presentations: [shown('Revenue', 4820)] });
    expect(findings(vague, { turn: carded })).toEqual([]);
    const later = [...steps, { calls: [{ tool: 'read', result: 'x' }] }];
    expect(findings(vague, { turn: openTurn('how did it go', { steps: later }) })).toEqual([]);
  });

  it('CHK-06 a cut fence is malformed, one that repeats a card is noted', () => {
    const cut = '```card\n{"type":"metric","title":"Lo\n```';
    expect(findings([text(`Here: \n${cut}`)])).toEqual(['malformed-fence']);
    const same = '```card\n{"type":"metric","title":"Load","value":7}\n```';
    const turn = openTurn('show it', { presentations: [shown('Load')] });
    expect(findings([text(`Here:\n\n${same}`)], { turn })).toEqual(['repeated-fence']);
  });

  it('CHK-06 a form that was asked for is named with its tool, where the session has it', () => {
    const turn = openTurn('show the loads as a table');
    expect(judge([text('a is 1, b is 2')], { turn, forms: ['table'] })).toMatchObject({
      findings: [{ check: 'presentation', tools: ['emit_table_card'] }],
    });
    const toolOf = (name: string) => (name === 'emit_table_card' ? undefined : TOOLS[name]);
    expect(findings([text('a is 1, b is 2')], { turn, forms: ['table'], toolOf })).toEqual([]);
    const steps = [{ calls: [{ tool: 'search', result: 'down', status: 'error' as const }] }];
    const empty = openTurn('show the loads as a table', { steps });
    expect(findings([text('Nothing could be found.')], { turn: empty, forms: ['table'] })).toEqual([]);
  });

  it('CHK-06 a call that was written as text is named, and nothing of it is run', () => {
    expect(judge([text('search {"query":"robots"}')])).toMatchObject({
      findings: [{ check: 'call-in-prose', tools: ['search'] }],
    });
  });

  it('CHK-07 an unfinished answer says why it is none', () => {
    expect(judge([text('I will now read the file.')])).toMatchObject({
      findings: [{ check: 'stop-gate', reasons: ['plan_unfinished'] }],
    });
    expect(judge([text('Nothing is left.')], { unmetConditions: ['tests pass'] })).toMatchObject({
      findings: [{ check: 'stop-gate', reasons: ['condition_unmet', 'tests pass'] }],
    });
  });

  it('the findings stand in the order in which they count', () => {
    const turn = openTurn('what is the current load as a table', { reading: LIVE });
    const words = 'The load is 7. I will now read the file.';
    const earlier = { number: 2, answer: words, asked: 'another thing', sameThread: false };
    expect(findings([text(words)], { turn, earlier, forms: ['table'] })).toEqual([
      'drift',
      'freshness',
      'presentation',
      'stop-gate',
    ]);
  });
});
