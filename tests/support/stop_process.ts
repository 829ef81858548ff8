/**
 * Pauses a process, so that a test sees a server that hangs.
 *
 * @module
 */

/**
 * How long to wait after SIGSTOP in milliseconds: a busy machine delivers it
 * late, to one thread after the other.
 */
const SETTLE_MS = 20;

/**
 * Sends SIGSTOP and returns when all threads of the process should be paused.
 */
export function stopProcess(child: Deno.ChildProcess): void {
  child.kill("SIGSTOP");
  // Nothing reports that the process is paused; a test that went on at once
  // might still get an answer.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, SETTLE_MS);
}
