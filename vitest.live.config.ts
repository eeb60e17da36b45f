import { defineConfig } from 'vitest/config';

/** Real providers: each suite is skipped where its key is not set. */
export default defineConfig({ test: { include: ['test/live/**/*.test.ts'] } });
