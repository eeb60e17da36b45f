import { describe, expect, it } from 'vitest';
import { Output, oneLine, shown } from '../../../src/cli/output.ts';
import { styleFor } from '../../../src/cli/style.ts';
import { table } from '../../../src/cli/table.ts';
import { paper } from './terminal.ts';

describe('output', () => {
  it('keeps standard output for one object under --json', () => {
    const [stdout, stderr] = [paper(), paper()];
    const output = new Output({ stdout, stderr }, true);
    output.say('for people');
    output.stream('a piece');
    output.progress('on the way');
    output.result({ a: 1 }, () => 'for people');
    expect(stdout.text()).toBe('{"a":1}\n');
    expect(stderr.text()).toBe('on the way\n');
    expect(() => output.result({ b: 2 }, () => '')).toThrow('one result');
  });

  it('writes for people without it, and no empty line for an empty result', () => {
    const [stdout, stderr] = [paper(), paper()];
    const output = new Output({ stdout, stderr }, false);
    output.result({ a: 1 }, () => '');
    output.result({ a: 1 }, () => 'for people');
    expect(stdout.text()).toBe('for people\n');
    expect(stderr.text()).toBe('');
  });

  it('takes orders to the terminal out of foreign text', () => {
    expect(shown('a\u001b[2Jb\u009bc\u0007d\te\nf')).toBe('a[2Jbcd\te\nf');
    expect(oneLine(' a\n\u001b]0;x b ', 100)).toBe('a ]0;x b');
  });

  it('shortens by characters, never through one', () => {
    expect(oneLine('😀😀😀😀', 3)).toBe('😀😀…');
    expect(oneLine('😀😀😀', 3)).toBe('😀😀😀');
  });

  it('paints for terminals only, and not against NO_COLOR', () => {
    const terminal = { write: () => undefined, isTTY: true };
    expect(styleFor(terminal, {}).bold('x')).toBe('\u001b[1mx\u001b[0m');
    expect(styleFor(terminal, { NO_COLOR: '1' }).bold('x')).toBe('x');
    expect(styleFor(paper(), {}).bold('x')).toBe('x');
  });
});

describe('a table', () => {
  it('lines columns up, figures to the right, without blanks at the ends', () => {
    const columns = [{ title: 'Name' }, { title: 'Jobs', align: 'right' }, { title: 'Note' }] as const;
    expect(
      table(columns, [
        ['a', '1', ''],
        ['long name', '1,000', 'é'],
      ]),
    ).toBe(['Name        Jobs  Note', 'a              1', 'long name  1,000  é'].join('\n'));
  });
});
