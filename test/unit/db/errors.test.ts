import { describe, expect, it } from 'vitest';
import { databaseError, errorCode } from '../../../src/db/pool.ts';
import { administratorSql } from '../../../src/db/roles.ts';
import { TurnwrightError } from '../../../src/ledger/errors.ts';

const failing = (code: string, message = 'it failed') => Object.assign(new Error(message), { code });

describe('what a failed statement means', () => {
  it.each(['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', '57P01', '57P03', '53300', '08006'])(
    '%s is a database that does not answer, and worth another try',
    (code) => {
      const cause = failing(code);
      const error = databaseError(cause);
      expect(error).toBeInstanceOf(TurnwrightError);
      expect(error).toMatchObject({ code: 'database_unreachable', retryable: true, cause });
    },
  );

  it('so is a pool whose connections are all in use', () => {
    expect(databaseError(new Error('timeout exceeded when trying to connect'))).toMatchObject({
      code: 'database_unreachable',
    });
  });

  it.each(['3F000', '42P01', '42883', '42704'])(
    '%s is a schema to migrate, and the message says how',
    (code) => {
      expect(databaseError(failing(code))).toMatchObject({
        code: 'migration_required',
        message: expect.stringContaining('turnwright migrate'),
      });
    },
  );

  it('anything else stays what it was', () => {
    for (const error of [failing('23505'), failing('TW001'), new Error('plain'), null, 'text'])
      expect(databaseError(error)).toBe(error);
    expect([errorCode(failing('23505')), errorCode(new Error('x')), errorCode(null)]).toEqual([
      '23505',
      null,
      null,
    ]);
  });
});

describe('the SQL for an administrator', () => {
  it('makes the three roles without rights of their own, and quotes the names of user and database', () => {
    const sql = administratorSql('odd"name', 'my db');
    for (const role of ['turnwright_owner', 'turnwright_app', 'turnwright_upkeep']) {
      expect(sql).toMatch(new RegExp(`CREATE ROLE ${role} .*NOSUPERUSER.*NOBYPASSRLS;`, 'u'));
      expect(sql).toContain(`GRANT ${role} TO "odd""name";`);
    }
    expect(sql).toContain('ON DATABASE "my db" TO turnwright_owner;');
  });
});
