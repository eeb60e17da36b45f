/** A session of many closed turns about the berths of one harbour: each is about one, and can be asked for by its ship. */
import type { Services } from '../../../src/app/services.ts';
import type { SessionConfig } from '../../../src/runtime/sessions.ts';
import { openConversation, type TurnSaid } from '../../support/conversation.ts';

const SHIPS = ['Petrel', 'Fulmar', 'Gannet', 'Skua', 'Tern'];

export const shipOf = (berth: number): string => `${SHIPS[berth % SHIPS.length]} ${berth}`;

/** The file the turn about a berth read; no card names it. */
export const paperOf = (berth: number): string => `papers/k${berth}.md`;

function harbourTurns(count: number): readonly TurnSaid[] {
  return Array.from({ length: count }, (_, at) => {
    const berth = at + 1;
    const ship = shipOf(berth);
    return {
      asked: `Who lies at berth ${berth} of Elmouth?`,
      steps: [
        {
          prose: '',
          calls: [
            {
              tool: 'almanac',
              args: {},
              result: `Berth ${berth} is held by the ${ship}, which came in ${berth + 2} days ago.`,
              files: [{ kind: 'read', path: paperOf(berth) }],
            },
          ],
        },
      ],
      answer: `The ${ship} lies at berth ${berth}; she came in ${berth + 2} days ago and takes on ${berth + 4} tons of coal before she leaves.`,
    };
  });
}

/** Its id. */
export async function harbourSession(
  services: Services,
  tenant: string,
  turns: number,
  config: Partial<SessionConfig> = {},
): Promise<string> {
  const { ref, write } = await openConversation(services.engine, tenant, {
    leg: 'sim-small',
    tools: ['almanac', 'recall'],
    ...config,
  });
  await write(harbourTurns(turns));
  return ref.session;
}
