/**
 * Finds ports that another program has, before anything is started.
 *
 * @module
 */

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

/** A port that another program has. */
export interface TakenPort {
  /** The port. */
  readonly port: number;
  /** What the listener is called that wants it. */
  readonly name: string;
  /** The variable that moves that listener. */
  readonly variable: string;
}

/** Returns the ports of a service that another program has. */
export function takenPorts(
  { name, label = name, listeners }: {
    readonly name: string;
    /**
     * What tells it from others of its kind.
     *
     * @default its name
     */
    readonly label?: string | undefined;
    readonly listeners: readonly Listener[];
  },
  env: Readonly<Record<string, string>>,
): readonly TakenPort[] {
  return listeners.flatMap(({ what, hostVariable, portVariable: variable }) => {
    const hostname = env[hostVariable] ?? "127.0.0.1";
    const port = Number(env[variable]);
    const whole = what === undefined ? label : `${label} ${what}`;
    return isTaken(hostname, port) ? [{ port, name: whole, variable }] : [];
  });
}

/**
 * Names the ports that are in use, and gives one command that moves all of them.
 *
 * @param command how the person starts the services, such as `deno task dev`
 */
export function describeTaken(
  taken: readonly TakenPort[],
  command: string,
): string {
  const moved = [
    ...taken.map(({ port, variable }) => `${variable}=${otherPort(port)}`),
    command,
  ].join(" ");
  const ports = taken.map(({ port, name }) => `${port} (${name})`).join(", ");
  return taken.length === 1
    ? `Cannot start: port ${ports} is in use; free it, or start with\n\n  ${moved}`
    : `Cannot start: these ports are in use: ${ports}.\n` +
      "If the services run in another terminal already, use them, or stop them " +
      "there with Ctrl+C.\nIf other programs have the ports, free them, or start " +
      `with\n\n  ${moved}`;
}

function otherPort(port: number): number {
  return port > 60_000 ? port - 1_000 : port + 1_000;
}

function isTaken(hostname: string, port: number): boolean {
  try {
    Deno.listen({ hostname, port }).close();
    return false;
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) return true;
    throw error;
  }
}
