/**
 * Describes a service as `deno task dev` runs it.
 *
 * @module
 */

import type { ServiceName } from "../permissions.ts";
import type { DataFolder } from "./data_folders.ts";
import type { Listener } from "./taken_ports.ts";

/** How a service runs in development. */
export interface DevService {
  /** The name of the service. */
  readonly name: ServiceName;
  /**
   * The prefix of the service's output lines, which distinguishes several
   * instances of one service.
   *
   * @default its name
   */
  readonly label?: string | undefined;
  /** The ports on which the service listens. */
  readonly listeners: readonly Listener[];
  /** The folder for the service's data; absent when it stores none. */
  readonly dataFolder?: DataFolder;
  /**
   * Returns the environment of the service: values that are already set, and
   * for the others defaults that suit development.
   */
  readonly environment: (
    read: (name: string) => string | undefined,
  ) =>
    | Readonly<Record<string, string>>
    | Promise<Readonly<Record<string, string>>>;
  /** Returns the URL that answers 200 once the service is ready. */
  readonly readyUrl: (env: Readonly<Record<string, string>>) => string;
  /**
   * Returns the text that is shown once the service is ready: what a newcomer
   * needs to know; `deno` is the command with which the user runs Deno.
   */
  readonly announcement: (
    env: Readonly<Record<string, string>>,
    deno: string,
  ) => string | Promise<string>;
}

/**
 * Returns the named variables with the values that are set, or else with their
 * defaults.
 */
export function withDefaults(
  defaults: Readonly<Record<string, string>>,
  read: (name: string) => string | undefined,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(defaults).map(([name, value]) => [
      name,
      read(name) || value,
    ]),
  );
}
