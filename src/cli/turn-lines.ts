/** Events of a turn as lines for people. */
import type { TurnEvent } from '../client/index.ts';
import type { Json } from '../ledger/json.ts';
import { oneLine } from './output.ts';

const VALUE_CHARS = 120;
/** Pieces of the reply: whoever wants them as they come uses `chat`. */
const QUIET: ReadonlySet<string> = new Set(['step.delta']);

/** null for an event that says nothing to a person. */
export function eventLine({ type, data }: TurnEvent): string | null {
  if (QUIET.has(type)) return null;
  const members = Object.entries(data).flatMap(([name, value]) => {
    const text = valueText(value);
    return text === null ? [] : [`${name}=${text}`];
  });
  return `${type.padEnd(18)} ${members.join(' ')}`.trimEnd();
}

function valueText(value: Json): string | null {
  if (value === null || value === '') return null;
  if (typeof value !== 'object') return oneLine(String(value), VALUE_CHARS);
  if (Array.isArray(value))
    return value.length === 0 ? null : oneLine(value.map(itemText).join(','), VALUE_CHARS);
  return oneLine(JSON.stringify(value), VALUE_CHARS);
}

function itemText(item: Json): string {
  if (typeof item !== 'object' || item === null) return String(item);
  return 'name' in item && typeof item.name === 'string' ? item.name : JSON.stringify(item);
}
