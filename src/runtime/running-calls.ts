/** The calls this process runs right now, so that a cancellation from anywhere reaches the one it means. */

export class RunningCalls {
  readonly #controllers = new Map<string, AbortController>();

  begin(actor: string, child: string): AbortSignal {
    const controller = new AbortController();
    this.#controllers.set(key(actor, child), controller);
    return controller.signal;
  }

  end(actor: string, child: string): void {
    this.#controllers.delete(key(actor, child));
  }

  /** `notice` is `<actor>~<child>`, as the database sends it. */
  abort(notice: string): void {
    this.#controllers.get(notice)?.abort(new Error('cancelled'));
  }

  abortAll(): void {
    for (const controller of this.#controllers.values()) controller.abort(new Error('the worker stops'));
  }

  get size(): number {
    return this.#controllers.size;
  }
}

function key(actor: string, child: string): string {
  return `${actor}~${child}`;
}
