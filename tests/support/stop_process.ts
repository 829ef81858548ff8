/**
 * Makes a process stand still, and knows when it does.
 *
 * @module
 */

/** A busy machine delivers signals late, threads one after the other. */
const MAX_WAIT_MS = 1_000;

/**
 * Sends SIGSTOP and returns when no thread of the process runs any more, where
 * the system tells; a second later in any case.
 */
export function stopProcess(child: Deno.ChildProcess): void {
  child.kill("SIGSTOP");
  const endMs = performance.now() + MAX_WAIT_MS;
  while (performance.now() < endMs && mayRun(child.pid));
}

function mayRun(pid: number): boolean {
  try {
    for (const { name } of Deno.readDirSync(`/proc/${pid}/task`)) {
      const stat = Deno.readTextFileSync(`/proc/${pid}/task/${name}/stat`);
      // The state is behind the name, which may hold anything.
      if (stat[stat.lastIndexOf(")") + 2] !== "T") return true;
    }
    return false;
  } catch (error) {
    // Another system than Linux, or the process has ended.
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
