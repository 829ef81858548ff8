/**
 * Several instances of the service on a PostgreSQL with standbys, which the
 * crash test harms one after the other: instances and servers are killed,
 * stopped and stalled.
 *
 * @module
 */

import { PostgresGroup } from "../../support/postgres_group.ts";
import type { SeededRandom } from "../../support/seeded_random.ts";
import { startTasks, type TasksProcess } from "../../support/tasks_process.ts";
import { hostClient, SERVICE_HOST } from "../tenant_client.ts";
import { pause } from "./chaos_clients.ts";
import type { ChaosService } from "./chaos_service.ts";

/** Options of {@linkcode PostgresCluster.start}. */
export interface PostgresClusterOptions {
  /** A folder for the instances' own files. */
  readonly folder: string;
  /**
   * How many instances there are.
   *
   * @default {3}
   */
  readonly instances?: number;
  /**
   * The harms that are done, in turns.
   *
   * @default all
   */
  readonly harms?: readonly Harm[];
}

/** What is done to the service. */
export type Harm =
  | "kill instance"
  | "stop instance"
  | "stall instance"
  | "kill primary"
  | "kill standby";

const HARMS: readonly Harm[] = [
  "kill primary",
  "kill instance",
  "stop instance",
  "kill primary",
  "kill standby",
  "stall instance",
];
/** How long an instance is stalled, in milliseconds: past its end as a member. */
const STALL_MS = 12_000;
/** The longest from the promotion to the first write, in milliseconds. */
const WRITES_AGAIN_MS = 2_000;
/** How often it is asked for. */
const PROBE_MS = 10;

/** Instances on one database. */
export class PostgresCluster implements ChaosService {
  /** True: the other instances answer. */
  readonly outlivesStrikes = true;
  /** Milliseconds from each promotion to the first write that was answered. */
  readonly writesAgainMs: number[] = [];
  readonly #group: PostgresGroup;
  readonly #options: PostgresClusterOptions;
  readonly #running = new Set<TasksProcess>();
  readonly #faults: string[] = [];
  #strikes = 0;

  private constructor(group: PostgresGroup, options: PostgresClusterOptions) {
    this.#group = group;
    this.#options = options;
  }

  /** Starts the servers and the instances. */
  static async start(
    options: PostgresClusterOptions,
  ): Promise<PostgresCluster> {
    const cluster = new PostgresCluster(await PostgresGroup.start(), options);
    try {
      await cluster.heal();
      return cluster;
    } catch (error) {
      await cluster.kill();
      throw error;
    }
  }

  /** An instance that was not harmed. */
  choose(random: SeededRandom): TasksProcess {
    return random.pick([...this.#running]);
  }

  /** Does the next harm. */
  async strike(random: SeededRandom): Promise<string> {
    const { harms = HARMS } = this.#options;
    const harm = harms[this.#strikes++ % harms.length]!;
    switch (harm) {
      case "kill instance":
        await this.#take(random).kill();
        break;
      case "stop instance":
        await this.#stop(this.#take(random));
        break;
      case "stall instance":
        await this.#stall(this.#take(random));
        break;
      case "kill standby":
        await this.#group.killStandby();
        break;
      case "kill primary":
        await this.#failOver(random);
    }
    return harm;
  }

  /** Starts what is missing. */
  async heal(): Promise<void> {
    await this.#group.heal();
    const { instances = 3 } = this.#options;
    while (this.#running.size < instances) await this.#start();
  }

  /** Stops the instances, then the servers. */
  async stop(): Promise<readonly string[]> {
    for (const instance of [...this.#running]) {
      this.#running.delete(instance);
      await this.#stop(instance);
    }
    await this.#group.stop();
    return this.#faults;
  }

  /** Ends everything at once. */
  async kill(): Promise<void> {
    await Promise.all([...this.#running].map((instance) => instance.kill()));
    this.#running.clear();
    await this.#group.stop();
  }

  async #start(): Promise<void> {
    const { folder } = this.#options;
    this.#running.add(
      await startTasks({
        dataDir: folder,
        env: {
          LOG_LEVEL: "info",
          STORE: "postgres",
          DATABASE_URL: this.#group.url,
        },
      }),
    );
  }

  /** An instance that from now on is asked nothing. */
  #take(random: SeededRandom): TasksProcess {
    const instance = this.choose(random);
    this.#running.delete(instance);
    return instance;
  }

  async #stop(instance: TasksProcess): Promise<void> {
    const code = await instance.stop();
    if (code !== 0) this.#faults.push(`an instance ended with ${code}`);
  }

  /** Lets others take over from an instance that then goes on. */
  async #stall(instance: TasksProcess): Promise<void> {
    instance.signal("SIGSTOP");
    await pause(STALL_MS);
    instance.signal("SIGCONT");
    this.#running.add(instance);
  }

  async #failOver(random: SeededRandom): Promise<void> {
    const promotedAtMs = await this.#group.failOver();
    using client = hostClient(this.choose(random), `accounts.${SERVICE_HOST}`);
    const domain = `probe${this.writesAgainMs.length}`;
    let tookMs = 0;
    for (let tries = 0; tries < 1_000; tries++) {
      const status = await client.call("POST", "/", { body: { domain } })
        .then((answer) => answer.status, () => 503);
      tookMs = performance.now() - promotedAtMs;
      // Taken: an earlier try was applied, and its answer was lost.
      if (status === 201 || status === 409) break;
      await pause(PROBE_MS);
    }
    this.writesAgainMs.push(tookMs);
    if (tookMs > WRITES_AGAIN_MS) {
      this.#faults.push(`no write for ${Math.round(tookMs)} ms after it`);
    }
  }
}
