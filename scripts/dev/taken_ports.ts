/**
 * Finds ports that another program has, before anything is started.
 *
 * @module
 */

import { takenPort } from "../../services/shared/http/open_port.ts";

/** A listener and the variables that say where it is. */
export interface Listener {
  /**
   * What it is for, such as `metrics`.
   *
   * @default the requests of the service
   */
  readonly what?: string;
  /** Variable of its address. */
  readonly hostVariable: string;
  /** Variable of its port. */
  readonly portVariable: string;
}

/** One line for each listener whose port is taken: which, and how to move it. */
export async function takenPorts(
  { listeners, ...service }: {
    readonly name: string;
    readonly label?: string | undefined;
    readonly listeners: readonly Listener[];
  },
  env: Readonly<Record<string, string>>,
): Promise<string[]> {
  const lines: string[] = [];
  for (const { what, hostVariable, portVariable } of listeners) {
    const hostname = env[hostVariable] ?? "127.0.0.1";
    const port = Number(env[portVariable]);
    if (await isTaken(hostname, port)) {
      lines.push(
        takenPort({
          service: service.label ?? service.name,
          ...(what === undefined ? {} : { what }),
          host: hostname,
          port,
        }, {
          remedy: `start with ${portVariable}=${otherPort(port)} deno task dev`,
        }),
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
