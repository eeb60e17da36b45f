/** One command line, from its words to its exit code. Throws nothing. */
import { nearestName } from '../app/config/nearest.ts';
import { checkCount, helpOf, type Invocation, readWords } from './command.ts';
import { COMMANDS, findCommand, overview } from './commands.ts';
import type { CliContext } from './context.ts';
import { EXIT, type ExitCode, failureOf, Interrupted, UsageError } from './exit.ts';
import { Output } from './output.ts';

export async function runCli(words: readonly string[], context: CliContext): Promise<ExitCode> {
  const output = new Output(context, wantsJson(words));
  try {
    return await dispatch(words, context, output);
  } catch (error) {
    return fail(error, context, output);
  }
}

async function dispatch(words: readonly string[], context: CliContext, output: Output): Promise<ExitCode> {
  const [first] = words;
  if (first === undefined || first === '--help' || first === '-h' || first === 'help') {
    context.stdout.write(`${overview()}\n`);
    return first === undefined ? EXIT.usage : EXIT.done;
  }
  const found = findCommand(words);
  if (found === null) throw unknownCommand(words);
  const { command } = await found.entry.load();
  const { positionals, values } = readWords(command, words.slice(found.nameWords));
  if (values.help === true) {
    context.stdout.write(`${helpOf(command)}\n`);
    return EXIT.done;
  }
  checkCount(command, positionals);
  const invocation: Invocation = {
    context,
    output,
    positionals,
    text: (name) => (typeof values[name] === 'string' ? values[name] : undefined),
    flag: (name) => values[name] === true,
  };
  return command.run(invocation);
}

/** Known before the words are read, so that even a wrong line is answered in the form asked for. */
function wantsJson(words: readonly string[]): boolean {
  const end = words.indexOf('--');
  return words.slice(0, end === -1 ? undefined : end).includes('--json');
}

function unknownCommand(words: readonly string[]): UsageError {
  const names = COMMANDS.map((entry) => entry.name);
  const [first = '', second] = words.filter((word) => !word.startsWith('-'));
  const group = names.filter((name) => name.startsWith(`${first} `));
  if (group.length > 0) {
    const found = second === undefined ? 'found nothing' : `found "${second}"`;
    const allowed = group.map((name) => name.slice(first.length + 1)).join(', ');
    return new UsageError(`\`turnwright ${first}\` needs one of ${allowed}, and ${found}.`);
  }
  const nearest = nearestName(first, [
    ...new Set(names.flatMap((name) => [name, name.split(' ')[0] ?? name])),
  ]);
  const hint = nearest === null ? '' : ` Did you mean \`turnwright ${nearest}\`?`;
  return new UsageError(`There is no command "${first}".${hint} \`turnwright --help\` lists all.`);
}

function fail(thrown: unknown, context: CliContext, output: Output): ExitCode {
  const { stopped } = context;
  const error = stopped.aborted && thrown === stopped.reason ? new Interrupted() : thrown;
  const { exit, code, message, details } = failureOf(error);
  context.stderr.write(`turnwright: ${message} (${code})\n`);
  if (context.env.TURNWRIGHT_LOG_LEVEL === 'debug' && error instanceof Error) {
    context.stderr.write(`${error.stack ?? ''}\n`);
  }
  if (output.json && !output.printed) {
    output.result({ error: { code, message, ...(details === undefined ? {} : { details }) } }, () => '');
  }
  return exit;
}
