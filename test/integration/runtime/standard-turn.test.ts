import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BACKENDS, openTestStack, type TestStack } from '../../support/stack.ts';

describe.each(BACKENDS)('a standard turn on %s', (backend) => {
  let stack: TestStack;
  beforeAll(async () => {
    stack = await openTestStack({ backend, files: { 'harbour.md': '# Harbour\nThe pilot boat is called Wigeon.\nThe crane lifts forty tonnes.\n' } });
    await stack.worker();
  });
  afterAll(() => stack.close());

  it('x', async () => {
    const session = await stack.session();
    for (const text of ['Which file mentions the pilot boat, and what is the pilot boat called?', 'Read harbour.md and tell me what the crane lifts.', 'What is the pilot boat called?']) {
      const n = stack.applied.length, m = stack.admitted.length;
      const s = await stack.session();
      const end = await stack.ask(s, text);
      console.log(JSON.stringify(end), stack.applied.slice(n).map((a) => a.result + ':' + a.commit.events.map(e=>e.id)), stack.admitted.slice(m).map((r) => r.child));
      console.log((await stack.records(s, end.turn)).map((r) => r.kind + ' ' + (r.body ?? '').slice(0, 150)).join('\n'));
    }
  });
});
