import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Digest, digestResult } from '../../../src/context/evidence/digest.ts';
import { byteLength } from '../../../src/ledger/json.ts';
import { Tally } from '../ledger/sample.ts';

const MEGABYTE = 1_024 * 1_024;
const TAG = /\n\[evidence:e7 — (\d+) characters; recall\(\{"id":"e7"\}\) returns it\]$/;
const SHORT_TAG = '[evidence:e7]';
/** Bodies long enough for any digest of what stands around them to be shorter. */
const BODY = 'Lorem ipsum dolor sit amet. '.repeat(40);

function digest(content: string, isError = false): Digest {
  return digestResult({ evidence: 'e7', content, isError });
}

/** The lines of a digest that is not the content itself, without its tag. */
function linesOf(content: string): readonly string[] {
  const { text } = digest(content);
  expect(TAG.exec(text)?.[1]).toBe(String([...content].length));
  expect(byteLength(text)).toBeLessThan(byteLength(content));
  return text.replace(TAG, '').split('\n');
}

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `line ${index + 1}`);

describe('the digest of an error and of a small result', () => {
  it('EVI-02 shows an error verbatim, whatever its length and shape, with its id on a line of its own', () => {
    for (const content of [
      'no such file',
      `exit code: 1\n${'x\n'.repeat(90)}`,
      JSON.stringify({ error: BODY }),
    ])
      expect(digest(content, true)).toEqual({
        text: `${content}${content.endsWith('\n') ? '' : '\n'}${SHORT_TAG}`,
        shape: 'error',
      });
  });

  it('EVI-02 shows a result verbatim that its digest would not make smaller', () => {
    for (const content of ['two words', '{"ok":true}', '[]', '7', 'exit 0\n', '# Title\n\nA text.\n'])
      expect(digest(content).text).toBe(`${content}${content.endsWith('\n') ? '' : '\n'}${SHORT_TAG}`);
    expect(digest('').text).toBe(SHORT_TAG);
  });

  it('EVI-02 counts the characters of the tag by code point', () => {
    expect(linesOf(`${'😀 word. '.repeat(200)}`)).not.toEqual([]);
  });
});

describe('the digest of a command', () => {
  const output = (exit: string, lines: number) => [exit, ...numbered(lines)].join('\n');

  it('EVI-02 shows the exit line, ten lines of either end and how many it left out', () => {
    expect(linesOf(output('exit code: 1', 240))).toEqual([
      'exit code: 1',
      ...numbered(10),
      '… 220 lines left out …',
      ...numbered(240).slice(-10),
    ]);
    expect(digest(output('exit code: 1', 240)).shape).toBe('exit 1, 240 lines');
    expect(digest(`${output('exit code: 1', 240)}\n`).shape).toBe('exit 1, 240 lines');
  });

  it('EVI-02 shows all lines of up to 20', () => {
    const long = 'a line of twenty-odd characters '.repeat(30);
    expect(digest(`exit 0\n${`${long}\n`.repeat(20)}`).text).toBe(
      `exit 0\n${`${long}\n`.repeat(20)}${SHORT_TAG}`,
    );
    expect(linesOf(`exit 0\n${`${long}\n`.repeat(21)}`)).toContain('… 1 line left out …');
    expect(digest('exit 0').shape).toBe('exit 0, no output');
    expect(digest('exit 0\nok').shape).toBe('exit 0, 1 line');
  });

  it('EVI-02 knows the ways to state how a command ended, and sentences that only begin like one', () => {
    const stated = [
      'exit code: 1',
      'Exit code 1',
      'exit 1',
      '[exit code 1]',
      'exited with status 1',
      'exit_code=1',
      'exit status: 1 (killed)',
      'return code 1, 3.1 s',
      'Process exited with code 1',
      'exit 1\r',
    ];
    for (const line of stated) expect(digest(output(line, 50)).shape).toBe('exit 1, 50 lines');
    for (const line of [
      'exit 21 leads to the harbour',
      'exit',
      'exits 1',
      'return 1',
      `exit 1 (${'x'.repeat(200)})`,
    ])
      expect(digest(output(line, 50)).shape).toBe('text, 51 lines');
  });

  it('EVI-02 names a line too long to show by its size instead of cutting it', () => {
    const lines = linesOf(`exit 0\n${'x'.repeat(3_000)}\nshort ${'y'.repeat(1_900)}`);
    expect(lines).toEqual(['exit 0', '(a line of 3000 characters)', `short ${'y'.repeat(1_900)}`]);
  });
});

