/**
 * The tasks service as a process of its own, with its production permissions.
 *
 * @module
 */

import {
  type DataServiceOptions,
  DataServiceProcess,
  listening,
  runToEnd,
} from "./data_service_process.ts";
import type { ServiceRun } from "./service_process.ts";

const LOCAL_ENV: Readonly<Record<string, string>> = {
  HOST: "127.0.0.1",
  PORT: "0",
  METRICS_PORT: "0",
  SERVICE_HOST: "tasks.test",
  ACCOUNTS_MODE: "open",
  SIGNUPS_PER_HOUR: "1000",
  PUSH_ALLOW: "127.0.0.1",
  PUSH_ALLOW_HTTP: "true",
};

/** Starts the service and waits until it listens. */
export function startTasks(options: DataServiceOptions): Promise<TasksProcess> {
  return listening(new TasksProcess(options));
}

/** Runs the program to its end, for commands and for starts that fail. */
export function runTasks(options: DataServiceOptions): Promise<ServiceRun> {
  return runToEnd(new TasksProcess(options));
}

/** A process of the service, from its start to its end. */
export class TasksProcess extends DataServiceProcess {
  /** Starts the process without waiting for anything. */
  constructor({ dataDir, env, args, fromSource }: DataServiceOptions) {
    super({
      service: "tasks",
      env: { ...LOCAL_ENV, DATA_DIR: dataDir, ...env },
      ...(args === undefined ? {} : { args }),
      fromSource,
    });
  }
}
