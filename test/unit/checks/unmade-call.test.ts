import { describe, expect, it } from 'vitest';
import { callInProse } from '../../../src/checks/unmade-call.ts';

const tools = ['web_search', 'read', 'grep'];

function called(text: string, directive = 'What does copper cost?'): string | null {
  return callInProse({ text, directive, tools });
}

describe('calls written as text', () => {
  it.each([
    ['a call on its own line', 'web_search({"query":"copper"})', 'web_search'],
    ['a call behind an announcement', 'I\'ll search now: web_search({"query":"copper"})', 'web_search'],
    ['a name and its arguments', 'read {"path":"a.ts"}', 'read'],
    ['a call in inline code', '`grep {"pattern":"x"}`', 'grep'],
    ['a name above a block of arguments', 'web_search\n```json\n{"query":"x"}\n```', 'web_search'],
    ['a call and what it might have brought', 'web_search({"query":"x"})\n\nIt costs 4.10.', 'web_search'],
    ['an object', '{"name":"web_search","arguments":{"query":"x"}}', 'web_search'],
    ['a fenced object', 'Searching.\n```json\n{"tool":"grep","args":{"pattern":"x"}}\n```', 'grep'],
    ['arguments as JSON text', '{"name":"grep","arguments":"{\\"pattern\\":\\"x\\"}"}', 'grep'],
    ['arguments before the name', '{"arguments":{"pattern":"x"},"name":"grep"}', 'grep'],
    ['an object within an object', '{"type":"function","function":{"name":"grep","arguments":{}}}', 'grep'],
    ['a list of calls', '{"tool_calls":[{"name":"grep","arguments":{"a":1}}]}', 'grep'],
    ['tags around it', '<tool_call>{"name":"grep","arguments":{"a":"}"}}</tool_call>', 'grep'],
    ['a block of tool code', '```tool_code\nread({"path":"a.ts"})\n```', 'read'],
  ])('CHK-06 %s is a call', (_, text, name) => {
    expect(called(text)).toBe(name);
  });

  it.each([
    ['prose that mentions a tool', 'I used web_search and found that copper costs 4.10.'],
    ['a sample that only names it', '```\nweb_search\n```'],
    ['a call that was made and is told of', 'I called `web_search({"query":"copper"})`.'],
    ['a call told of in the line above', 'I ran this:\ngrep({"pattern":"x"})\nand found three.'],
    ['a call within a sentence', 'With web_search({"query":"x"}) one finds it soon, as ever.'],
    ['a question', 'Should I call web_search({"query":"x"})?'],
    ['a description', 'web_search takes {"query": "…"} as its input.'],
    ['a result that is quoted', 'The output of web_search:\n```json\n{"status":"ok"}\n```'],
    ['a word of the language before data', 'The status I read: {"status":"ok"}'],
    ['an object of data', '{"name":"Ada","input":{"born":1815}}'],
    ['an object without arguments', '{"name":"grep","version":{"major":3}}'],
    ['an argument list', '{"name":"grep","args":["-n"]}'],
    ['arguments that are no JSON', 'web_search({query: copper})'],
    ['a tool that is not known', 'launch({"query":"x"})'],
  ])('CHK-06 %s is none', (_, text) => {
    expect(called(text)).toBeNull();
  });

  it('CHK-06 F47 a block of code in an answer is a sample, whatever it calls', () => {
    expect(called('Run this:\n```python\nweb_search({"query":"x"})\n```')).toBeNull();
    expect(called('```bash\ncurl -d \'{"name":"grep","arguments":{"a":1}}\' x\n```')).toBeNull();
  });

  it('CHK-06 a directive about the tool asks for its documentation', () => {
    const text = 'web_search({"query":"x"})';
    for (const directive of [
      'What does web_search do?',
      'Describe the web search tool.',
      'How do I call the search?',
      'Give me an example of it.',
    ])
      expect(called(text, directive)).toBeNull();
    expect(called(text, 'Search the web for copper.')).toBe('web_search');
  });

  it('CHK-06 a tool named by a common word is asked about in quotes or as a tool', () => {
    const text = 'read({"path":"a.ts"})';
    expect(called(text, 'Please read a.ts')).toBe('read');
    expect(called(text, 'What does the read tool take?')).toBeNull();
    expect(called(text, 'What does `read` take?')).toBeNull();
  });
});
