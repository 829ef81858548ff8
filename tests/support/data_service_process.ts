/**
 * What services with a folder of data have in common as processes.
 *
 * @module
 */

import {
  ServiceProcess,
  type ServiceRun,
  START_MS,
} from "./service_process.ts";

/** How a service is started. */
export interface DataServiceOptions {
  /** The folder of its data. */
  readonly dataDir: string;
  /**
   * Settings, over those that keep it on this machine and on a free port.
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
}

/** A process of such a service, from its start to its end. */
export class DataServiceProcess extends ServiceProcess {
  /** Base of its addresses, without a slash at its end. */
  get url(): string {
    for (const line of this.lines) {
      const found = /Listening on (https?:\/\/[^"\s]+)/.exec(line)?.[1];
      if (found !== undefined) return found;
    }
    throw this.failure("it has not told where it listens");
  }
}

/** Waits until a process listens; ends it when that fails. */
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

/** Waits for the end of a process, for commands and for starts that fail. */
export async function runToEnd(
  started: DataServiceProcess,
): Promise<ServiceRun> {
  await using service = started;
  const code = await service.waitForExit(START_MS);
  return { code, stdout: service.stdout, stderr: service.stderr };
}
