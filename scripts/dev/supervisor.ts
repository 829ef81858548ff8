/**
 * Keeps one process running and restarts it when the code has changed.
 *
 * @module
 */

/** What a supervisor runs and watches. */
export interface SupervisorOptions {
  /** Makes the process. */
  readonly command: () => Deno.Command;
  /** Files and folders; a change of a `.ts`, `.json` or `.lua` file counts. */
  readonly watched: readonly string[];
  /** Takes lines for the person at the terminal. */
  readonly tell: (line: string) => void;
  /**
   * How long changes must have ended before the process is restarted.
   *
   * @default 200
   */
  readonly settleMs?: number;
}

type Happening =
  | { readonly kind: "ended"; readonly code: number }
  | { readonly kind: "changed" }
  | { readonly kind: "stop"; readonly signal: Deno.Signal };

const CODE_FILE = /\.(ts|json|lua)$/;
// A terminal that is closed says SIGHUP, which the service takes for "reload".
const STOP_SIGNALS: readonly Deno.Signal[] = ["SIGINT", "SIGTERM", "SIGHUP"];

/** Runs the process until it is told to stop. */
export class Supervisor {
  readonly #options: SupervisorOptions;

  /** A supervisor that runs nothing yet. */
  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  /**
   * Runs until SIGINT, SIGTERM or SIGHUP. A process that ends by itself is started
   * again after the next change, but for the first one: where that fails,
   * nothing has ever worked.
   *
   * @returns The exit code of the process that ran last.
   */
  async run(): Promise<number> {
    const changes = new Changes(
      this.#options.watched,
      this.#options.settleMs ?? 200,
    );
    const stop = stopSignal();
    try {
      return await this.#supervise(changes, stop.signalled);
    } finally {
      stop.end();
      changes.end();
    }
  }

  async #supervise(
    changes: Changes,
    stopped: Promise<Happening>,
  ): Promise<number> {
    for (let round = 1;; round++) {
      const child = this.#options.command().spawn();
      const ended = child.status.then(({ code }): Happening => (
        { kind: "ended", code }
      ));
      let happening = await Promise.race([ended, changes.next(), stopped]);
      if (happening.kind === "ended") {
        const { code } = happening;
        if (round === 1) return code;
        this.#options.tell(
          `The service ended with ${code}; waiting for a change`,
        );
        happening = await Promise.race([changes.next(), stopped]);
        if (happening.kind === "stop") return code;
      } else if (happening.kind === "stop") {
        if (!isFromTerminal(happening.signal)) kill(child);
        return (await child.status).code;
      }
      this.#options.tell("The code has changed; restarting");
      kill(child);
      await child.status;
    }
  }
}

/** Changes of code, many in a short time told as one. */
class Changes {
  readonly #watcher: Deno.FsWatcher;
  readonly #settleMs: number;
  #waiting = Promise.withResolvers<Happening>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(paths: readonly string[], settleMs: number) {
    this.#watcher = Deno.watchFs([...paths]);
    this.#settleMs = settleMs;
    this.#listen();
  }

  /** Settles at the next change after the last one told. */
  next(): Promise<Happening> {
    return this.#waiting.promise;
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#watcher.close();
  }

  async #listen(): Promise<void> {
    for await (const event of this.#watcher) {
      if (event.kind === "access") continue;
      if (!event.paths.some((path) => CODE_FILE.test(path))) continue;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => {
        const { resolve } = this.#waiting;
        this.#waiting = Promise.withResolvers();
        resolve({ kind: "changed" });
      }, this.#settleMs);
    }
  }
}

function stopSignal(): {
  readonly signalled: Promise<Happening>;
  readonly end: () => void;
} {
  const { promise, resolve } = Promise.withResolvers<Happening>();
  const handlers = STOP_SIGNALS.map((signal) => {
    const handler = (): void => resolve({ kind: "stop", signal });
    Deno.addSignalListener(signal, handler);
    return { signal, handler };
  });
  return {
    signalled: promise,
    end() {
      for (const { signal, handler } of handlers) {
        Deno.removeSignalListener(signal, handler);
      }
    },
  };
}

/** Ctrl+C goes to every process of the terminal, so the child has it too. */
function isFromTerminal(signal: Deno.Signal): boolean {
  return signal === "SIGINT" && Deno.stdin.isTerminal();
}

function kill(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGTERM");
  } catch (error) {
    // It has ended already.
    if (!(error instanceof TypeError)) throw error;
  }
}
