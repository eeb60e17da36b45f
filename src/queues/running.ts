/** The handlers a worker runs at this moment, and how to let go of them. */

export class Running {
  readonly #letGo = new Set<(reason: Error) => void>();
  #idle: (() => void)[] = [];

  get size(): number {
    return this.#letGo.size;
  }

  /** Settles as `work` does, or rejects with the reason given to `abandon` if that comes first. */
  async track(work: Promise<void>): Promise<void> {
    let give: (reason: Error) => void = () => undefined;
    try {
      // A promise per job, not a race against one shared promise, which would keep every job's memory.
      await new Promise<void>((resolve, reject) => {
        give = reject;
        this.#letGo.add(give);
        work.then(resolve, reject);
      });
    } finally {
      this.#letGo.delete(give);
      if (this.#letGo.size === 0) for (const wake of this.#idle.splice(0)) wake();
    }
  }

  /** Resolves when nothing runs. */
  idle(): Promise<void> {
    if (this.#letGo.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#idle.push(resolve);
    });
  }

  /** Ends every wait with `reason`; the handlers themselves go on unseen. Returns how many there were. */
  abandon(reason: Error): number {
    const left = [...this.#letGo];
    for (const give of left) give(reason);
    return left.length;
  }
}
