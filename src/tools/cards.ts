/** The tools that emit cards. A card call needs no worker: it is answered where its batch is settled. */
import type { CardDefinition } from '../context/cards/define.ts';
import { explainCall } from '../context/cards/explain.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import type { CallTraits, Tool } from './contract.ts';

/** Every tool states one; nothing ever waits for a card. */
const CARD_TIMEOUT_MS = 60_000;

const CARD_TRAITS: CallTraits = { effect: 'idempotent', observes: false, retrieves: false };

export function cardTool(card: CardDefinition): Tool {
  return {
    name: card.tool,
    description: card.description,
    inputSchema: card.inputSchema,
    serves: [],
    alwaysLoaded: false,
    effect: 'idempotent',
    onUnknown: 'report',
    approval: false,
    deferred: true,
    timeoutMs: CARD_TIMEOUT_MS,
    inHop: true,
    byClient: false,
    traitsOf: () => CARD_TRAITS,
    parse: (args) => {
      const checked = card.check(args);
      if (checked.ok) return { ok: true, args: checked.payload };
      return { ok: false, message: explainCall(card.tool, checked.problems) };
    },
    run: async () => {
      throw new TurnwrightError(
        'internal',
        `${card.tool} was run as a job; card calls are answered in place.`,
      );
    },
  };
}
