/**
 * Keeps one process running and restarts it when the code has changed.
 *
 * @module
 */

import { CodeChanges } from "./code_changes.ts";
import { writeLines } from "./output.ts";

/** What a supervisor runs and watches. */
export interface SupervisorOptions {
  /** Makes the process, whose output is piped. */
  readonly command: () => Deno.Command;
  /** Takes each line that the process writes. */
  readonly write: (line: string) => void;
  /** Files and folders; what their `.ts`, `.json` and `.lua` files hold counts. */
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

// A terminal that is closed says SIGHUP, which the service takes for "reload".
const STOP_SIGNALS: readonly Deno.Signal[] = ["SIGINT", "SIGTERM", "SIGHUP"];

/** Runs the process until it is told to stop. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  /** The last line that the process has written to stderr. */
  lastLine = "";
  /** Whether it was told to stop, so that an end is no failure. */
  isStopped = false;

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
    const changes = new CodeChanges(
      this.#options.watched,
      this.#options.settleMs ?? 200,
    );
    const stop = stopSignal(() => {
      this.isStopped = true;
    });
    try {
      return await this.#supervise(changes, stop.signalled);
    } finally {
      stop.end();
      changes.end();
    }
  }

  async #supervise(
    changes: CodeChanges,
    stopped: Promise<Happening>,
  ): Promise<number> {
    for (let round = 1;; round++) {
      const child = this.#options.command().spawn();
      const written = this.#follow(child);
      const ended = written.then(() => child.status).then((
        { code },
      ): Happening => ({ kind: "ended", code }));
      const changed = (): Promise<Happening> =>
        changes.next().then(() => ({ kind: "changed" }));
      let happening = await Promise.race([ended, changed(), stopped]);
      if (happening.kind === "ended") {
        const { code } = happening;
        if (round === 1) return code;
        this.#options.tell(
          `The service ended with ${code}; waiting for a change`,
        );
        happening = await Promise.race([changed(), stopped]);
        if (happening.kind === "stop") return code;
      } else if (happening.kind === "stop") {
        if (!isFromTerminal(happening.signal)) kill(child);
        await written;
        return (await child.status).code;
      }
      this.#options.tell("The code has changed; restarting");
      kill(child);
      await written;
      await child.status;
    }
  }

  /** Hands on what a process writes until it has ended. */
  async #follow(child: Deno.ChildProcess): Promise<void> {
    const { write } = this.#options;
    const [, last] = await Promise.all([
      writeLines(child.stdout, write),
      writeLines(child.stderr, write),
    ]);
    this.lastLine = last;
  }
}

function stopSignal(onStop: () => void): {
  readonly signalled: Promise<Happening>;
  readonly end: () => void;
} {
  const { promise, resolve } = Promise.withResolvers<Happening>();
  const handlers = STOP_SIGNALS.map((signal) => {
    const handler = (): void => {
      onStop();
      resolve({ kind: "stop", signal });
    };
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
