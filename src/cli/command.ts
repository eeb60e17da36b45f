/** What a command is, and how its words are read. */
import { type ParseArgsConfig, parseArgs } from 'node:util';
import type { CliContext } from './context.ts';
import { type ExitCode, UsageError } from './exit.ts';
import type { Output } from './output.ts';

type OptionKind = NonNullable<ParseArgsConfig['options']>[string];

export interface OptionSpec {
  readonly type: OptionKind['type'];
  readonly short?: string;
  /** What stands for the value in the help, such as `PORT`. */
  readonly value?: string;
  readonly help: string;
}

export interface Invocation {
  readonly context: CliContext;
  readonly output: Output;
  readonly positionals: readonly string[];
  /** Of an option of type string. */
  text(name: string): string | undefined;
  flag(name: string): boolean;
}

export interface Command {
  /** As typed after `turnwright`. */
  readonly name: string;
  readonly summary: string;
  /** Positional arguments as the help shows them, such as `SESSION [TEXT]`. */
  readonly arguments?: string;
  /** Least and most positional arguments; none unless given. */
  readonly count?: readonly [number, number];
  readonly options?: Readonly<Record<string, OptionSpec>>;
  run(invocation: Invocation): Promise<ExitCode>;
}

/** Every command has these. */
const COMMON: Readonly<Record<string, OptionSpec>> = {
  json: { type: 'boolean', help: 'print one JSON object on standard output, and nothing else there' },
  help: { type: 'boolean', short: 'h', help: 'show this text' },
};

export interface Words {
  readonly positionals: readonly string[];
  readonly values: Readonly<Record<string, unknown>>;
}

/** @throws UsageError saying which word is wrong. */
export function readWords(command: Command, words: readonly string[]): Words {
  const options = Object.fromEntries(
    Object.entries(optionsOf(command)).map(([name, { type, short }]) => [
      name,
      { type, ...(short === undefined ? {} : { short }) },
    ]),
  );
  let parsed: ReturnType<typeof parseArgs>;
  try {
    parsed = parseArgs({ args: [...words], options, allowPositionals: true, strict: true });
  } catch (error) {
    // Node's sentence names the word; its advice on `--` would mislead here.
    const [sentence = ''] = (error instanceof Error ? error.message : String(error)).split('. ');
    throw new UsageError(`${sentence.replace(/\.$/, '')}. See \`turnwright ${command.name} --help\`.`);
  }
  return { positionals: parsed.positionals, values: parsed.values };
}

/** @throws UsageError when there are too few positional arguments, or too many. */
export function checkCount(command: Command, positionals: readonly string[]): void {
  const [least, most] = command.count ?? [0, 0];
  if (positionals.length >= least && positionals.length <= most) return;
  const wanted = command.arguments === undefined ? 'no arguments' : command.arguments;
  const found = positionals.length === 0 ? 'nothing' : positionals.map((word) => `"${word}"`).join(' ');
  throw new UsageError(
    `\`turnwright ${command.name}\` takes ${wanted}, and found ${found}. See \`turnwright ${command.name} --help\`.`,
  );
}

export function helpOf(command: Command): string {
  const words = ['turnwright', command.name, command.arguments, '[options]'];
  const rows = Object.entries(optionsOf(command)).map(([name, option]) => {
    const short = option.short === undefined ? '' : `-${option.short}, `;
    const value = option.type === 'string' ? ` ${option.value ?? 'TEXT'}` : '';
    return [`${short}--${name}${value}`, option.help] as const;
  });
  const width = Math.max(...rows.map(([left]) => left.length));
  return [
    `${command.summary}.`,
    '',
    `Usage: ${words.filter((word) => word !== undefined).join(' ')}`,
    '',
    ...rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`),
  ].join('\n');
}

function optionsOf(command: Command): Readonly<Record<string, OptionSpec>> {
  return { ...command.options, ...COMMON };
}
