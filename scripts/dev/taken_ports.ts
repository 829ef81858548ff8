/**
 * Finds ports that another program has, before anything is started.
 *
 * @module
 */

/** A listener and the variables that say where it is. */
export interface Listener {
  /** What people call it. */
  readonly name: string;
  /** Variable of its address. */
  readonly hostVariable: string;
  /** Variable of its port. */
  readonly portVariable: string;
}

/** One line for each listener whose port is taken: which, and how to move it. */
export async function takenPorts(
  listeners: readonly Listener[],
  env: Readonly<Record<string, string>>,
): Promise<string[]> {
  const lines: string[] = [];
  for (const { name, hostVariable, portVariable } of listeners) {
    const hostname = env[hostVariable] ?? "127.0.0.1";
    const port = Number(env[portVariable]);
    if (await isTaken(hostname, port)) {
      lines.push(
        `Cannot start: port ${port} (${name}) is taken; free it, or start ` +
          `with ${portVariable}=${otherPort(port)} deno task dev`,
      );
    }
  }
  return lines;
}

function otherPort(port: number): number {
  return port > 60_000 ? port - 1_000 : port + 1_000;
}

// deno-lint-ignore require-await -- a promise, so that callers may wait
async function isTaken(hostname: string, port: number): Promise<boolean> {
  try {
    Deno.listen({ hostname, port }).close();
    return false;
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) return true;
    throw error;
  }
}
