import { ERROR_CATALOGUE } from '../../src/ledger/errors.ts';

export function errorsPage(): string {
  const rows = Object.entries(ERROR_CATALOGUE).map(
    ([code, { status, retryable, meaning }]) =>
      `| \`${code}\` | ${status} | ${retryable ? 'yes' : 'no'} | ${meaning} |`,
  );
  return [
    '# Errors',
    '',
    'Every error answer is `{ "error": { "code", "message", "details"? } }`. Codes are stable; messages say what was wrong, what was found and what to do.',
    '',
    '| code | HTTP | trying again may help | meaning |',
    '|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}
