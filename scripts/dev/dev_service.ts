/**
 * Describes a service as `deno task dev` runs it.
 *
 * @module
 */

import type { ServiceName } from "../permissions.ts";
import type { DataFolder } from "./data_folders.ts";
import type { Listener } from "./taken_ports.ts";

type Read = (name: string) => string | undefined;
type Environment = Readonly<Record<string, string>>;

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
  readonly environment: (read: Read) => Environment | Promise<Environment>;
  /** Returns the URL that answers 200 once the service is ready. */
  readonly readyUrl: (env: Environment) => string;
  /**
   * Returns the text that is shown once the service is ready: what a newcomer
   * needs to know; `deno` is the command with which the user runs Deno.
   */
  readonly announcement: (
    env: Environment,
    deno: string,
  ) => string | Promise<string>;
}

/** What a service that keeps data has of its own. */
interface StoringService extends Pick<DevService, "name" | "announcement"> {
  /**
   * A name that tells instances of one service apart.
   *
   * @default its name
   */
  readonly label?: string;
  /** The port of its requests, unless a variable sets another one. */
  readonly port: number;
  /** The port of its metrics, unless a variable sets another one. */
  readonly metricsPort: number;
  /** The path that answers 200 once the service is ready. */
  readonly readyPath: string;
  /** Settings beside its addresses and its data folder. */
  readonly settings: (read: Read) => Environment | Promise<Environment>;
}

/**
 * Describes a service that keeps data. As it shares its environment with other
 * services, the variables of its addresses and its folder begin with its name,
 * such as TASKS_PORT.
 */
export function storingService(
  { port, metricsPort, readyPath, settings, ...own }: StoringService,
): DevService {
  const { name, label = name } = own;
  const prefix = label.toUpperCase().replace(" ", "_");
  const folder = `.tercet/${label.replace(" ", "-")}`;
  return {
    ...own,
    listeners: [
      { hostVariable: "HOST", portVariable: `${prefix}_PORT` },
      {
        what: "metrics",
        hostVariable: "METRICS_HOST",
        portVariable: `${prefix}_METRICS_PORT`,
      },
    ],
    dataFolder: { variable: `${prefix}_DATA_DIR`, path: folder },
    async environment(read) {
      const set = withDefaults({
        [`${prefix}_HOST`]: "127.0.0.1",
        [`${prefix}_PORT`]: String(port),
        [`${prefix}_METRICS_PORT`]: String(metricsPort),
        [`${prefix}_DATA_DIR`]: folder,
      }, read);
      return {
        ...set,
        HOST: set[`${prefix}_HOST`] ?? "",
        PORT: set[`${prefix}_PORT`] ?? "",
        METRICS_HOST: read("METRICS_HOST") || "127.0.0.1",
        METRICS_PORT: set[`${prefix}_METRICS_PORT`] ?? "",
        DATA_DIR: set[`${prefix}_DATA_DIR`] ?? "",
        LOG_LEVEL: read("LOG_LEVEL") || "info",
        ...await settings(read),
      };
    },
    readyUrl: (env) => `http://127.0.0.1:${env["PORT"]}${readyPath}`,
  };
}

/**
 * Returns the named variables with the values that are set, or else with their
 * defaults.
 */
export function withDefaults(
  defaults: Environment,
  read: Read,
): Environment {
  return Object.fromEntries(
    Object.entries(defaults).map(([name, value]) => [
      name,
      read(name) || value,
    ]),
  );
}
