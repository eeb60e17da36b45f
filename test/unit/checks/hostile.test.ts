import { describe, it } from 'vitest';
import { askAll } from './ask-all.ts';

/** Work that grows with the square of it does not end within a test's limit. */
const LONG_CHARS = 300_000;
const VERY_LONG_CHARS = 2_000_000;
const HANGS_AFTER_MS = 60_000;

const PIECES = [
  ...[
    'a',
    ' ',
    '\n',
    '{',
    '}',
    '(',
    '"',
    "'",
    '`',
    '\\',
    '.',
    '*',
    '1',
    '漢',
    '𝒶',
    '1,',
    '111 ',
    'a.',
    '```\n',
    '{"a":',
  ],
  ...[
    'https://',
    'https://a.b/c ',
    '{"a":1}\n',
    'grep {',
    '{"name":"grep",',
    "I couldn't ",
    'I have ',
    'let me now ',
  ],
  ...[
    '> "',
    '```card\n{"type":"metric"}\n```\n',
    '```json\n{"title":"a","value":1}\n```\n',
    '3.14159 ',
    '1 million ',
  ],
];

describe('long hostile texts', () => {
  it.each(PIECES)('CHK-03 CHK-04 CHK-05 CHK-06 CHK-07 %j over and over is judged', (piece) => {
    askAll(`${piece.repeat(LONG_CHARS / piece.length)}x`, { title: 'unrelated matter' });
  });

  it.each(['{', ' ', '*', 'a.'])(
    'CHK-03 CHK-04 CHK-05 CHK-06 CHK-07 two million characters of %j are judged',
    (piece) => {
      const text = `${piece.repeat(VERY_LONG_CHARS / piece.length)}x`;
      askAll(text, { title: 'unrelated matter', body: text });
    },
    HANGS_AFTER_MS,
  );
});
