/**
 * The world of a simulation: one clock, one store, and the process that uses
 * them, which may die and be started again.
 *
 * @module
 */

import type { Clock, Timer } from "../../../shared/clock.ts";
import { RecordingLogger } from "../../../../tests/support/recording_logger.ts";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import { UNLIMITED_PLAN, type WorkerDefinition } from "../../domain/records.ts";
import type { Store } from "../../store/store.ts";
import { TaskIds } from "../../store/task_id.ts";
import { createMemoryStore } from "../../store/testing/memory_store.ts";
import { Delivery } from "../delivery.ts";
import { Engine } from "../engine.ts";
import { openParts } from "../parts.ts";
import { Push } from "../push.ts";
import { Vault } from "../vault.ts";
import { MAX_IN_FLIGHT, PushReceiver } from "./push_receiver.ts";
import { crashingStore, NO_TROUBLE } from "./crashing_store.ts";
import { LeaseLedger } from "./lease_ledger.ts";
import { SimulationLedger } from "./simulation_ledger.ts";
import { drawProfile, type SimulationProfile } from "./simulation_profile.ts";
import { SIMULATED_WORKERS } from "./simulated_workers.ts";
import { SteppingClock } from "./stepping_clock.ts";

/** The process has died during a call. */
export class ConnectionLostError extends Error {
  /** The name of the class. */
  override readonly name = "ConnectionLostError";
}

/** A process, from its start to its death. */
export interface Life {
  /** The engine that the process runs. */
  readonly engine: Engine;
  /** The component that calls push workers. */
  readonly push: Push;
  /** Whether the process has died. */
  isDead: boolean;
  /** The timers that the process has set. */
  readonly timers: Set<Timer>;
  /** Rejects when the process dies. */
  readonly death: PromiseWithResolvers<never>;
}

/** The longest time until a dead process is started again, in milliseconds. */
const MAX_DOWN_MS = 15_000;

/** The world of a simulation. */
export class SimulatedWorld {
  /** The time. */
  readonly clock = new SteppingClock();
  /** Decides at random what happens. */
  readonly random: SeededRandom;
  /** The probabilities and fault rates of the run. */
  readonly profile: SimulationProfile;
  /** Checks the applied writes. */
  readonly ledger: SimulationLedger = new SimulationLedger(
    SIMULATED_WORKERS,
    () => this.clock.elapsedMs,
  );
  /** Tracks which worker works on which attempt. */
  readonly leases: LeaseLedger;
  /** What the processes have logged. */
  readonly logger = new RecordingLogger();
  /** The store, which outlives the processes. */
  readonly store: Store = createMemoryStore({ clock: this.clock });
  /** Answers the calls to push workers. */
  readonly receiver: PushReceiver = new PushReceiver(this);
  /** The running process; undefined while no process runs. */
  life: Life | undefined;
  /** How many processes have died. */
  crashes = 0;
  /** Whether faults have stopped. */
  isHealed = false;
  /** Whether the simulation has ended. */
  isOver = false;
  readonly #attempts = new Set<string>();
  readonly #plant: (store: Store) => Store;
  #ids = 0;

  /**
   * Creates the world for a seed.
   *
   * @param plant puts a fault into the store as the engine sees it
   */
  constructor(seed: number, plant: (store: Store) => Store = (it) => it) {
    this.#plant = plant;
    this.random = new SeededRandom(seed);
    this.profile = drawProfile(this.random);
    this.leases = new LeaseLedger({
      ledger: this.ledger,
      elapsedMs: () => this.clock.elapsedMs,
      isReliable: this.profile.isReliable,
    });
  }

  /** Starts a process on the store that the last one left. */
  async boot(): Promise<void> {
    const life = this.#life();
    this.life = life;
    try {
      await this.call(life, life.engine.start());
      life.push.start();
      this.#checkRecovery(life);
    } catch (error) {
      if (error instanceof ConnectionLostError) return;
      // The process could not start because the store failed; the caller tries
      // again.
      this.crash(life);
    }
  }

