/**
 * A simulation of the engine: a seed decides what clients, workers and the
 * machine do, and the engine's promises are checked at each step.
 *
 * @module
 */

import { SimulatedOperator } from "./simulated_operator.ts";
import type { Plant } from "./simulated_process.ts";
import { checkDuties, checkEnd } from "./simulation_checks.ts";
import { SIMULATED_WORKERS } from "./simulated_workers.ts";
import { addWorkers, SimulatedWorld } from "./simulation_world.ts";
import { TaskOwner } from "./task_owner.ts";
import { WorkerProcess } from "./worker_process.ts";

/** The outcome of a run. */
export interface SimulationReport {
  /** The seed of the run. */
  readonly seed: number;
  /** Promises that were broken; empty when all were kept. */
  readonly violations: readonly string[];
  /** Whether no faults were injected. */
  readonly isCalm: boolean;
  /** How many writes were applied. */
  readonly writes: number;
  /** How many tasks were created. */
  readonly tasks: number;
  /** How many attempts were started. */
  readonly starts: number;
  /** How many waits have ended in each way. */
  readonly waits: Readonly<Record<string, number>>;
  /** How many instances used the store. */
  readonly engines: number;
  /** How often a process died. */
  readonly crashes: number;
}

/**
 * How many simulated worker processes compete for the tasks: more of them where
 * they ask several instances.
 */
const PROCESSES = { alone: 8, several: 15 };
/** The longest run, in milliseconds of simulated time. */
const MAX_RUN_MS = 6 * 3_600_000;
/** The run is at rest when nothing was written for this many milliseconds. */
const REST_MS = 90_000;
/** The longest time until the run has to be at rest, in milliseconds. */
const QUIET_MS = 1_200_000;
const TICK_MS = 10_000;

/** Options of {@linkcode simulate}. */
export interface SimulationOptions {
  /**
   * How many instances of the service use the store; 0 lets the seed decide.
   *
   * @default {1}
   */
  readonly engines?: number;
  /**
   * A fault to put into each process.
   *
   * @default there is none
   */
  readonly plant?: Plant;
}

/** The most instances when the seed decides. */
const MAX_ENGINES = 4;

/** Runs the world of a seed to its end, or to the first broken promise. */
export async function simulate(
  seed: number,
  { engines = 1, plant = {} }: SimulationOptions = {},
): Promise<SimulationReport> {
  const world = new SimulatedWorld({
    seed,
    engines: engines === 0 ? 1 + seed % MAX_ENGINES : engines,
    plant,
  });
  const { clock, ledger } = world;
  const isBroken = (): boolean => ledger.violations.length > 0;
  await addWorkers(world.store, SIMULATED_WORKERS);
  for (const machine of world.machines) {
    void machine.boot();
    void world.haunt(machine);
  }
  const count = world.fleet.engines > 1 ? PROCESSES.several : PROCESSES.alone;
  const processes = Array.from({ length: count }, (_, index) => `${index}`);
  const operator = new SimulatedOperator(world, processes);
  const owner = new TaskOwner(world);
  for (const [index, instance] of processes.entries()) {
    const workers = SIMULATED_WORKERS.filter(({ kind }) => kind === "pull");
    const workerId = workers[index % workers.length]?.id ?? "";
    const process = new WorkerProcess(world, {
      workerId,
      instance,
    });
    process.run().catch((error) => ledger.broken(`a worker broke: ${error}`));
  }
  let isDone = false;
  Promise.all([owner.run(), operator.run(), world.senders?.run()]).then(
    () => isDone = true,
    (error) =>
      ledger.broken(`the owner, operator or users broke: ${error.stack}`),
  );
  while (!isDone && !isBroken() && clock.elapsedMs < MAX_RUN_MS) {
    await clock.advance(TICK_MS);
  }
  if (!isDone && !isBroken()) {
    ledger.broken("the owner or operator waits for ever");
  }
  world.isHealed = true;
  await rest(world);
  if (!isBroken()) checkDuties(world);
  if (!isBroken()) await stop(world);
  if (!isBroken()) await checkEnd(world, owner);
  return {
    seed,
    violations: ledger.violations,
    isCalm: world.profile.isCalm,
    writes: ledger.writes,
    tasks: ledger.tasks.size,
    starts: ledger.starts,
    waits: ledger.waits.ends,
    engines: world.fleet.engines,
    crashes: world.crashes,
  };
}

/** Waits until nothing happens, or nothing will happen for a while. */
async function rest({ clock, ledger }: SimulatedWorld): Promise<void> {
  const endMs = clock.elapsedMs + QUIET_MS;
  let [writes, sinceMs] = [-1, clock.elapsedMs];
  while (clock.elapsedMs < endMs && ledger.violations.length === 0) {
    if (ledger.writes !== writes) {
      [writes, sinceMs] = [ledger.writes, clock.elapsedMs];
    } else if (clock.elapsedMs - sinceMs >= REST_MS) return;
    await clock.advance(TICK_MS);
  }
}

/** Stops all processes, one after the other. */
async function stop(world: SimulatedWorld): Promise<void> {
  const { clock, machines, ledger } = world;
  world.isOver = true;
  let isStopped = false;
  const stopAll = async (): Promise<void> => {
    for (const machine of machines) {
      const { life } = machine;
      if (life === undefined) {
        return ledger.broken("no process runs at the end");
      }
      await machine.stop(life);
    }
    isStopped = true;
  };
  const stopping = stopAll();
  while (!isStopped && ledger.violations.length === 0) {
    await clock.advance(1_000);
  }
  await stopping;
}
