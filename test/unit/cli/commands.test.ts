import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../../src/cli/commands.ts';
import { onlyObject, runInTerminal } from './terminal.ts';

const NAMES = COMMANDS.map((entry) => entry.name);

describe('the table of commands', () => {
  it.each(NAMES)('%s is what its own file calls itself, and explains itself with --help', async (name) => {
    const loaded = await COMMANDS.find((entry) => entry.name === name)?.load();
    expect(loaded?.command.name).toBe(name);
    const run = await runInTerminal([...name.split(' '), '--help']);
    expect(run.exit).toBe(0);
    expect(run.stdout).toContain(`Usage: turnwright ${name}`);
    for (const option of Object.keys(loaded?.command.options ?? {}))
      expect(run.stdout).toContain(`--${option}`);
    expect(run.stderr).toBe('');
  });

  it('lists every command and the exit codes with --help', async () => {
    const run = await runInTerminal(['--help']);
    expect(run.exit).toBe(0);
    for (const name of NAMES) expect(run.stdout).toContain(`  ${name} `);
    expect(run.stdout).toContain('3 a dependency is unreachable');
  });

  it('holds every command of the contract that this version has, once', () => {
    expect(new Set(NAMES).size).toBe(NAMES.length);
    const expected = [
      'demo',
      'up',
      'migrate',
      'api',
      'worker',
      'chat',
      'sim',
      'doctor',
      'probe',
      'profile',
      'usage',
    ];
    const turns = ['enqueue', 'show', 'watch', 'cancel', 'replay', 'why', 'stuck', 'retry'].map(
      (name) => `turn ${name}`,
    );
    const sessions = ['create', 'show', 'plan', 'context', 'recall', 'compact', 'verify', 'rebuild'].map(
      (name) => `session ${name}`,
    );
    const keys = ['create', 'list', 'revoke'].map((name) => `keys ${name}`);
    expect(NAMES).toEqual(expect.arrayContaining([...expected, ...turns, ...sessions, ...keys]));
  });
});

describe('a wrong command line', () => {
  const WRONG: readonly (readonly [string, readonly string[], RegExp])[] = [
    ['an unknown command', ['dmeo'], /no command "dmeo".*Did you mean `turnwright demo`/],
    ['a group without its command', ['turn'], /`turnwright turn` needs one of enqueue, show.*found nothing/],
    ['a group with an unknown command', ['turn', 'look'], /needs one of enqueue.*found "look"/],
    ['an unknown option', ['demo', '--colour'], /--colour/],
    ['an option without its value', ['demo', '--provider'], /--provider/],
    ['too many arguments', ['turn', 'show', 'a', 'b'], /takes TURN, and found "a" "b"/],
    ['too few arguments', ['turn', 'show'], /takes TURN, and found nothing/],
    ['a policy there is not', ['demo', '--policy', 'guess'], /--policy is "guess"; allowed is plan/],
    ['a provider there is not', ['demo', '--provider', 'nobody'], /--provider is "nobody"; allowed is sim/],
    [
      'a queue there is not',
      ['demo', '--backend', 'rabbit'],
      /--backend is "rabbit"; allowed is postgres, redis/,
    ],
    ['a pool there is not', ['worker', '--pools', 'step,steps'], /--pools holds "steps"; the pools are turn/],
    ['a concurrency there is not', ['worker', '--concurrency', 'step'], /step=16,tool=8/],
    ['a port that is none', ['sim', '--port', '99999'], /--port is "99999".*0 to 65535/],
    [
      'a scope there is not',
      ['keys', 'create', 'k', '--scopes', 'all'],
      /--scopes holds "all"; the scopes are/,
    ],
    ['a date that is none', ['keys', 'create', 'k', '--expires', 'soon'], /--expires is "soon"/],
    [
      'a mode there is not',
      ['turn', 'enqueue', 's', 'x', '--mode', 'steer'],
      /--mode is "steer"; allowed is enqueue/,
    ],
    [
      'a policy no plan is made under',
      ['session', 'plan', 's', '--policy', 'fold'],
      /--policy is "fold"; allowed is plan/,
    ],
    ['a step that is none', ['turn', 'show', 't', '--request', '0'], /--request is "0".*from 1 to 10000/],
    [
      'a group of usage there is not',
      ['usage', '--by', 'model'],
      /--by is "model"; allowed is session, leg, purpose, day/,
    ],
    ['a day that is none', ['usage', '--from', 'monday'], /--from is "monday"; write a day as 2026-11-30/],
    [
      'a budget of nothing',
      ['turn', 'enqueue', 's', 'x', '--cost-micro-usd', '0'],
      /--cost-micro-usd is "0".*from 1 to/,
    ],
    ['a budget that is no number', ['session', 'create', '--tokens', 'many'], /--tokens is "many"/],
    ['a probe of nothing', ['probe'], /takes LEG, and found nothing/],
    ['a recall of nothing', ['session', 'recall', 's'], /Give one of --id.*found none/],
    ['a worker without a database', ['worker'], /needs DATABASE_URL.*turnwright up/],
    ['an API without a database', ['api'], /needs DATABASE_URL/],
    ['a migration without a database', ['migrate'], /needs DATABASE_URL/],
  ];

  it.each(WRONG)('says what is wrong with %s, and exits 2', async (_, words, message) => {
    const run = await runInTerminal(words);
    expect(run.stderr).toMatch(message);
    expect(run.stdout).toBe('');
    expect(run.exit).toBe(2);
  });

  it.each(WRONG)('answers %s with one object under --json', async (_, words, message) => {
    const run = await runInTerminal([...words, '--json']);
    const { error } = onlyObject(run.stdout) as { error: { code: string; message: string } };
    expect(error.message).toMatch(message);
    expect(['usage', 'config_invalid']).toContain(error.code);
    expect(run.exit).toBe(2);
  });

  it('shows the overview and exits 2 when there are no words at all', async () => {
    const run = await runInTerminal([]);
    expect(run.exit).toBe(2);
    expect(run.stdout).toContain('Usage: turnwright COMMAND');
  });

  it('says which variable is unknown, without a stack', async () => {
    const run = await runInTerminal(['doctor', '--json'], { env: { TURNWRIGHT_PROT: '1' } });
    expect(run.exit).toBe(1);
    expect(JSON.stringify(onlyObject(run.stdout))).toContain('TURNWRIGHT_PROT is unknown');
    const other = await runInTerminal(['worker'], { env: { TURNWRIGHT_PROT: '1' } });
    expect(other.exit).toBe(2);
    expect(other.stderr).not.toMatch(/\n\s+at /);
  });
});