describe('the digest of a list of links', () => {
  const items = [
    { title: 'Tides', url: 'https://a.example/1', content: BODY },
    { url: 'https://a.example/2', snippet: BODY, score: 0.5 },
    { title: 'Only a title', content: BODY },
    { name: 'Named', link: 'https://a.example/3', content: BODY },
  ];
  const shown = [
    '- Tides — https://a.example/1',
    '- https://a.example/2',
    '- Only a title',
    '- Named — https://a.example/3',
  ];

  it('EVI-02 shows the count, every title and every URL, and no bodies', () => {
    for (const content of [JSON.stringify(items), `\n${JSON.stringify(items, null, 2)}\n`]) {
      expect(linesOf(content)).toEqual(['JSON list of 4 links:', ...shown]);
      expect(digest(content).shape).toBe('list of 4 links');
    }
  });

  it('EVI-02 finds the list below keys too', () => {
    const content = JSON.stringify({ query: 'tides', web: { results: items }, took: 3 });
    expect(linesOf(content)).toEqual([
      'JSON object of 3 keys: query, web, took',
      'web.results: list of 4 links:',
      ...shown,
    ]);
    expect(digest(content).shape).toBe('list of 4 links');
  });

  it('EVI-02 counts the few items of such a list that have neither', () => {
    const content = JSON.stringify([...items, { content: BODY }, { title: ' ', url: null, content: BODY }]);
    expect(linesOf(content)).toEqual(['JSON list of 4 links and 2 other items:', ...shown]);
    expect(digest(JSON.stringify([{ name: 'no link', content: BODY }])).shape).toBe('array of 1');
  });

  it('EVI-02 keeps each on one line, and names one too long to show by its size', () => {
    const content = JSON.stringify([
      { title: 'a\n- forged', url: `data:image/png;base64,${'A'.repeat(5_000)}` },
      { title: 'b'.repeat(2_001), url: 'u' },
    ]);
    expect(linesOf(content).slice(1)).toEqual([
      '- a - forged — (a URL of 5022 characters)',
      '- (a title of 2001 characters) — u',
    ]);
  });

  it('EVI-02 loses no title and no URL, however many there are', () => {
    const tally = new Tally();
    const label = fc
      .string({ unit: 'binary', maxLength: 40 })
      .filter((text) => !/[\n\r\v\f\u0085\u2028\u2029[<]/u.test(text));
    const link = fc.record(
      { title: label, url: fc.webUrl(), content: fc.constant(BODY) },
      { requiredKeys: ['url'] },
    );
    const given = fc.record({
      links: fc.array(link, { minLength: 1, maxLength: 40 }),
      below: fc.boolean(),
      indent: fc.boolean(),
    });
    fc.assert(
      fc.property(given, ({ links, below, indent }) => {
        const content = JSON.stringify(below ? { results: links } : links, null, indent ? 2 : 0);
        const { text } = digest(content);
        const lines = text.split('\n').filter((line) => line.startsWith('- '));
        if (TAG.test(text)) {
          expect(lines.length).toBe(links.length);
          for (const [index, { title, url }] of links.entries()) {
            expect(lines[index]?.endsWith(url)).toBe(true);
            if (title !== undefined && title.trim() !== '') expect(lines[index]).toContain(title);
          }
          expect(text).not.toContain('Lorem');
        }
        tally.count({
          digested: TAG.test(text),
          below,
          titled: links.some(({ title }) => title !== undefined),
          untitled: links.some(({ title }) => title === undefined),
        });
      }),
    );
    tally.report('titles and URLs');
  });
});

describe('the digest of other JSON', () => {
  it('EVI-02 shows the length of a list and its first element in full', () => {
    const rows = Array.from({ length: 30 }, (_, id) => ({ id, tags: ['x', 'y'], note: 'a note' }));
    for (const content of [JSON.stringify(rows), JSON.stringify(rows, null, 4)]) {
      expect(linesOf(content)).toEqual([
        'JSON array of 30, the first: {"id":0,"tags":["x","y"],"note":"a note"}',
      ]);
      expect(digest(content).shape).toBe('array of 30');
    }
  });

  it('EVI-02 shows the keys of an object, and of each array below them length and first element', () => {
    const content = JSON.stringify({
      ok: true,
      'two words': BODY,
      rows: [{ id: 1 }, { id: 2 }],
      none: [],
      inner: { errors: ['first', 'second'], deeper: { sizes: [1, 2, 3] } },
    });
    expect(linesOf(content)).toEqual([
      'JSON object of 5 keys: ok, "two words", rows, none, inner',
      'rows: array of 2, the first: {"id":1}',
      'none: array of 0',
      'inner.errors: array of 2, the first: "first"',
      'inner.deeper.sizes: array of 3, the first: 1',
    ]);
    expect(digest(content).shape).toBe('object of 5 keys');
  });

  it('EVI-02 describes an element of more than 2,000 characters by its keys and sizes', () => {
    const element = {
      id: 12,
      name: 'x'.repeat(30),
      blob: 'A'.repeat(9_000),
      rows: [1, 2],
      meta: { a: 1 },
      done: false,
    };
    expect(linesOf(JSON.stringify([element, element]))).toEqual([
      `JSON array of 2, the first: object of 6 keys in ${JSON.stringify(element).length} characters; ` +
        'id: 12, name: text of 30 characters, blob: text of 9000 characters, rows: array of 2, meta: object of 1 key, done: false',
    ]);
    expect(linesOf(JSON.stringify(['A'.repeat(9_000)]))).toEqual([
      'JSON array of 1, the first: text of 9000 characters',
    ]);
    expect(linesOf(JSON.stringify([numbered(900)]))[0]).toMatch(/the first: array of 900 in \d+ characters$/);
    const wide = Object.fromEntries(numbered(5_000).map((key) => [key, 1]));
    expect(linesOf(JSON.stringify([wide]))[0]).toMatch(/the first: object of 5000 keys in \d+ characters$/);
    expect(linesOf(JSON.stringify({ ['k'.repeat(900)]: 1 }))[0]).toContain('(a key of 900 characters)');
  });

  it('EVI-02 writes numbers and escapes of the first element as they stood', () => {
    const first = '{"id":12345678901234567890,"big":1e999,"text":"\\u0041\\" [ {"}';
    const content = `[ ${first.replaceAll(',', ' , ')} , ${`${first}, `.repeat(20)} 1 ]`;
    expect(linesOf(content)).toEqual([`JSON array of 22, the first: ${first}`]);
  });

  it('EVI-02 shows a scalar as its value, and a long text in quotes by the rule of texts', () => {
    expect(digest(`${' '.repeat(300)}"a value"`).text).toMatch(/^"a value"\n\[evidence:e7 — 309/);
    expect(digest('12.5').shape).toBe('number');
    expect(digest('true').shape).toBe('boolean');
    expect(digest('null').shape).toBe('null');
    expect(digest('"x"').shape).toBe('text');
    expect(linesOf('1'.repeat(5_000))).toEqual(['number of 5000 digits']);
    const quoted = JSON.stringify(`# Title\n\nA paragraph.\n\n${BODY}\n${BODY}`);
    expect(linesOf(quoted).slice(1)).toEqual(['Headings:', '# Title', 'First paragraph:', 'A paragraph.']);
    expect(linesOf(JSON.stringify('QUJD'.repeat(2_000)))[0]).toMatch(/^What looks like encoded bytes: /);
  });

  it('EVI-02 takes any depth of nesting, and text that only begins like JSON for text', () => {
    const depth = 200_000;
    expect(linesOf('['.repeat(depth) + ']'.repeat(depth))[0]).toMatch(
      /^JSON array of 1, the first: array of 1 in/,
    );
    const nested = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
    expect(linesOf(nested)).toEqual(['JSON object of 1 key: a']);
    expect(digest(`[1, 2\n${BODY}`).shape).toBe('text, 2 lines');
  });

  it('EVI-02 reads JSON of more than 4 MB as text', () => {
    const content = JSON.stringify(numbered(400_000));
    expect(byteLength(content)).toBeGreaterThan(4 * MEGABYTE);
    expect(digest(content).shape).toBe('text, 1 line');
    expect(byteLength(digest(content).text)).toBeLessThan(300);
  });
});

describe('the digest of a text', () => {
  it('EVI-02 shows headings, the first paragraph and the counts of lines and bytes', () => {
    const content = [
      '---',
      'layout: page',
      '',
      'author: someone',
      '---',
      '# Title',
      '',
      '![badge](x.svg)',
      '',
      'The first paragraph',
      'goes over two lines.',
      '',
      '```sh',
      '# no heading',
      '```',
      '',
      '## Part',
      BODY,
      '',
      'Other style',
      '-----------',
      BODY,
      '',
    ].join('\n');
    expect(linesOf(content)).toEqual([
      `Text of 22 lines, ${byteLength(content)} bytes.`,
      'Headings:',
      '# Title',
      '## Part',
      'Other style',
      'First paragraph:',
      'The first paragraph',
      'goes over two lines.',
    ]);
    expect(digest(content).shape).toBe('text, 22 lines');
  });

  it('EVI-02 shows a paragraph of 60 words whole and of a longer one its first sentence', () => {
    const words = (count: number) => Array.from({ length: count }, (_, index) => `word${index}`).join(' ');
    const rest = `\n\n${BODY.repeat(3)}`;
    expect(linesOf(words(60) + rest).slice(1)).toEqual(['First paragraph:', words(60)]);
    expect(linesOf(`${words(30)}. W${words(31)}${rest}`).slice(1)).toEqual([
      'First sentence:',
      `${words(30)}.`,
    ]);
    expect(linesOf(`${words(60)}! ${words(1)}${rest}`).slice(1)).toEqual([
      'First sentence:',
      `${words(60)}!`,
    ]);
    for (const content of [words(61), words(61).replace(' ', '. '), `${words(61)}.`])
      expect(digest(content + rest).text).not.toContain('word0');
    expect(linesOf(`1. See e.g. this and "that." ${BODY.repeat(3)}`)[2]).toBe('1. See e.g. this and "that."');
  });

  it('EVI-02 quotes scripts that write no spaces', () => {
    expect(linesOf(`潮が満ちる。${'次の文も長い。'.repeat(200)}`).slice(1)).toEqual([
      'First sentence:',
      '潮が満ちる。',
    ]);
  });

  it('EVI-02 opens with prose where there is any, else with what there is', () => {
    const table = '| a | b |\n|---|---|\n| 1 | 2 |';
    expect(linesOf(`${table}\n\n- item\n\nProse.\n\n${BODY.repeat(3)}`).slice(2)).toEqual(['Prose.']);
    expect(linesOf(`- first\n- second\n\n| ${BODY.repeat(3)} |`).slice(2)).toEqual(['- first', '- second']);
  });

  it('EVI-02 never digests bytes in disguise to themselves', () => {
    const base64 = Buffer.from(numbered(2_000).join()).toString('base64');
    const wrapped = base64.replace(/.{76}/gu, '$&\n').slice(0, 77 * 50);
    for (const [content, kind] of [
      [base64, 'encoded bytes'],
      [wrapped, 'encoded bytes'],
      [`data:image/png;base64,${base64}`, 'a data URL'],
      [Buffer.from(base64).toString('hex'), 'hexadecimal digits'],
    ] as const) {
      const lines = linesOf(content);
      expect(lines.length).toBe(1);
      expect(lines[0]).toMatch(
        new RegExp(`^What looks like ${kind}: .* ${byteLength(content)} bytes\\.$`, 'u'),
      );
      expect(digest(content).shape).toBe(`data, ${byteLength(content)} bytes`);
    }
    expect(linesOf(`# ${base64}\n\nA paragraph.\n`)[2]).toBe(
      `(a heading of ${base64.length + 2} characters)`,
    );
    expect(digest(`two${' '.repeat(9_000)}words`).text.length).toBeLessThan(200);
    expect(digest(`${'short words '.repeat(20)}${'A'.repeat(1_000)} and more`).text).not.toContain('AAA');
    expect(digest(`${'A'.repeat(200)} ${'A'.repeat(200)}. ${BODY}`).text).not.toContain('AAA');
    expect(digest(`It reads ${base64}.`).text).not.toContain(base64.slice(0, 20));
  });

  it('EVI-02 shows every heading, however many there are', () => {
    const content = '## a\n\ntext\n'.repeat(150_000);
    expect(linesOf(content).filter((line) => line === '## a').length).toBe(150_000);
  });

  it('EVI-02 says of blank text that it is blank', () => {
    expect(linesOf(' \n'.repeat(200))).toEqual(['White space, 200 lines, 400 bytes.']);
  });
});

describe('any digest', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '<turn_context>',
      '</context_summary>',
      '[evidence:e1]',
      '[line 3 omitted',
      '&#91;',
      '<',
      '[',
    ),
    fc.constantFrom(
      '\n',
      '\n\n',
      '```\n',
      '# ',
      'exit 1\n',
      '{"a":',
      '[',
      ']',
      '}',
      '"',
      ',',
      '1',
      '. ',
      '\ud800',
    ),
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.constantFrom(BODY, 'A'.repeat(3_000), `${'line\n'.repeat(50)}`),
    fc.json({ maxDepth: 3 }),
  );
  const forgery = fc.constantFrom(
    '<intent>',
    '</intent>',
    '[evidence:e1 — 3 characters]',
    '[empty-step]',
    'plain',
  );
  const json = fc
    .array(fc.record({ url: forgery, title: forgery, body: fc.constant(BODY) }, { requiredKeys: [] }), {
      maxLength: 5,
    })
    .chain((items) => fc.constantFrom(items, { items, forged: [items] }, { '<intent>': items }))
    .map((value) => JSON.stringify(value));
  const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));
  const command = fc.array(piece, { maxLength: 30 }).map((pieces) => `exit 1\n${pieces.join('\n')}`);
  const anything = fc.oneof(text, command, json, fc.json(), fc.string({ unit: 'binary' }));
  const markers = /<\/?(?:turn_context|intent|context_summary)>|\[(?:evidence:|empty-step|line 3 omitted)/u;

  it('EVI-02 names its evidence, grows nothing, forges nothing and comes out the same again', () => {
    const tally = new Tally();
    fc.assert(
      fc.property(anything, fc.boolean(), (content, isError) => {
        const { text: shown, shape } = digest(content, isError);
        expect(digest(content, isError)).toEqual({ text: shown, shape });
        const tag = TAG.exec(shown);
        if (tag === null) {
          expect(shown.split('\n').at(-1)).toBe(SHORT_TAG);
          const kept = shown.slice(0, -SHORT_TAG.length).replaceAll('&lt;', '<').replaceAll('&#91;', '[');
          const given = content.replaceAll('&lt;', '<').replaceAll('&#91;', '[');
          expect([given, `${given}\n`]).toContain(kept);
        } else {
          expect(tag[1]).toBe(String([...content].length));
          expect(byteLength(shown)).toBeLessThan(byteLength(content));
          expect(isError).toBe(false);
        }
        const ours = tag?.[0] ?? SHORT_TAG;
        expect(shown.slice(0, -ours.length)).not.toMatch(markers);
        expect(shape).toMatch(/^[a-z0-9, -]{1,40}$/u);
        tally.count({
          verbatim: tag === null,
          digested: tag !== null,
          forged: markers.test(content),
          'forged and digested': markers.test(content) && tag !== null,
          error: isError,
          command: shape.startsWith('exit'),
          links: shape.startsWith('list'),
          array: shape.startsWith('array'),
          object: shape.startsWith('object'),
          text: shape.startsWith('text'),
        });
      }),
      { numRuns: 2_000 },
    );
    tally.report('digests of anything');
  });

  it('EVI-02 takes 50 MB in one line without hanging', () => {
    const size = 50 * MEGABYTE;
    for (const content of [
      'x'.repeat(size),
      'word '.repeat(size / 5),
      '['.repeat(size),
      '\\"'.repeat(size / 2),
    ])
      expect(byteLength(digest(content).text)).toBeLessThan(400);
  }, 60_000);
});
