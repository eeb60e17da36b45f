import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LineScanner, type LineVerdict, MAX_EVENT_BYTES, PASS } from '../../../src/providers/line-scanner.ts';

function scan(chunks: readonly Buffer[]): string[] {
  const lines: string[] = [];
  const see = (line: Buffer): LineVerdict => {
    lines.push(line.toString('utf8'));
    return PASS;
  };
  const scanner = new LineScanner({ framing: 'ndjson', see });
  for (const chunk of chunks) scanner.push(chunk);
  scanner.end();
  return lines;
}

describe('LineScanner', () => {
  it('sees the same lines however the bytes are divided', () => {
    const source = fc.array(fc.constantFrom('a', 'é🌍', '\n', '\r\n', '{"x":1}'), { maxLength: 30 });
    fc.assert(
      fc.property(source, fc.array(fc.nat(200), { maxLength: 10 }), (parts, cuts) => {
        const bytes = Buffer.from(parts.join(''), 'utf8');
        const edges = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
        const chunks = edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge));
        expect(scan(chunks)).toEqual(scan([bytes]));
      }),
    );
  });

  it('strips the carriage return and reports a last line without a newline', () => {
    expect(scan([Buffer.from('one\r\n\r\ntwo')])).toEqual(['one', '', 'two']);
  });

  it.each([
    ['ndjson', '\n', 'pass'],
    ['sse', '\n\n', 'pass'],
    ['sse', '\n', 'fault'],
    ['document', '\n\n', 'fault'],
  ] as const)('bounds one event under %s framing: separator %j gives %s', (framing, separator, expected) => {
    const scanner = new LineScanner({ framing });
    const half = Buffer.concat([Buffer.alloc(MAX_EVENT_BYTES / 2 + 1, 'x'), Buffer.from(separator)]);
    expect(scanner.push(half).type).toBe('pass');
    expect(scanner.push(half).type).toBe(expected);
  });

  it('stops at the first verdict that is not pass', () => {
    const seen: string[] = [];
    const see = (line: Buffer): LineVerdict => {
      seen.push(line.toString());
      return line.toString() === 'end' ? { type: 'end' } : PASS;
    };
    expect(new LineScanner({ framing: 'ndjson', see }).push(Buffer.from('a\nend\nb\n'))).toEqual({
      type: 'end',
    });
    expect(seen).toEqual(['a', 'end']);
  });
});
