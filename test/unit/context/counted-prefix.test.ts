import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { observePrefix } from '../../../src/context/capacity/feedback.ts';
import { countedPrefix } from '../../../src/context/capacity/tokens.ts';
import { historyBudget, prefixTokens, promptCeiling } from '../../../src/context/plan/budget.ts';
import { PLAN_DEFAULTS } from '../../../src/context/plan/options.ts';
import { sessionPrefix } from '../../../src/runtime/session-prefix.ts';
import { openConversation, SIMPLE_CONFIG } from '../../support/conversation.ts';
import { measure, memoryParts, openProcess } from '../../support/one-process.ts';
import { measured } from './gate-sample.ts';

const HORIZON = 8_000;
const COUNTED = 1_234;

describe('a prefix that the provider counted', () => {
  it('CAP-09 is known by its digest, and no other is taken for it', () => {
    const profile = observePrefix(measured(HORIZON), 'this one', COUNTED);
    expect(countedPrefix(profile, 'this one')).toBe(COUNTED);
    expect(countedPrefix(profile, 'another')).toBeNull();
  });

  it('CAP-09 takes from the budget what was counted, whatever its bytes would come to', () => {
    const profile = measured(HORIZON);
    const sized = { profile, options: PLAN_DEFAULTS, prefixBytes: 0, openTurnBytes: 0, resetBytes: 0 };
    expect(prefixTokens({ ...sized, countedTokens: COUNTED })).toBe(COUNTED);
    const open = Math.ceil(profile.closedTurnTokens.value);
    const planned = Math.floor((1 - PLAN_DEFAULTS.safetyMarginRatio) * promptCeiling(profile));
    expect(historyBudget({ ...sized, countedTokens: COUNTED })).toBe(planned - COUNTED - open);
  });

  it('CAP-09 sizes the plan of a turn from then on', async () => {
    const parts = memoryParts();
    const process = openProcess(parts);
    const config = { ...SIMPLE_CONFIG, tools: [] };
    const { ref } = await openConversation(process.engine, randomUUID(), config);
    const { digest } = sessionPrefix(config, process.surface);
    await measure(parts, process, measured(HORIZON));
    const before = await process.ask(ref, 'What is next?');
    const counted = openProcess(parts);
    await measure(parts, counted, observePrefix(measured(HORIZON), digest, 2_000));
    const after = await counted.ask(ref, 'And then?');
    expect((before.plan?.budgetTokens ?? 0) - (after.plan?.budgetTokens ?? 0)).toBeGreaterThan(1_000);
  });
});
