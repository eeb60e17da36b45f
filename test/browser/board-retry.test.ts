import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { POOL_QUEUE_NAMES } from '../../src/queues/index.ts';
import { type ApiStack, openApiStack } from '../integration/api/api-stack.ts';
import { until } from '../support/await.ts';

const CHROMIUM = '/usr/bin/chromium';
const ARGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
const FILES = { 'harbour.md': '# Harbour\n\nThe harbour master of Elmouth is Ida Brandt.\n' };
const QUESTION = 'Who is the harbour master of Elmouth? Look into harbour.md.';
const REASON = 'the disk is on fire';

/** @throws when CI=true and there is none: there the test must run. */
function chromiumAvailable(): boolean {
  if (existsSync(CHROMIUM)) return true;
  const missing = `there is no ${CHROMIUM}: install it (apt-get install chromium)`;
  if (process.env.CI === 'true') throw new Error(missing);
  console.warn(`BROWSER TESTS ARE SKIPPED: ${missing}`);
  return false;
}

describe.skipIf(!chromiumAvailable())('the board in a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGS });
  });
  afterAll(() => browser.close());

  describe.each(['postgres', 'redis'] as const)('on %s', (backend) => {
    let api: ApiStack;
    beforeEach(async () => {
      api = await openApiStack({ backend, files: FILES });
    });
    afterEach(() => api.close());

    it('RUN-13 lets a person find a failed job, press retry, and see its turn complete', async () => {
      const broken = await api.services.queue.work('step', {
        concurrency: 1,
        handle: async () => {
          throw new Error(REASON);
        },
        onError: () => {},
      });
      const turn = await api.turn(await api.session({ leg: 'sim-large', tools: ['read'] }), {
        input: QUESTION,
      });
      const page = await browser.newPage();
      const refused: string[] = [];
      page.on('console', (message) => {
        const isOurs = message.text().includes(api.url) || !message.text().includes('fonts.googleapis.com');
        if (message.type() === 'error' && isOurs) refused.push(message.text());
      });
      try {
        await page.goto(`${api.url}/board`);
        await page.getByRole('link', { name: POOL_QUEUE_NAMES.step }).first().click();
        await page.getByRole('link', { name: 'Failed' }).first().click();
        await page.getByText(REASON).first().waitFor();
        await broken.close(1_000);
        // Without a sweep nothing but the button brings the job back.
        await api.stack.worker({ sweeps: false });
        // The job's buttons carry their names as tooltips; the first one retries.
        const retry = page.getByText(`${turn}~step-1~1`).first().locator('xpath=following::button[1]');
        await retry.hover();
        await page.getByText('Retry', { exact: true }).first().waitFor();
        await retry.click();
        await page.getByRole('button', { name: 'Confirm' }).click();
        expect(await api.closed(turn)).toMatchObject({ outcome: 'completed' });
        await until('the page shows no failed job', async () => (await page.getByText(REASON).count()) === 0);
        expect(refused).toEqual([]);
      } finally {
        await page.close();
      }
    });
  });
});
