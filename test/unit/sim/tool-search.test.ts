/** What a search for deferred tools costs in the simulator's prompt. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatMessage, ToolDefinition } from '../../../src/context/request.ts';
import type { NativeBlock } from '../../../src/ledger/blocks.ts';
import { byteLength } from '../../../src/ledger/json.ts';
import { type SimPrompt, segmentsOf, stableSegments } from '../../../src/sim/prompt.ts';

const tool = (name: string): ToolDefinition => ({
  name,
  description: `About ${name}.`,
  inputSchema: { type: 'object' },
});
const definitionBytes = ({ name, description, inputSchema }: ToolDefinition): number =>
  byteLength(name + description + JSON.stringify(inputSchema));

function found(...names: string[]): NativeBlock {
  const tool_references = names.map((tool_name) => ({ type: 'tool_reference', tool_name }));
  const content = { type: 'tool_search_tool_search_result', tool_references };
  return { type: 'native', by: 'anthropic', data: { tool_use_id: 'srv_1', content } };
}

function prompt(deferred: readonly ToolDefinition[], ...blocks: NativeBlock[]): SimPrompt {
  const messages: ChatMessage[] = [
    { role: 'user', content: [{ type: 'text', text: 'Go.' }] },
    { role: 'assistant', content: blocks },
  ];
  return { tools: [tool('loaded')], search: { name: 'search', deferred }, system: ['Be brief.'], messages };
}

const bytesOf = (made: SimPrompt): number => segmentsOf(made).at(-1)?.endBytes ?? 0;

describe('the prompt of a request that defers tools', () => {
  it('SUR-03 costs the same however many it defers, and changes no prefix by them', () => {
    const names = fc.uniqueArray(fc.stringMatching(/^[a-z_]{1,20}$/u), { maxLength: 20 });
    fc.assert(
      fc.property(names, (deferred) => {
        expect(segmentsOf(prompt(deferred.map(tool)))).toEqual(segmentsOf(prompt([])));
      }),
    );
  });

  it('SUR-03 grows by the definitions that a search found, where it found them, and by no other', () => {
    const deferred = [tool('berth_depth'), tool('crane_count')];
    const none = prompt(deferred, found());
    const one = prompt(deferred, found('crane_count'));
    expect(bytesOf(one) - bytesOf(none)).toBe(definitionBytes(tool('crane_count')));
    expect(bytesOf(prompt(deferred, found('loaded')))).toBe(bytesOf(none));
    const [before, after] = [segmentsOf(none), segmentsOf(one)];
    expect(after.slice(0, -1)).toEqual(before.slice(0, -1));
    expect(after.at(-1)?.key).not.toBe(before.at(-1)?.key);
  });

  it('SUR-03 tells two searches apart that put the same before the model', () => {
    const [one, other] = ['srv_1', 'srv_2'].map((tool_use_id) => {
      const block = found();
      return segmentsOf(prompt([], { ...block, data: { ...block.data, tool_use_id } })).at(-1)?.key;
    });
    expect(one).not.toBe(other);
  });

  it('SUR-03 counts the search tool among what stands before the messages', () => {
    const made = prompt([tool('berth_depth')]);
    expect(stableSegments(made)).toBe(segmentsOf({ ...made, messages: [] }).length);
    const { search: _search, ...plain } = made;
    expect(stableSegments(plain)).toBe(segmentsOf({ ...plain, messages: [] }).length);
    expect(stableSegments(made)).toBe(stableSegments(plain) + 1);
  });
});
