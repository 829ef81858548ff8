/**
 * The tasks service as a process of its own, with the permissions it has in
 * production.
 *
 * @module
 */

import {
  ServiceProcess,
  type ServiceRun,
  START_MS,
} from "./service_process.ts";

/** How a {@linkcode TasksProcess} is started. */
export interface TasksProcessOptions {
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
}

const LOCAL_ENV: Readonly<Record<string, string>> = {
  HOST: "127.0.0.1",
  PORT: "0",
  SERVICE_HOST: "tasks.test",
  ACCOUNTS_MODE: "open",
  SIGNUPS_PER_HOUR: "1000",
  PUSH_ALLOW: "127.0.0.1",
  PUSH_ALLOW_HTTP: "true",
};

/** Starts the service and waits until it listens. */
export async function startTasks(
  options: TasksProcessOptions,
): Promise<TasksProcess> {
  const service = new TasksProcess(options);
  try {
    await service.waitForLine("Listening on ", { timeoutMs: START_MS });
  } catch (error) {
    await service.kill();
    throw error;
  }
  return service;
}

/** Runs the program to its end, for commands and for starts that fail. */
export async function runTasks(
  options: TasksProcessOptions,
): Promise<ServiceRun> {
  await using service = new TasksProcess(options);
  const code = await service.waitForExit(START_MS);
  return { code, stdout: service.stdout, stderr: service.stderr };
}

/** A process of the service, from its start to its end. */
export class TasksProcess extends ServiceProcess {
  /** Starts the process and does not wait for anything. */
  constructor({ dataDir, env, args }: TasksProcessOptions) {
    super({
      service: "tasks",
      env: { ...LOCAL_ENV, DATA_DIR: dataDir, ...env },
      ...(args === undefined ? {} : { args }),
    });
  }

  /** Base of its addresses, without a slash at its end. */
  get url(): string {
    for (const line of this.lines) {
      const found = /Listening on (https?:\/\/[^"\s]+)/.exec(line)?.[1];
      if (found !== undefined) return found;
    }
    throw this.failure("it has not told where it listens");
  }
}
