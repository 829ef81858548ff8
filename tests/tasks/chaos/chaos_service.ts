/**
 * The service that the crash test harms: here one process on a data folder,
 * which is killed and started again.
 *
 * @module
 */

import type { SeededRandom } from "../../support/seeded_random.ts";
import { startTasks, type TasksProcess } from "../../support/tasks_process.ts";

/** The service under test, with what it stands on. */
export interface ChaosService {
  /**
   * Whether the service goes on answering, or does so again by itself, while it
   * is harmed.
   */
  readonly outlivesStrikes: boolean;
  /** A process that is not known to be harmed. */
  choose(random: SeededRandom): TasksProcess;
  /** Harms the service in the middle of load; returns what was done. */
  strike(random: SeededRandom): Promise<string>;
  /** Makes it whole again, after the load has ended. */
  heal(): Promise<void>;
  /** Ends the service in order; returns what went wrong. */
  stop(): Promise<readonly string[]>;
  /** Ends everything at once; a second call does nothing. */
  kill(): Promise<void>;
}

/** A single process. */
export class SingleService implements ChaosService {
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

async function start(dataDir: string): Promise<TasksProcess> {
  return await startTasks({ dataDir, env: { LOG_LEVEL: "info" } });
}
