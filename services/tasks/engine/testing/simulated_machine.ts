/**
 * A machine of a simulation and the process on it, which may die, stand still,
 * lose the store, or be stopped, and is started again.
 *
 * @module
 */

import type { Engine } from "../engine.ts";
import { MachineClock } from "./machine_clock.ts";
import type { Mishap } from "./simulation_profile.ts";
import type { SimulationLedger } from "./simulation_ledger.ts";
import {
  type Host,
  type Life,
  openLife,
  type Process,
  type ProcessWorld,
} from "./simulated_process.ts";

/** The process has died, or does not answer. */
export class ConnectionLostError extends Error {
  /** The name of the class. */
  override readonly name = "ConnectionLostError";
}

/** The parts of the simulation that a machine uses. */
interface MachineWorld extends ProcessWorld {
  /** Records broken promises. */
  readonly ledger: SimulationLedger;
  /** Notes that a process dies. */
  onCrash(process: Process): void;
}

/** The longest time until a dead process is started again, in milliseconds. */
const MAX_DOWN_MS = 15_000;
/** The longest time that a machine stands still or is cut off. */
const MAX_AWAY_MS = 20_000;
/** After how long clients give up a request that is not answered. */
const PATIENCE_MS = 5_000;
/** How far the clock of a machine is set, in milliseconds. */
const STEPS_MS = [-60_000, -3_000, 3_000, 60_000];

/** A machine that runs one process at a time. */
export class SimulatedMachine implements Host {
  /** The clock of the machine. */
  readonly clock: MachineClock;
  /** The running process; undefined while no process runs. */
  life: Life | undefined;
  /** Whether the machine cannot reach the store and the other machines. */
  isCut = false;
  readonly #world: MachineWorld;
  /** Rejects when the clients of a machine that stands still give up. */
  #patience = Promise.withResolvers<never>();

  /** Takes the world of the machine, and how far its clock is ahead. */
  constructor(world: MachineWorld, skewMs: number) {
    this.#world = world;
    this.clock = new MachineClock(world.clock, skewMs);
    this.#patience.promise.catch(() => {});
  }

  /** Starts a process on the store that the last one left. */
  async boot(): Promise<void> {
    const life = openLife(this, this.#world);
    this.life = life;
    try {
      await Promise.race([life.engine.start(), life.death.promise]);
      life.push.start();
      life.inboxWorker?.start();
      life.isOpen = true;
      this.#world.instances.starts(life);
    } catch (error) {
      if (error instanceof ConnectionLostError) return;
      // The process could not start because the store failed; somebody tries
      // again.
      this.crash(life);
    }
  }

  /** Kills a process. */
  crash(process: Process): void {
    if (process.isDead) return;
    this.#world.onCrash(process);
    this.#end(process);
    this.#bootLater();
  }

  /**
   * Stops the process in order. It must leave no timer behind, and waits for
   * nobody for ever.
   *
   * @returns false when it has died meanwhile
   */
  async stop(life: Life): Promise<boolean> {
    const { clock, ledger } = this.#world;
    life.isOpen = false;
    let isStopped = false;
    const stopping = Promise.all([
      life.push.stop(5_000),
      life.inboxWorker?.stop(),
    ]).then(() => life.engine.stop());
    stopping.then(
      () => isStopped = true,
      (error) => ledger.broken(`it cannot stop: ${error}`),
    );
    const isBusy = (): boolean => !isStopped || life.requests > 0;
    for (let ms = 0; ms < 90_000 && isBusy() && !life.isDead; ms += 500) {
      await clock.sleep(500);
    }
    if (life.isDead) return false;
    if (isBusy()) ledger.broken("it does not stop");
    if (life.timers.size > 0) ledger.broken("it left timers behind");
    this.#end(life);
    return true;
  }

  /** Lets something happen to the machine. */
  async suffer(mishap: Mishap): Promise<void> {
    const { random, clock } = this.#world;
    const { life } = this;
    if (mishap === "step") return this.clock.step(random.pick(STEPS_MS));
    if (life?.isOpen !== true) return;
    switch (mishap) {
      case "crash":
        return this.crash(life);
      case "restart":
        if (await this.stop(life)) this.#bootLater();
        return;
      case "stall": {
        const forMs = random.below(MAX_AWAY_MS);
        this.#world.instances.noteTrouble(forMs);
        this.clock.stall(forMs);
        await clock.sleep(PATIENCE_MS);
        if (this.clock.isStalled) this.#loseClients();
        return;
      }
      case "cut": {
        const forMs = random.below(MAX_AWAY_MS);
        this.#world.instances.noteTrouble(forMs);
        this.isCut = true;
        await clock.sleep(forMs);
        this.isCut = false;
        if (random.chance(0.5)) return;
        for (const hear of life.hearers) void hear({ kind: "gap" });
      }
    }
  }

  /**
   * Waits for an answer of the process.
   *
   * @throws {ConnectionLostError} when the process dies meanwhile, accepts no
   * requests, or does not answer
   */
  async call<T>(ask: (engine: Engine) => Promise<T>): Promise<T> {
    const { life } = this;
    if (life?.isOpen !== true) throw new ConnectionLostError();
    const answering = async (): Promise<T> => {
      await this.clock.awake();
      if (life.isDead) throw new ConnectionLostError();
      life.requests++;
      try {
        const answer = await ask(life.engine);
        await this.clock.awake();
        return answer;
      } finally {
        life.requests--;
      }
    };
    return await Promise.race([
      answering(),
      life.death.promise,
      this.#patience.promise,
    ]);
  }

  #loseClients(): void {
    this.#patience.reject(new ConnectionLostError());
    this.#patience = Promise.withResolvers<never>();
    this.#patience.promise.catch(() => {});
  }

  #end(process: Process): void {
    process.isDead = true;
    process.isOpen = false;
    for (const timer of process.timers) timer.cancel();
    process.death.reject(new ConnectionLostError());
    if (this.life === process) this.life = undefined;
    const { fleet, instances, store } = this.#world;
    // The members of a store in a file are those of the running process.
    if (fleet.engines > 1) return;
    for (const id of instances.idsOf(process)) void store.leave(id);
  }

  #bootLater(): void {
    const { clock, random } = this.#world;
    clock.setTimer(() => void this.boot(), random.below(MAX_DOWN_MS));
  }
}
