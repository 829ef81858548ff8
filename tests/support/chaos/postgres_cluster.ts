/**
 * Several instances of a service on a PostgreSQL with standbys, which a crash
 * test harms one after the other: instances and servers are killed, stopped and
 * stalled.
 *
 * @module
 */

import { PostgresGroup } from "../postgres_group.ts";
import type { SeededRandom } from "../seeded_random.ts";
import type { ServiceProcess } from "../service_process.ts";
import { type ChaosService, pause } from "./chaos_service.ts";

/** Options of {@linkcode PostgresCluster.start}. */
export interface PostgresClusterOptions<Process extends ServiceProcess> {
  /** Starts an instance on the servers. */
  readonly startInstance: (group: PostgresGroup) => Promise<Process>;
  /** Tries a write that changes nothing else; returns whether it was answered. */
  readonly tryWrite: (instance: Process) => Promise<boolean>;
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
  /**
   * The longest from a promotion to the first write, in milliseconds; below a
   * minute. A test that runs beside many others has to wait for the processor.
   *
   * @default {2_000}
   */
  readonly maxOutageMs?: number;
}

/** What can be done to the service. */
export const HARMS = [
  "kill instance",
  "stop instance",
  "stall instance",
  "kill primary",
  "kill standby",
] as const;

/** What is done to the service. */
export type Harm = typeof HARMS[number];

/** One after the other. */
const TURNS: readonly Harm[] = [
  "kill primary",
  "kill instance",
  "stop instance",
  "kill primary",
  "kill standby",
  "stall instance",
];
/** How long an instance is stalled, in milliseconds: past its end as a member. */
const STALL_MS = 12_000;
const MAX_OUTAGE_MS = 2_000;
/** The longest that a first write is waited for, in milliseconds. */
const GIVEN_UP_MS = 60_000;
/** How often it is tried. */
const PROBE_MS = 10;

/** Instances on one database. */
export class PostgresCluster<Process extends ServiceProcess>
  implements ChaosService<Process> {
  /** True: the other instances answer. */
  readonly outlivesStrikes = true;
  /** Milliseconds from each promotion to the first write that was answered. */
  readonly writesAgainMs: number[] = [];
  /** The servers. */
  readonly group: PostgresGroup;
  readonly #options: PostgresClusterOptions<Process>;
  readonly #running = new Set<Process>();
  /** What went wrong while it was harmed or stopped. */
  readonly faults: string[] = [];
  #strikes = 0;

  private constructor(
    group: PostgresGroup,
    options: PostgresClusterOptions<Process>,
  ) {
    this.group = group;
    this.#options = options;
  }

  /** Starts the servers and the instances. */
  static async start<Process extends ServiceProcess>(
    options: PostgresClusterOptions<Process>,
  ): Promise<PostgresCluster<Process>> {
    const cluster = new PostgresCluster(await PostgresGroup.start(), options);
    try {
      await cluster.heal();
      return cluster;
    } catch (error) {
      await cluster.kill();
      throw error;
    }
  }

  /** The instances that were not harmed. */
  get running(): readonly Process[] {
    return [...this.#running];
  }

  /** An instance that was not harmed. */
  choose(random: SeededRandom): Process {
    return random.pick([...this.#running]);
  }

  /** Does the next harm. */
  async strike(random: SeededRandom): Promise<string> {
    const { harms = TURNS } = this.#options;
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
        await this.group.killStandby();
        break;
      case "kill primary":
        await this.#failOver(random);
    }
    return harm;
  }

  /** Starts what is missing. */
  async heal(): Promise<void> {
    await this.group.heal();
    const { instances = 3 } = this.#options;
    while (this.#running.size < instances) await this.#start();
  }

  /** Stops the instances, then the servers. */
  async stop(): Promise<readonly string[]> {
    await this.stopInstances();
    await this.group.stop();
    return this.faults;
  }

  /** Stops the instances; `heal` starts others. */
  async stopInstances(): Promise<void> {
    for (const instance of [...this.#running]) {
      this.#running.delete(instance);
      await this.#stop(instance);
    }
  }

  /** Ends everything at once. */
  async kill(): Promise<void> {
    await Promise.all([...this.#running].map((instance) => instance.kill()));
    this.#running.clear();
    await this.group.stop();
  }

  async #start(): Promise<void> {
    this.#running.add(await this.#options.startInstance(this.group));
  }

  /** An instance that from now on is asked nothing. */
  #take(random: SeededRandom): Process {
    const instance = this.choose(random);
    this.#running.delete(instance);
    return instance;
  }

  async #stop(instance: Process): Promise<void> {
    const code = await instance.stop();
    if (code !== 0) this.faults.push(`an instance ended with ${code}`);
  }

  /** Lets others take over from an instance that then goes on. */
  async #stall(instance: Process): Promise<void> {
    instance.signal("SIGSTOP");
    await pause(STALL_MS);
    instance.signal("SIGCONT");
    this.#running.add(instance);
  }

  async #failOver(random: SeededRandom): Promise<void> {
    const promotedAtMs = await this.group.failOver();
    const instance = this.choose(random);
    let tookMs = 0;
    while (tookMs < GIVEN_UP_MS) {
      const isAnswered = await this.#options.tryWrite(instance);
      tookMs = performance.now() - promotedAtMs;
      if (isAnswered) break;
      await pause(PROBE_MS);
    }
    this.writesAgainMs.push(tookMs);
    const { maxOutageMs = MAX_OUTAGE_MS } = this.#options;
    if (tookMs > maxOutageMs) {
      this.faults.push(`no write for ${Math.round(tookMs)} ms after it`);
    }
  }
}
