/**
 * The common part of services that keep data in a folder, as processes in
 * tests.
 *
 * @module
 */

import {
  ServiceProcess,
  type ServiceRun,
  START_MS,
} from "./service_process.ts";

/** Options for starting a service. */
export interface DataServiceOptions {
  /** The data folder of the service. */
  readonly dataDir: string;
  /**
   * Settings that take precedence over the defaults, which keep the service on
   * this machine and on a free port.
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
   * Flags of the runtime, beside the permissions.
   *
   * @default none
   */
  readonly runtimeFlags?: readonly string[];
  /**
   * Whether the process runs the source even where there is a bundle.
   *
   * @default {false}
   */
  readonly fromSource?: boolean;
}

/** A process of such a service, from its start to its end. */
export class DataServiceProcess extends ServiceProcess {
  /** The base URL of the service, without a slash at its end. */
  get url(): string {
    for (const line of this.lines) {
      const found = /Listening on (https?:\/\/[^"\s]+)/.exec(line)?.[1];
      if (found !== undefined) return found;
    }
    throw this.failure("it has not told where it listens");
  }
}

/** Waits until a process listens; kills it when that fails. */
export async function listening<Process extends DataServiceProcess>(
  service: Process,
): Promise<Process> {
  try {
    await service.waitForLine("Listening on ", { timeoutMs: START_MS });
  } catch (error) {
    await service.kill();
    throw error;
  }
  return service;
}

/** Waits for the end of a process that runs a command or whose start fails. */
export async function runToEnd(
  started: DataServiceProcess,
): Promise<ServiceRun> {
  await using service = started;
  const code = await service.waitForExit(START_MS);
  return { code, stdout: service.stdout, stderr: service.stderr };
}

/** Runs tests that share something, such as a service, as steps of one test. */
export async function runSteps<Shared>(
  t: Deno.TestContext,
  shared: Shared,
  steps: Readonly<Record<string, (shared: Shared) => Promise<void>>>,
): Promise<void> {
  for (const [name, run] of Object.entries(steps)) {
    await t.step(name, () => run(shared));
  }
}
