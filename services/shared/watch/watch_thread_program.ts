/**
 * The program of the thread in which the runtime watches directories. It
 * imports nothing, so that it starts quickly.
 *
 * @module
 */

import type { WatchAnswer, WatchRequest } from "./watch_thread.ts";

/** The global scope of the thread: its messages in and out. */
interface WatchThreadScope {
  /** Takes requests. */
  onmessage: ((event: MessageEvent<WatchRequest>) => void) | null;
  /** Sends an answer. */
  postMessage(answer: WatchAnswer): void;
}

/** Changes within this time are one report, after the first one. */
const BURST_MS = 20;

class Watch {
  readonly #scope: WatchThreadScope;
  #watcher: Deno.FsWatcher | undefined;
  /** The end of the watcher's events. */
  #ended: Promise<void> = Promise.resolve();
  #isResting = false;
  #hasFurther = false;

  constructor(scope: WatchThreadScope) {
    this.#scope = scope;
  }

  /** Watches these directories in place of those before. */
  async watch({ number, directories }: WatchRequest): Promise<void> {
    this.#watcher?.close();
    // Until its last watcher has gone, the runtime takes a directory that was
    // made again for the one that it knows by that path.
    await this.#ended;
    try {
      this.#watcher = Deno.watchFs([...directories], { recursive: false });
    } catch (error) {
      this.#watcher = undefined;
      return this.#fail(number, error);
    }
    this.#scope.postMessage({ kind: "watching", number });
    this.#ended = this.#listen(this.#watcher, number);
  }

  async #listen(watcher: Deno.FsWatcher, number: number): Promise<void> {
    try {
      for await (const _ of watcher) this.#report();
    } catch (error) {
      this.#fail(number, error);
    }
  }

  #report(): void {
    this.#hasFurther = this.#isResting;
    if (this.#isResting) return;
    this.#isResting = true;
    this.#scope.postMessage({ kind: "changed" });
    setTimeout(() => {
      this.#isResting = false;
      if (this.#hasFurther) this.#report();
    }, BURST_MS);
  }

  #fail(number: number, error: unknown): void {
    const isGone = error instanceof Deno.errors.NotFound;
    const reason = error instanceof Error ? error.message : String(error);
    this.#scope.postMessage({ kind: "failed", number, reason, isGone });
  }
}

function serveWatch(scope: WatchThreadScope): void {
  const watch = new Watch(scope);
  let last: Promise<void> = Promise.resolve();
  scope.onmessage = ({ data }) => {
    last = last.then(() => watch.watch(data));
  };
}

serveWatch(globalThis as unknown as WatchThreadScope);
