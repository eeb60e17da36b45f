/** The kinds of card a deployment knows. */
import { TurnwrightError } from '../../ledger/errors.ts';
import type { CardDefinition } from './define.ts';

export interface Cards {
  /** By type, whatever order they were given in. */
  readonly all: readonly CardDefinition[];
  byTool(name: string): CardDefinition | undefined;
  byType(type: string): CardDefinition | undefined;
}

/** @throws TurnwrightError `config_invalid` when two cards have one type. */
export function createCards(definitions: readonly CardDefinition[]): Cards {
  const all = [...definitions].sort((a, b) => (a.type < b.type ? -1 : 1));
  const types = new Map<string, CardDefinition>();
  for (const card of all) {
    if (types.has(card.type)) {
      const message = `Two cards have the type "${card.type}". Rename or remove one of them.`;
      throw new TurnwrightError('config_invalid', message);
    }
    types.set(card.type, card);
  }
  const tools = new Map(all.map((card) => [card.tool, card]));
  return {
    all,
    byTool: (name) => tools.get(name),
    byType: (type) => types.get(type),
  };
}
