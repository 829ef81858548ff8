/**
 * Signals from the operating system, and the end of the process, behind a port
 * that tests can play.
 *
 * @module
 */

/**
 * The signals a service listens to. `SIGUSR1` is never among them: the runtime
 * opens a debugger port on it.
 */
export type ProcessSignal = "SIGTERM" | "SIGINT" | "SIGHUP";

/** Where signals come from. */
export interface SignalSource {
  /**
   * Calls `callback` for each signal of that kind.
   *
   * @returns Ends the listening; harmless when called twice.
   */
  listen(signal: ProcessSignal, callback: () => void): () => void;
  /**
   * Ends the process at once, whatever still runs in it. Absent where signals
   * are only played.
   */
  exit?(code: number): void;
}

/** The signals of this process. */
export const processSignals: SignalSource = {
  listen(signal, callback) {
    Deno.addSignalListener(signal, callback);
    return () => Deno.removeSignalListener(signal, callback);
  },
  exit: (code) => Deno.exit(code),
};
