/** A measured model as a picture of its ladder, and the figures turns are sized by. */
import type { LegInfo, Profile } from '../client/index.ts';
import { dollars } from './money.ts';
import { shown } from './output.ts';
import type { Style } from './style.ts';
import { table } from './table.ts';

type Rung = Profile['rungs'][number];
type Paints = Pick<Style, 'bold' | 'dim' | 'good' | 'bad' | 'note'>;

const BAR_CHARS = 44;
const SIZE_CHARS = 11;
const VERDICT_CHARS = 13;
const PERCENT = 100;

/** One line of the picture, by the size it stands at. */
interface Mark {
  readonly tokens: number;
  readonly bar: (chars: number) => string;
  readonly words: string;
  readonly paint: Style['dim'];
}

export function profileText(profile: Profile, style: Paints): string {
  const title = `${style.bold(shown(profile.leg))}  ${headline(profile)}`;
  return [title, '', ...picture(profile, style), '', ...figures(profile), ...signals(profile, style)].join(
    '\n',
  );
}

/** A rung in one line, as it is decided. */
export function rungText({ kind, target_tokens, verdict, samples, agreed }: Rung): string {
  const size = target_tokens === null ? kind : `${figure(target_tokens)} tokens`;
  return `${size.padEnd(SIZE_CHARS + 7)} ${verdictText(verdict).padEnd(VERDICT_CHARS)} ${votes(samples, agreed)}`.trimEnd();
}

export function legsText(legs: readonly LegInfo[], style: Pick<Style, 'bold'>): string {
  if (legs.length === 0) return 'No leg is configured.';
  const right = 'right' as const;
  return table(
    [
      { title: 'Leg' },
      { title: 'Model' },
      { title: 'Runs' },
      { title: 'Window', align: right },
      { title: 'Horizon', align: right },
      { title: 'Sure', align: right },
      { title: '$ per million in', align: right },
      { title: 'out', align: right },
    ],
    legs.map((leg) => [
      shown(leg.name),
      shown(leg.model),
      leg.local ? 'here' : 'hosted',
      figure(leg.window_tokens),
      figure(leg.horizon_tokens),
      percent(leg.horizon_confidence),
      leg.price === null ? '-' : dollars(leg.price.input_micro_usd_per_million),
      leg.price === null ? '-' : dollars(leg.price.output_micro_usd_per_million),
    ]),
    style.bold,
  );
}

function headline({ leg, probed_at, rungs, probe, needs_reprobe }: Profile): string {
  const now = probe.state === 'running' ? '; it is being probed now' : '';
  if (!rungs.some(({ kind }) => kind === 'horizon'))
    return `not measured: these are stated figures. \`turnwright probe ${shown(leg)}\` measures it${now}`;
  return `measured ${probed_at ?? 'at an unknown time'}${needs_reprobe ? ', to be measured again' : ''}${now}`;
}

/** Smallest size first; the bars grow with the logarithm of the size. */
function picture(profile: Profile, style: Paints): readonly string[] {
  const marks = [...rungMarks(profile, style), ...limits(profile, style)].sort((a, b) => a.tokens - b.tokens);
  const sizes = marks.map(({ tokens }) => Math.max(1, tokens));
  // Half of the smallest, so that its bar can be seen.
  const base = Math.min(...sizes) / 2;
  const scale = Math.log(Math.max(...sizes) / base);
  return marks.map(({ tokens, bar, words, paint }) => {
    const chars = Math.max(1, Math.round((BAR_CHARS * Math.log(Math.max(1, tokens) / base)) / scale));
    return `${figure(tokens).padStart(SIZE_CHARS)}  ${paint(bar(chars).padEnd(BAR_CHARS))}  ${words}`;
  });
}

function rungMarks({ rungs }: Profile, { good, bad }: Paints): readonly Mark[] {
  return rungs.flatMap(({ kind, target_tokens, verdict, samples, agreed }) => {
    if (kind !== 'horizon' || target_tokens === null) return [];
    const followed = verdict === 'followed';
    return {
      tokens: target_tokens,
      bar: (chars) => (followed ? '█' : '░').repeat(chars),
      words: `${verdictText(verdict).padEnd(VERDICT_CHARS)}${votes(samples, agreed)}`.trimEnd(),
      paint: followed ? good : bad,
    };
  });
}

function limits(profile: Profile, { note, dim }: Paints): readonly Mark[] {
  const { horizon, verified_window, declared_window, window_source } = profile;
  const limit = (tokens: number, words: string, paint: Style['dim']): Mark => ({
    tokens,
    bar: (chars) => `${'·'.repeat(chars - 1)}┤`,
    words,
    paint,
  });
  const source = window_source === 'fallback' ? 'assumed' : window_source;
  return [
    limit(horizon.tokens, `horizon, ${percent(horizon.confidence)} sure`, note),
    ...(verified_window === null ? [] : [limit(verified_window, 'verified window', dim)]),
    limit(declared_window, `declared window (${source})`, dim),
  ];
}

function figures(profile: Profile): readonly string[] {
  const { tokens_per_byte, prefill_tokens_per_second, closed_turn_tokens, largest_reply, max_output } =
    profile;
  const most =
    max_output === null
      ? 'nobody states the most'
      : `at most ${figure(max_output)} (${profile.max_output_source})`;
  const { rungs, prefixes } = profile;
  const other = rungs
    .filter(({ kind }) => kind !== 'horizon')
    .map(({ kind, verdict }) => `${kind} ${verdict}`);
  const newest = prefixes.at(-1);
  return [
    `tokens    ${tokens_per_byte.value.toFixed(3)} a byte${from(tokens_per_byte.samples, 'call')}`,
    `reading   ${prefill_tokens_per_second.samples === 0 ? 'speed unknown' : `${figure(Math.round(prefill_tokens_per_second.value))} tokens a second${from(prefill_tokens_per_second.samples, 'call')}`}`,
    `cache     ${profile.cache}`,
    `reply     ${figure(profile.output_reserve)} tokens kept free; ${most}; largest seen ${figure(largest_reply.tokens)}`,
    `turns     ${closed_turn_tokens.samples === 0 ? 'size unknown' : `${figure(Math.round(closed_turn_tokens.value))} tokens each${from(closed_turn_tokens.samples, 'turn')}`}`,
    ...(newest === undefined
      ? []
      : [`prefix    ${figure(newest.tokens)} tokens, the newest of ${prefixes.length} counted`]),
    ...(other.length === 0 ? [] : [`asked     ${other.join(', ')}`]),
  ];
}

function signals({ signals: all }: Profile, { dim }: Paints): readonly string[] {
  return all.map((signal) => dim(`          ${shown(signal)}`));
}

function verdictText(verdict: Rung['verdict']): string {
  return verdict === 'not-followed' ? 'not followed' : verdict;
}

function votes(samples: number | null, agreed: number | null): string {
  return samples === null || agreed === null ? '' : `${agreed} of ${samples}`;
}

function from(samples: number, noun: string): string {
  return samples === 0 ? ', assumed' : `, from ${figure(samples)} ${noun}${samples === 1 ? '' : 's'}`;
}

function percent(share: number): string {
  return `${Math.round(share * PERCENT)} %`;
}

function figure(value: number): string {
  return value.toLocaleString('en-US');
}
