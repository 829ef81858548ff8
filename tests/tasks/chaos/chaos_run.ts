/**
 * The crash test of the tasks service: repeatedly harms it under load, and
 * checks each time whether everything that it had acknowledged still holds.
 *
 * @module
 */

import {
  type ChaosService,
  loadFor,
  pause,
} from "../../support/chaos/chaos_service.ts";
import { SeededRandom } from "../../support/seeded_random.ts";
import type { TasksProcess } from "../../support/tasks_process.ts";
import { PushReceiver } from "../push_receiver.ts";
import { type TaskJson, TasksClient } from "../tasks_client.ts";
import { createOwnerKey, getTarget, SERVICE_HOST } from "../tenant_client.ts";
import { Acknowledged, type KnownTask } from "./acknowledged.ts";
import {
  cancelSome,
  type ChaosWorld,
  createBatches,
  createSingles,
  sendEvents,
  sendKeyed,
} from "./chaos_clients.ts";
import { ChaosWorker } from "./chaos_workers.ts";
import { verifyEnds, verifyTasks } from "./verify_tasks.ts";

/** Options of a crash test. */
export interface ChaosOptions {
  /** The service, which is ended at the end. */
  readonly service: ChaosService<TasksProcess>;
  /** Number of times that the service is harmed. */
  readonly kills: number;
  /** The seed of all random choices. */
  readonly seed: number;
  /**
   * The longest that load lasts before it is harmed, in milliseconds.
   *
   * @default {1_500}
   */
  readonly maxLoadMs?: number;
  /**
   * Receives lines about the progress.
   *
   * @default progress is not reported
   */
  readonly tell?: (line: string) => void;
}

/** The result of a crash test. */
export interface ChaosOutcome {
  /** Number of acknowledged tasks. */
  readonly tasks: number;
  /** Number of acknowledged successes. */
  readonly successes: number;
  /**
   * Number of requests that, sent again, got the same response with the mark of
   * a replay.
   */
  readonly replays: number;
  /**
   * The first violations of the service's promises; empty when the test passed.
   */
  readonly faults: readonly string[];
}

const SINGLES = 4;
const WORKERS = 4;
/** How long a push worker takes at most, in milliseconds. */
const MAX_CALL_MS = 50;
const MIN_LOAD_MS = 200;
const MAX_LOAD_MS = 1_500;
/** Before each kill there are at least this many more tasks. */
const MIN_LOAD = 25;
const OLD_TASKS = 200;
const REPLAYS = 40;
/**
 * Longest wait at the end until all work is done, in milliseconds. Leases last
 * 5 s, and repetitions and retries are due after one second.
 */
const DRAIN_MS = 60_000;

/** Runs the crash test. */
export async function runChaos(options: ChaosOptions): Promise<ChaosOutcome> {
  const run = await ChaosRun.open(options);
  try {
    while (run.isGoingOn) await run.round();
    await run.end();
    return run.outcome;
  } finally {
    await run.close();
  }
}