describe('a provider that cannot be used', () => {
  it.each([
    ['openai', 'OPENAI_API_KEY'],
    ['anthropic', 'ANTHROPIC_API_KEY'],
  ])('names the variable %s needs', async (provider, variable) => {
    const run = await runInTerminal(['demo', '--provider', provider]);
    expect(run.exit).toBe(2);
    expect(run.stderr).toContain(`--provider ${provider} needs ${variable}, which is not set`);
  });

  it('exits 3 when Ollama does not answer', async () => {
    const run = await runInTerminal(['demo', '--provider', 'ollama'], {
      env: { OLLAMA_HOST: '127.0.0.1:1' },
    });
    expect(run.exit).toBe(3);
    expect(run.stderr).toContain('Ollama does not answer at http://127.0.0.1:1');
  });
});

describe('a server that cannot be reached', () => {
  const env = { TURNWRIGHT_URL: 'http://127.0.0.1:1', TURNWRIGHT_KEY: 'tw_none' };

  it.each([[['turn', 'show', 'x']], [['turn', 'stuck']], [['session', 'create']], [['chat']]])(
    'makes %j exit 3 and say how to start one',
    async (words) => {
      const run = await runInTerminal(words, { env });
      expect(run.exit).toBe(3);
      expect(run.stderr).toMatch(
        /No server answers at http:\/\/127\.0\.0\.1:1 .*turnwright up.*\(server_unreachable\)/,
      );
    },
  );

  it('exits 2 without a key, saying where one is looked for', async () => {
    const run = await runInTerminal(['turn', 'show', 'x'], { env: { TURNWRIGHT_URL: 'http://127.0.0.1:1' } });
    expect(run.exit).toBe(2);
    expect(run.stderr).toMatch(/TURNWRIGHT_KEY is not set.*client\.json/);
  });

  it('exits 2 for an address that is none', async () => {
    const run = await runInTerminal(['turn', 'show', 'x'], { env: { ...env, TURNWRIGHT_URL: 'localhost' } });
    expect(run.exit).toBe(2);
    expect(run.stderr).toContain('TURNWRIGHT_URL: The server\'s URL is "localhost"');
  });
});