  /**
   * Notes that an attempt is worked on; its name consists of the task and the
   * fence.
   */
  noteAttempt(name: string): void {
    if (this.#attempts.has(name)) this.ledger.broken(`two work at ${name}`);
    this.#attempts.add(name);
  }

  /** Kills a process. */
  crash(life: Life): void {
    if (life.isDead) return;
    life.isDead = true;
    this.crashes++;
    for (const timer of life.timers) timer.cancel();
    life.death.reject(new ConnectionLostError());
    if (this.life === life) this.life = undefined;
    // The members of a store that one process has for itself end with it.
    void this.store.leave(life.engine.parts.instances.id);
    const downMs = this.random.below(MAX_DOWN_MS);
    this.clock.setTimer(() => void this.boot(), downMs);
  }

  /**
   * Waits for an answer of a process; rejects when the process dies meanwhile.
   */
  async call<T>(life: Life, answer: Promise<T>): Promise<T> {
    if (life.isDead) throw new ConnectionLostError();
    return await Promise.race([answer, life.death.promise]);
  }

  /**
   * Asks the process until there is an answer, as a persistent client does.
   * Undefined when it gave up, or the simulation has ended.
   */
  async insist<T>(
    ask: (engine: Engine) => Promise<T>,
    tries = 1_000,
  ): Promise<T | undefined> {
    for (let count = 0; count < tries && !this.isOver; count++) {
      const { life } = this;
      if (life !== undefined) {
        try {
          return await this.call(life, ask(life.engine));
        } catch (error) {
          if (error instanceof TypeError || error instanceof RangeError) {
            this.ledger.broken(`a call threw ${error.stack}`);
            return undefined;
          }
        }
      }
      await this.clock.sleep(50 + this.random.below(1_000));
    }
    return undefined;
  }

  /** Checks that a new process has ended the push calls of earlier ones. */
  #checkRecovery({ engine }: Life): void {
    for (const { id, attempt } of this.ledger.tasks.values()) {
      const { bootId } = attempt ?? {};
      if (bootId === undefined || bootId === engine.parts.instances.id) {
        continue;
      }
      this.ledger.broken(`${id} waits for the call of a dead process`);
    }
  }

  #life(): Life {
    const { random } = this;
    const timers = new Set<Timer>();
    const clock = lifeClock(this.clock, timers);
    const ids = new TaskIds(this.clock, (length) => random.bytes(length));
    const death = Promise.withResolvers<never>();
    death.promise.catch(() => {});
    let life: Life | undefined = undefined;
    const store = crashingStore(this.#plant(this.store), {
      clock: this.clock,
      random,
      trouble: () => this.isHealed ? NO_TROUBLE : this.profile.trouble,
      isDead: () => life?.isDead === true,
      crash: () => life !== undefined && this.crash(life),
      onApplied: (transactions, results) => {
        const { isCalm } = this.profile;
        const nowMs = this.clock.nowMs();
        this.ledger.applied(transactions, { results, isCalm, nowMs });
        this.leases.applied(transactions, results);
      },
    });
    const limits = { ...UNLIMITED_PLAN.limits, retentionMs: null };
    const parts = openParts({
      store,
      limitsOfPlan: () => limits,
      clock,
      random: () => random.next(),
      newId: (prefix) =>
        prefix === "boot" ? `boot_${this.#ids++}` : ids.newId(prefix),
      logger: this.logger,
    });
    const engine = new Engine(parts);
    const { changes, claims, mirroring } = engine;
    const made: Life = {
      engine,
      isDead: false,
      timers,
      death,
      push: new Push({
        parts,
        changes,
        claims,
        maxInFlight: MAX_IN_FLIGHT,
        delivery: new Delivery({
          parts,
          changes,
          vault: new Vault({ repositories: parts.repositories, clock }),
          caller: { call: (request) => this.receiver.call(made, request) },
          mirroring,
          view: ({ id, tenantId }) => ({ id, tenantId }),
        }),
      }),
    };
    life = made;
    return made;
  }
}

/** A clock whose timers end with the process that set them. */
function lifeClock(clock: SteppingClock, timers: Set<Timer>): Clock {
  return {
    nowMs: () => clock.nowMs(),
    monotonicMs: () => clock.monotonicMs(),
    setTimer(callback, delayMs) {
      const timer = clock.setTimer(() => {
        timers.delete(handle);
        callback();
      }, delayMs);
      const handle: Timer = {
        cancel() {
          timers.delete(handle);
          timer.cancel();
        },
      };
      timers.add(handle);
      return handle;
    },
  };
}

/** Adds the workers of the simulation to a store. */
export async function addWorkers(
  store: Store,
  workers: readonly WorkerDefinition[],
): Promise<void> {
  await store.commit(workers.map((worker) => ({
    writes: [{
      kind: "record",
      recordKind: "worker",
      tenantId: worker.tenantId,
      id: worker.id,
      expectedVersion: 0,
      next: {
        kind: "worker",
        tenantId: worker.tenantId,
        id: worker.id,
        version: 1,
        alias: worker.name,
        text: JSON.stringify(worker),
      },
    }],
  })));
}