class ChaosRun {
  readonly #options: ChaosOptions;
  readonly #random: SeededRandom;
  readonly #known = new Acknowledged();
  readonly #workers = Array.from(
    { length: WORKERS },
    (_, index) => new ChaosWorker(`worker-${index}`),
  );
  readonly #client: TasksClient;
  readonly #receiver = new PushReceiver(async ({ data: { task, attempt } }) => {
    this.#known.called(task.id, attempt.fence);
    await pause(this.#random.below(MAX_CALL_MS));
    return new Response();
  });
  #replays = 0;

  private constructor(options: ChaosOptions, token: string) {
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
    this.#client = new TasksClient({
      target: () => getTarget(options.service.choose(this.#random)),
      host: `acme.${SERVICE_HOST}`,
      token,
    });
  }

  static async open(options: ChaosOptions): Promise<ChaosRun> {
    const { service, seed } = options;
    try {
      const first = service.choose(new SeededRandom(seed));
      const token = await createOwnerKey(first, "acme");
      const run = new ChaosRun(options, token);
      await run.#client.expect(201, ["POST", "/api/v1/workers", {
        name: "chaos",
        concurrency: 0,
        lease: "PT5S",
        max_lost: 100,
      }]);
      await run.#client.expect(201, ["POST", "/api/v1/workers", {
        name: "pushed",
        kind: "push",
        url: run.#receiver.url,
        timeout: "PT5S",
        max_lost: 100,
      }]);
      return run;
    } catch (error) {
      await service.kill();
      throw error;
    }
  }

  get isGoingOn(): boolean {
    return this.#known.round < this.#options.kills && !this.#known.isFull;
  }

  get outcome(): ChaosOutcome {
    const { tasks, faults } = this.#known;
    const known = [...tasks.values()];
    return {
      tasks: known.length,
      successes: known.reduce((sum, { successes }) => sum + successes, 0),
      replays: this.#replays,
      faults,
    };
  }

  /**
   * Sends load, harms the service in the middle of it, makes it whole again and
   * checks the tasks.
   */
  async round(): Promise<void> {
    const { service, tell, maxLoadMs = MAX_LOAD_MS } = this.#options;
    const rangeMs = maxLoadMs - MIN_LOAD_MS;
    const known = this.#known;
    let isOpen = true;
    const world = this.#world(() => isOpen);
    const clients = [
      ...Array.from({ length: SINGLES }, () => createSingles(world)),
      createBatches(world),
      cancelSome(world),
      sendEvents(world),
      ...this.#workers.map((worker) => worker.work(world)),
    ];
    const ended = Promise.allSettled(clients);
    await this.#loadFor(MIN_LOAD_MS + this.#random.below(rangeMs));
    const strike = await service.strike(this.#random);
    if (service.outlivesStrikes) {
      await this.#loadFor(MIN_LOAD_MS + this.#random.below(rangeMs));
    }
    isOpen = false;
    // All requests under way fail, and their outcome is unknown.
    await ended;
    known.round++;
    this.#client.forget();
    await service.heal(this.#random);
    await this.#replay();
    await verifyTasks(this.#context, this.#someTasks());
    tell?.(
      `${known.round}, ${strike}: ${known.tasks.size} tasks, ` +
        `${this.outcome.successes} successes, ${known.faults.length} faults`,
    );
  }

  #loadFor(ms: number): Promise<void> {
    return loadFor({ ms, made: () => this.#known.tasks.size, least: MIN_LOAD });
  }

  /** Waits until all work is done, and checks all tasks. */
  async end(): Promise<void> {
    let isOpen = true;
    const world = this.#world(() => isOpen);
    const working = Promise.all(
      this.#workers.map((worker) => worker.work(world)),
    );
    const endMs = performance.now() + DRAIN_MS;
    while (performance.now() < endMs && await this.#isBusy()) await pause(200);
    isOpen = false;
    await working;
    await verifyEnds(this.#context);
    const { data } = await this.#active();
    for (const { id, status } of data) this.#known.fault(`${id} is ${status}`);
    for (const fault of await this.#options.service.stop()) {
      this.#known.fault(fault);
    }
  }

  async close(): Promise<void> {
    this.#client.close();
    await this.#options.service.kill();
    await this.#receiver[Symbol.asyncDispose]();
  }

  get #context(): Pick<ChaosWorld, "client" | "known" | "outlivesOutages"> {
    const outlivesOutages = this.#options.service.outlivesStrikes;
    return { client: this.#client, known: this.#known, outlivesOutages };
  }

  #world(isOpen: () => boolean): ChaosWorld {
    return { ...this.#context, random: this.#random, isOpen };
  }

  /**
   * Sends requests again: all that got no response, and some that did, whose
   * response must be the same.
   */
  async #replay(): Promise<void> {
    const known = this.#known;
    const open = known.open.splice(0);
    for (const request of open) await sendKeyed(this.#context, request);
    for (const answered of known.answers.slice(-REPLAYS)) {
      const { key, path, body, status, json } = answered;
      const again = await this.#client.call<unknown>("POST", path, {
        body,
        headers: { "idempotency-key": key },
      });
      const isSame = again.status === status &&
        JSON.stringify(again.json) === JSON.stringify(json);
      if (!isSame) {
        known.fault(
          `${path} with key ${key} answered ${JSON.stringify(again)} after ` +
            `${status} ${JSON.stringify(json)}`,
        );
      } else if (again.headers["idempotency-replayed"] === "true") {
        this.#replays++;
      } else known.fault(`${path} with key ${key} was not told as replayed`);
    }
  }

  /**
   * Returns the tasks of the last rounds and a random selection of older ones.
   */
  #someTasks(): readonly KnownTask[] {
    const { tasks, round } = this.#known;
    const all = [...tasks.values()];
    const late = all.filter((task) => task.round >= round - 1);
    const old = Array.from({ length: OLD_TASKS }, () => this.#random.pick(all));
    return [...late, ...old];
  }

  async #isBusy(): Promise<boolean> {
    return (await this.#active()).data.length > 0;
  }

  async #active(): Promise<{ readonly data: readonly TaskJson[] }> {
    return await this.#client.expect(200, [
      "GET",
      "/api/v1/tasks?status=active&limit=200",
    ]);
  }
}
