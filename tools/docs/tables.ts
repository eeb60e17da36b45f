import { TURN_EVENTS } from '../../src/api/event-table.ts';
import { METRICS } from '../../src/api/metrics.ts';

export function eventsPage(): string {
  const rows = Object.entries(TURN_EVENTS).map(
    ([type, { meaning, data, source }]) => `| \`${type}\` | ${meaning} | ${data} | ${originOf(source)} |`,
  );
  return [
    '# Events of a turn',
    '',
    '`GET /v1/turns/:id/events` answers with server-sent events. A durable event’s `id` is the number of its record: send the last one seen as `Last-Event-ID` and none is lost or repeated. Live events ride a bounded buffer and may be missing.',
    '',
    '| event | meaning | data | from |',
    '|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

function originOf(source: string): string {
  if (source === 'live') return 'live';
  return `record \`${source}\``;
}

export function metricsPage(): string {
  const rows = Object.entries(METRICS).map(
    ([name, { type, labels, help }]) => `| \`${name}\` | ${type} | ${labels.join(', ')} | ${help} |`,
  );
  return [
    '# Metrics',
    '',
    '`GET /metrics` answers in Prometheus’ text format. Every process tells the deployment’s figures, so scrape one.',
    '',
    '| metric | type | labels | meaning |',
    '|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}
