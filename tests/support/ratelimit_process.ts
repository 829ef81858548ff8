/**
 * The rate limit service as a process of its own, with the permissions it has
 * in production.
 *
 * @module
 */

import {
  ServiceProcess,
  type ServiceRun,
  START_MS,
} from "./service_process.ts";

/** How a {@linkcode RatelimitProcess} is started. */
export interface RatelimitProcessOptions {
  /**
   * Settings, over those that keep it on this machine, on free ports and
   * without a statistics server; an empty one counts as not set.
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
}

/** The listeners, by the names they have in log lines. */
export type RatelimitListener = "gRPC" | "HTTP" | "debug";

const LOCAL_ENV: Readonly<Record<string, string>> = {
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
    // Both public ones are told once both are open.
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
  /** Starts the process and does not wait for anything. */
  constructor(options: RatelimitProcessOptions = {}) {
    super({
      service: "ratelimit",
      env: { ...LOCAL_ENV, ...options.env },
      ...(options.args === undefined ? {} : { args: options.args }),
    });
  }

  /** What a gRPC client dials. */
  get grpcTarget(): string {
    return this.#address("gRPC");
  }

  /** Base of the public HTTP addresses, without a slash at its end. */
  get httpUrl(): string {
    return `http://${this.#address("HTTP")}`;
  }

  /** Base of the debug addresses, without a slash at its end. */
  get debugUrl(): string {
    return `http://${this.#address("debug")}`;
  }

  /** Whether the log tells that a listener is open. */
  isListening(listener: RatelimitListener): boolean {
    return this.#addressLine(listener) !== undefined;
  }

  /** Waits until the log tells where a listener is. */
  async waitForListener(listener: RatelimitListener): Promise<void> {
    await this.waitForLine(`Listening for ${listener} on `, {
      timeoutMs: START_MS,
    });
  }

  #addressLine(listener: RatelimitListener): string | undefined {
    for (const line of this.lines) {
      const found = new RegExp(`Listening for ${listener} on ([^"\\s]+)`)
        .exec(line)?.[1];
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #address(listener: RatelimitListener): string {
    const address = this.#addressLine(listener);
    if (address !== undefined) return address;
    throw this.failure(`it has not told where it listens for ${listener}`);
  }
}
