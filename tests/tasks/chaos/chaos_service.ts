/**
 * The service that the crash test harms: one process on a data folder, which is
 * killed and started again, or instances on a database with standbys.
 *
 * @module
 */

import type { ChaosService } from "../../support/chaos/chaos_service.ts";
import {
  PostgresCluster,
  type PostgresClusterOptions,
} from "../../support/chaos/postgres_cluster.ts";
import { startTasks, type TasksProcess } from "../../support/tasks_process.ts";
import { hostClient, SERVICE_HOST } from "../tenant_client.ts";

/** A single process. */
export class SingleService implements ChaosService<TasksProcess> {
  /** False: the process is gone until it is started again. */
  readonly outlivesStrikes = false;
  readonly #dataDir: string;
  #process: TasksProcess;

  private constructor(dataDir: string, process: TasksProcess) {
    this.#dataDir = dataDir;
    this.#process = process;
  }

  /** Starts the process. */
  static async start(dataDir: string): Promise<SingleService> {
    return new SingleService(dataDir, await start(dataDir));
  }

  /** The only process. */
  choose(): TasksProcess {
    return this.#process;
  }

  /** Kills the process. */
  async strike(): Promise<string> {
    await this.#process.kill();
    return "kill";
  }

  /** Starts another process on the folder. */
  async heal(): Promise<void> {
    this.#process = await start(this.#dataDir);
  }

  /** Stops the process. */
  async stop(): Promise<readonly string[]> {
    const code = await this.#process.stop();
    return code === 0 ? [] : [`the service ended with ${code}`];
  }

  /** Kills the process. */
  async kill(): Promise<void> {
    await this.#process.kill();
  }
}

/** Starts instances on a database; `folder` is for their own files. */
export function startCluster(
  { folder, ...options }:
    & Pick<
      PostgresClusterOptions<TasksProcess>,
      "instances" | "harms" | "maxOutageMs"
    >
    & { readonly folder: string },
): Promise<PostgresCluster<TasksProcess>> {
  let probes = 0;
  return PostgresCluster.start({
    ...options,
    startInstance: ({ url }) =>
      start(folder, { STORE: "postgres", DATABASE_URL: url }),
    async tryWrite(instance) {
      using client = hostClient(instance, `accounts.${SERVICE_HOST}`);
      const body = { domain: `probe${probes++}` };
      const status = await client.call("POST", "/", { body })
        .then((answer) => answer.status, () => 503);
      return status === 201;
    },
  });
}

async function start(
  dataDir: string,
  env: Readonly<Record<string, string>> = {},
): Promise<TasksProcess> {
  return await startTasks({ dataDir, env: { LOG_LEVEL: "info", ...env } });
}
