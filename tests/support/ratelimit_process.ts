/**
 * The rate limit service as a process of its own, with its production
 * permissions.
 *
 * @module
 */

import {
  ServiceProcess,
  type ServiceRun,
  START_MS,
} from "./service_process.ts";

/** Options of {@linkcode RatelimitProcess}. */
export interface RatelimitProcessOptions {
  /**
   * Settings that take precedence over the defaults, which keep the service on
   * this machine, on free ports and without a statistics server; an empty value
   * counts as not set.
   *
   * @default none
   */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Arguments of the program.
   *
   * @default none, which serves
   */
  readonly args?: readonly string[];
  /**
   * Whether the process runs the source even where there is a bundle.
   *
   * @default {false}
   */
  readonly fromSource?: boolean;
}

/** The listeners of the service, by their names in log lines. */
export type RatelimitListener = "gRPC" | "HTTP" | "debug";

/** Settings that keep the service on this machine and on free ports. */
export const LOCAL_ENV: Readonly<Record<string, string>> = {
  HOST: "127.0.0.1",
  PORT: "0",
  GRPC_HOST: "127.0.0.1",
  GRPC_PORT: "0",
  DEBUG_HOST: "127.0.0.1",
  DEBUG_PORT: "0",
  DISABLE_STATS: "true",
};

/** Starts the service and waits for all its listeners. */
export async function startRatelimit(
  options: RatelimitProcessOptions = {},
): Promise<RatelimitProcess> {
  const service = new RatelimitProcess(options);
  try {
    // The lines for gRPC and HTTP are logged once both are open.
    await service.waitForListener("debug");
    await service.waitForListener("HTTP");
  } catch (error) {
    await service.kill();
    throw error;
  }
  return service;
}

/** Runs the program to its end, for commands and for starts that fail. */
export async function runRatelimit(
  options: RatelimitProcessOptions = {},
): Promise<ServiceRun> {
  await using service = new RatelimitProcess(options);
  const code = await service.waitForExit(START_MS);
  return { code, stdout: service.stdout, stderr: service.stderr };
}

/** A process of the service, from its start to its end. */
export class RatelimitProcess extends ServiceProcess {
  /** Starts the process without waiting for anything. */
  constructor(options: RatelimitProcessOptions = {}) {
    super({
      service: "ratelimit",
      env: { ...LOCAL_ENV, ...options.env },
      ...(options.args === undefined ? {} : { args: options.args }),
      fromSource: options.fromSource,
    });
  }

  /** The address to which a gRPC client connects. */
  get grpcTarget(): string {
    return this.#address("gRPC");
  }

  /** The base URL of the public HTTP listener, without a slash at its end. */
  get httpUrl(): string {
    return `http://${this.#address("HTTP")}`;
  }

  /** The base URL of the debug listener, without a slash at its end. */
  get debugUrl(): string {
    return `http://${this.#address("debug")}`;
  }

  /** Returns whether the log says that a listener is open. */
  isListening(listener: RatelimitListener): boolean {
    return listenerAddress(this.lines, listener) !== undefined;
  }

  /** Waits until the log says where a listener is. */
  async waitForListener(listener: RatelimitListener): Promise<void> {
    await this.waitForLine(`Listening for ${listener} on `, {
      timeoutMs: START_MS,
    });
  }

  #address(listener: RatelimitListener): string {
    const address = listenerAddress(this.lines, listener);
    if (address !== undefined) return address;
    throw this.failure(`it has not told where it listens for ${listener}`);
  }
}

/** Returns where a listener is by the lines of a log. */
export function listenerAddress(
  lines: readonly string[],
  listener: RatelimitListener,
): string | undefined {
  const pattern = new RegExp(`Listening for ${listener} on ([^"\\s]+)`);
  return lines.map((line) => pattern.exec(line)?.[1])
    .find((address) => address !== undefined);
}
