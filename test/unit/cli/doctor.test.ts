import { describe, expect, it } from 'vitest';
import { nodeCheck } from '../../../src/cli/doctor/machine.ts';
import { clockCheck } from '../../../src/cli/doctor/postgres.ts';
import { redisFindings } from '../../../src/cli/doctor/queue.ts';

describe('doctor', () => {
  it.each([
    ['20.19.0', 'ok'],
    ['20.18.9', 'fail'],
    ['18.20.0', 'fail'],
    ['22.1.0', 'ok'],
    ['24.0.0', 'ok'],
  ])('finds Node %s %s', (version, finding) => {
    expect(nodeCheck(version).finding).toBe(finding);
  });

  it('finds a Redis that is old, or that would drop jobs', () => {
    const info = (version: string, policy: string): string =>
      `# Server\r\nredis_version:${version}\r\n# Memory\r\nmaxmemory_policy:${policy}\r\n`;
    const findings = (text: string): string[] => redisFindings(text).map((one) => one.finding);
    expect(findings(info('7.0.15', 'noeviction'))).toEqual(['ok', 'ok']);
    expect(findings(info('6.2.0', 'noeviction'))).toEqual(['fail', 'ok']);
    expect(findings(info('8.0.0', 'allkeys-lru'))).toEqual(['ok', 'fail']);
    expect(findings('')).toEqual(['fail', 'fail']);
  });

  it('measures a clock by what lies outside the time the question took', () => {
    expect(clockCheck(1_050, 1_000, 1_100)).toMatchObject({
      finding: 'ok',
      detail: "0 ms from the database's",
    });
    expect(clockCheck(3_600_000, 1_000, 1_100).finding).toBe('warn');
    expect(clockCheck(0, 5_000, 5_001).finding).toBe('warn');
  });
});
