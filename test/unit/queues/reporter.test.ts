import { describe, expect, it } from 'vitest';
import { asBullError } from '../../../src/queues/postgres-connection.ts';
import { redisPrefix } from '../../../src/queues/redis-connections.ts';
import { createReporter, describe as told } from '../../../src/queues/reporter.ts';
import { unreachable, withoutCredentials } from '../../../src/queues/transport.ts';

describe('reporter', () => {
  function reporter() {
    const seen: string[] = [];
    let nowMs = 0;
    const made = createReporter(
      (error) => seen.push(error.message),
      () => nowMs,
    );
    return {
      seen,
      ...made,
      at: (ms: number) => {
        nowMs = ms;
      },
    };
  }

  it('tells an error once, and again when it lasts', () => {
    const { seen, report, at } = reporter();
    report(new Error('refused'));
    at(4_999);
    report(new Error('refused'));
    report(new Error('other'));
    at(5_000);
    report(new Error('refused'));
    expect(seen).toEqual(['refused', 'other', 'refused']);
  });

  it('forgets the oldest of many different errors, and never the newest', () => {
    const { seen, report } = reporter();
    for (let n = 0; n < 200; n += 1) report(new Error(`error ${n}`));
    report(new Error('error 199'));
    report(new Error('error 0'));
    expect(seen.length).toBe(201);
    expect(seen.at(-1)).toBe('error 0');
  });

  it('says nothing once muted', () => {
    const { seen, report, mute } = reporter();
    mute();
    report(new Error('connection closed'));
    expect(seen).toEqual([]);
  });

  it('takes what is no error, and reads an error without a message', () => {
    const { seen, report } = reporter();
    report('text');
    expect(seen).toEqual(['text']);
    const both = new AggregateError([new Error('::1 refused'), new Error('127.0.0.1 refused')], '');
    expect(told(both)).toBe('::1 refused; 127.0.0.1 refused');
    expect(told(new TypeError(''))).toBe('TypeError');
  });
});

describe('addresses and refusals', () => {
  it('shows where a queue is without its password', () => {
    expect(withoutCredentials('redis://user:secret@queue.example:6380/2')).toBe('queue.example:6380');
    expect(withoutCredentials('postgres://user:secret@db.example/app')).toBe('db.example');
    expect(withoutCredentials('no url')).toBe('an address that is no URL');
    const error = unreachable({ kind: 'redis', address: 'queue.example:6380' }, new Error('refused'));
    expect(error.code).toBe('queue_unreachable');
    expect(error.message).toBe(
      'the job queue on redis at queue.example:6380 does not answer: refused; ' +
        'check that it runs and that its address and credentials are right',
    );
  });

  it('makes the prefix a hash tag, and refuses what could break it', () => {
    expect(redisPrefix('turnwright-eu_1')).toBe('{turnwright-eu_1}');
    for (const bad of ['', 'a}b', 'a:b', 'ü', 'x'.repeat(65)]) {
      expect(() => redisPrefix(bad)).toThrow(/is not usable; take 1 to 64/);
    }
  });

  it('shows BullMQ a failure that passes as a lost connection, and leaves every other as it is', () => {
    const passing = [
      Object.assign(new Error('terminating connection'), { code: '57P01' }),
      Object.assign(new Error('deadlock detected'), { code: '40P01' }),
      Object.assign(new Error('read'), { code: 'ECONNRESET' }),
      new Error('Connection terminated unexpectedly'),
      new Error('timeout exceeded when trying to connect'),
    ];
    for (const error of passing) {
      expect(asBullError(error)).toMatchObject({ code: 'ECONNREFUSED', cause: error });
    }
    const lasting = [
      Object.assign(new Error('permission denied'), { code: '42501' }),
      new Error('job is not active'),
      'text',
    ];
    for (const error of lasting) expect(asBullError(error)).toBe(error);
  });
});
