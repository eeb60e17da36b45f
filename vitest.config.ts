import { defineConfig } from 'vitest/config';

/** Two cores are what the smallest machine of ours has; more workers would only wait for each other. */
const MAX_WORKERS = 2;
/** Bounds against hanging, not speed tests: a machine may be busy. */
const UNIT_LIMIT_MS = 20_000;
const SERVICE_LIMIT_MS = 60_000;

/** Each starts a dozen processes and stops some of them hard: they run after the others, one at a time. */
const DEPLOYMENTS = ['test/e2e/chaos.test.ts', 'test/e2e/kill.test.ts'];

export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: MAX_WORKERS,
    teardownTimeout: SERVICE_LIMIT_MS,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          // What they import keeps no state, and to load it anew for each file takes longer than most of them run.
          isolate: false,
          testTimeout: UNIT_LIMIT_MS,
          hookTimeout: UNIT_LIMIT_MS,
        },
      },
      {
        extends: true,
        test: {
          name: 'simulation',
          include: ['test/simulation/**/*.test.ts'],
          testTimeout: SERVICE_LIMIT_MS,
        },
      },
      {
        extends: true,
        test: {
          name: 'services',
          include: ['test/{contract,integration,e2e,browser}/**/*.test.ts'],
          exclude: [...DEPLOYMENTS],
          globalSetup: ['test/support/global-setup.ts'],
          testTimeout: SERVICE_LIMIT_MS,
          hookTimeout: SERVICE_LIMIT_MS,
        },
      },
      {
        extends: true,
        test: {
          name: 'deployments',
          include: [...DEPLOYMENTS],
          globalSetup: ['test/support/global-setup.ts'],
          testTimeout: SERVICE_LIMIT_MS,
          hookTimeout: SERVICE_LIMIT_MS,
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
