import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { transition } from 'xstate';
import { MACHINES } from '../../../src/machines/registry.ts';
import { findMachine, persist, restore } from '../../../src/runtime/snapshot.ts';

/** One state of a released machine as a database may hold it, with an event and where that leads. */
interface Released {
  readonly snapshot: string;
  readonly openChildren: readonly string[];
  readonly event: { readonly type: string };
  readonly then: string;
}

const FOLDER = new URL('../../fixtures/snapshots/', import.meta.url);
const FILES = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));

describe('snapshots of released machines', () => {
  it.each(FILES)('RUN-09 those of %s load and go on as they did when they were stored', (file) => {
    const [name = '', version = ''] = file.replace('.json', '').split('-');
    const machine = findMachine(MACHINES, name, Number(version));
    if (machine === null) throw new Error(`${name} version ${version} is not registered any more`);
    const kept = JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')) as Readonly<
      Record<string, Released>
    >;
    expect(Object.keys(kept).length).toBeGreaterThan(0);
    for (const [state, { snapshot, openChildren, event, then }] of Object.entries(kept)) {
      const stored = { machine: name, version: Number(version), snapshot, openChildren };
      const [next] = transition(machine, restore(machine, stored), event as never);
      expect([state, persist(next)]).toEqual([state, then]);
    }
  });

  it('RUN-09 every registered version has its file, with every state it can rest in', () => {
    const versions = Object.entries(MACHINES).flatMap(([name, all]) =>
      Object.keys(all).map((version) => `${name}-${version}.json`),
    );
    expect([...FILES].sort()).toEqual(versions.sort());
    const turn = JSON.parse(readFileSync(new URL('turn-1.json', FOLDER), 'utf8')) as Record<string, unknown>;
    expect(Object.keys(turn).sort()).toEqual([
      'accepted',
      'awaiting',
      'compacting',
      'deciding',
      'judged',
      'reading',
      'resetting',
      'stepping',
      'tooling',
      'waiting',
    ]);
    const probe = JSON.parse(readFileSync(new URL('probe-1.json', FOLDER), 'utf8')) as Record<
      string,
      unknown
    >;
    expect(Object.keys(probe).sort()).toEqual([
      'bisecting',
      'cache',
      'climbing',
      'idle',
      'metadata',
      'prefix',
      'storing',
    ]);
  });
});
