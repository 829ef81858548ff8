/**
 * Keeps a process running and restarts it when the code has changed.
 *
 * @module
 */

import { CodeChanges } from "./code_changes.ts";
import { writeLines } from "./output.ts";

/** The process that a supervisor runs, and the files that it watches. */
export interface SupervisorOptions {
  /** Creates the command of the process; stdout and stderr have to be piped. */
  readonly command: () => Deno.Command;
  /** Receives each line that the process writes. */
  readonly write: (line: string) => void;
  /**
   * Files and folders to watch; a change in the content of a `.ts`, `.json` or
   * `.lua` file restarts the process.
   */
  readonly watched: readonly string[];
  /** Receives lines that the supervisor itself has to tell the user. */
  readonly tell: (line: string) => void;
  /**
   * How long no file must have changed before the process is restarted, in
   * milliseconds.
   *
   * @default 200
   */
  readonly settleMs?: number;
}

type Happening =
  | { readonly kind: "ended"; readonly code: number }
  | { readonly kind: "changed" }
  | { readonly kind: "stop"; readonly signal: Deno.Signal };

// SIGHUP stops, too: it is sent when the terminal is closed, and the service
// itself would take it for "reload".
const STOP_SIGNALS: readonly Deno.Signal[] = ["SIGINT", "SIGTERM", "SIGHUP"];

/** Runs a process until it is told to stop. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  /** The last line that the process wrote to stderr, once it has ended. */
  lastLine = "";
  /**
   * Whether the supervisor was told to stop; the end of the process is then not
   * a failure.
   */
  isStopped = false;

  /** Creates a supervisor; the process is not started yet. */
  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  /**
   * Runs the process until SIGINT, SIGTERM or SIGHUP. A process that ends by
   * itself is started again after the next change of the code. Only if the
   * first one ends by itself, the supervisor returns, as the service has never
   * worked.
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

  /** Passes on the output of a process until it has ended. */
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

/**
 * Returns whether a signal is from Ctrl+C at the terminal, which sends it to
 * every process there, so that the child has already received it.
 */
function isFromTerminal(signal: Deno.Signal): boolean {
  return signal === "SIGINT" && Deno.stdin.isTerminal();
}

function kill(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGTERM");
  } catch (error) {
    // The process has already ended.
    if (!(error instanceof TypeError)) throw error;
  }
}
