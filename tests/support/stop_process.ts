/**
 * Makes a process stand still.
 *
 * @module
 */

/** A busy machine delivers a signal late, to one thread after the other. */
const SETTLE_MS = 20;

/** Sends SIGSTOP and returns when no thread of the process should run any more. */
export function stopProcess(child: Deno.ChildProcess): void {
  child.kill("SIGSTOP");
  // Nothing tells when it stands; tests that go on at once may still be answered.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, SETTLE_MS);
}
