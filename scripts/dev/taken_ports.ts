/**
 * Finds ports that another program already uses, before any service is started.
 *
 * @module
 */

/**
 * A port on which a service listens, and the variables that set its address.
 */
export interface Listener {
  /**
   * The purpose of the listener, such as `metrics`.
   *
   * @default the requests of the service
   */
  readonly what?: string;
  /** The variable that sets the address. */
  readonly hostVariable: string;
  /** The variable that sets the port. */
  readonly portVariable: string;
}

/** A port that another program uses. */
export interface TakenPort {
  /** The port number. */
  readonly port: number;
  /** The name of the listener that needs the port. */
  readonly name: string;
  /** The variable that moves that listener to another port. */
  readonly variable: string;
}

/** Returns the ports of a service that another program uses. */
export function takenPorts(
  { name, label = name, listeners }: {
    readonly name: string;
    /**
     * A name that distinguishes the instance from others of the same service.
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
 * Returns a text that names the ports in use and gives one command that moves
 * all of the listeners.
 *
 * @param command The command that the user entered, such as `deno task dev`.
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
