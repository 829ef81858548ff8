/**
 * A service as `deno task dev` runs it.
 *
 * @module
 */

import type { ServiceName } from "../permissions.ts";
import type { DataFolder } from "./data_folders.ts";
import type { Listener } from "./taken_ports.ts";

/** How a service runs in development. */
export interface DevService {
  /** Its name. */
  readonly name: ServiceName;
  /**
   * What its lines begin with.
   *
   * @default its name
   */
  readonly label?: string | undefined;
  /** Its listeners. */
  readonly listeners: readonly Listener[];
  /** Where it keeps its data, when it keeps any. */
  readonly dataFolder?: DataFolder;
  /** Its environment: what is set, else what suits development. */
  readonly environment: (
    read: (name: string) => string | undefined,
  ) =>
    | Readonly<Record<string, string>>
    | Promise<Readonly<Record<string, string>>>;
  /** What answers 200 once it is ready. */
  readonly readyUrl: (env: Readonly<Record<string, string>>) => string;
  /** What a newcomer needs to know once it is ready; `deno` is how to call Deno. */
  readonly announcement: (
    env: Readonly<Record<string, string>>,
    deno: string,
  ) => string | Promise<string>;
}

/** Variables as they are set, or else their defaults. */
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
