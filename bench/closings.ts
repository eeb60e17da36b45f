/** Who waits for which turn's end, wherever the commit that ends it is made. */
import type { Services } from '../src/app/services.ts';

export class Closings {
  readonly #waiting = new Map<string, (outcome: string) => void>();

  /** Resolves with the turn's outcome. To be asked for before the turn is accepted. */
  of(turn: string): Promise<string> {
    return new Promise((resolve) => this.#waiting.set(turn, resolve));
  }

  closed(turn: string, outcome: string): void {
    this.#waiting.get(turn)?.(outcome);
    this.#waiting.delete(turn);
  }
}

/** Tells of every turn that this process closes, when the commit returns. */
export function watchClosings(services: Services, closed: (turn: string, outcome: string) => void): void {
  const { store } = services;
  const apply = store.apply.bind(store);
  store.apply = async (commit) => {
    const result = await apply(commit);
    if (result !== 'applied') return result;
    for (const change of commit.turnChanges)
      if (change.status === 'closed') closed(change.turn, change.outcome ?? '');
    return result;
  };
}
