/**
 * The simulated operator of a tenant, who pauses workers, and revokes and
 * issues their credentials.
 *
 * @module
 */

import type { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import type { WorkerDefinition } from "../../domain/records.ts";
import type { Store } from "../../store/store.ts";
import type { Engine } from "../engine.ts";
import type { SimulationProfile } from "./simulation_profile.ts";
import { SIMULATED_TENANT_ID, SIMULATED_WORKERS } from "./simulated_workers.ts";
import type { SteppingClock } from "../../../../tests/support/stepping_clock.ts";

/** The parts of the simulation that the operator uses. */
interface OperatorWorld {
  /** The real time. */
  readonly clock: SteppingClock;
  /** Decides at random what happens. */
  readonly random: SeededRandom;
  /** How much is done in the run. */
  readonly profile: SimulationProfile;
  /** The store, past all instances. */
  readonly store: Store;
  /** The credential that each worker process presents. */
  readonly credentials: Map<string, string>;
  /** Whether the simulation has ended. */
  readonly isOver: boolean;
  /** Asks any instance until there is an answer. */
  insist<T>(ask: (engine: Engine) => Promise<T>): Promise<T | undefined>;
}

/** Pauses and resumes workers, revokes and issues credentials. */
export class SimulatedOperator {
  readonly #world: OperatorWorld;
  readonly #processes: readonly string[];
  #issued = 0;

  /** Takes the world, and the worker processes that need credentials. */
  constructor(world: OperatorWorld, processes: readonly string[]) {
    this.#world = world;
    this.#processes = processes;
  }

  /** Issues the first credentials, then does things and undoes them. */
  async run(): Promise<void> {
    const { random, clock, profile } = this.#world;
    for (const process of this.#processes) await this.#issue(process);
    for (let left = profile.deeds / 6; left > 0; left--) {
      await clock.sleep(random.below(30_000));
      if (random.chance(0.5)) {
        const isPaused = random.chance(0.5);
        await this.#pause(random.pick(SIMULATED_WORKERS), isPaused);
      } else {
        const process = random.pick(this.#processes);
        await this.#revoke(this.#world.credentials.get(process) ?? "");
        await clock.sleep(random.below(10_000));
        await this.#issue(process);
      }
    }
    for (const worker of SIMULATED_WORKERS) await this.#pause(worker, false);
  }

  async #pause(
    { tenantId, id }: WorkerDefinition,
    isPaused: boolean,
  ): Promise<void> {
    while (!this.#world.isOver) {
      const record = await this.#world.store.record("worker", tenantId, id);
      const worker: WorkerDefinition = JSON.parse(record?.text ?? "{}");
      if (record === undefined || worker.isPaused === isPaused) return;
      const version = record.version + 1;
      const text = JSON.stringify({ ...worker, version, isPaused });
      // A request that comes late changes nothing, by the version.
      await this.#world.insist(({ parts }) =>
        parts.store.commit([{
          writes: [{
            kind: "record",
            recordKind: "worker",
            tenantId,
            id,
            expectedVersion: record.version,
            next: { ...record, version, text },
          }],
        }])
      );
    }
  }

  async #issue(process: string): Promise<void> {
    const { credentials, clock } = this.#world;
    const id = `wk_${process}_${this.#issued++}`;
    await this.#world.insist(({ parts }) =>
      parts.store.commit([{
        writes: [parts.repositories.credentials.insert({
          tenantId: SIMULATED_TENANT_ID,
          id,
          version: 1,
          workerId: SIMULATED_WORKERS[0]?.id ?? "",
          name: process,
          digest: "",
          secrets: false,
          createdAtMs: clock.nowMs(),
        })],
      }])
    );
    credentials.set(process, id);
  }

  async #revoke(id: string): Promise<void> {
    const { store } = this.#world;
    while (!this.#world.isOver) {
      const there = await store.record("credential", SIMULATED_TENANT_ID, id);
      if (there === undefined) return;
      await this.#world.insist(({ parts }) =>
        parts.store.commit([{
          writes: [{
            kind: "record",
            recordKind: "credential",
            tenantId: SIMULATED_TENANT_ID,
            id,
            expectedVersion: 1,
            next: undefined,
          }],
        }])
      );
    }
  }
}
