/**
 * A simulation of the engine: a seed decides what clients, workers and the
 * machine do, and the engine's promises are checked at each step.
 *
 * @module
 */

import { checkEnd } from "./simulation_checks.ts";
import { SIMULATED_WORKERS } from "./simulated_workers.ts";
import {
  addWorkers,
  type PlantedFault,
  SimulatedWorld,
} from "./simulation_world.ts";
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
  /** How often the process died. */
  readonly crashes: number;
}

/** How many simulated worker processes compete for the tasks. */
const PROCESSES = 8;
/** The longest run, in milliseconds of simulated time. */
const MAX_RUN_MS = 6 * 3_600_000;
/** The run is at rest when nothing was written for this many milliseconds. */
const REST_MS = 90_000;
/** The longest time until the run has to be at rest, in milliseconds. */
const QUIET_MS = 1_200_000;
const TICK_MS = 10_000;

/**
 * Runs the world of a seed to its end, or to the first broken promise.
 *
 * @param fault a fault to plant, to see whether it is found
 */
export async function simulate(
  seed: number,
  fault?: PlantedFault,
): Promise<SimulationReport> {
  const world = new SimulatedWorld(seed, fault);
  const { clock, ledger } = world;
  const isBroken = (): boolean => ledger.violations.length > 0;
  await addWorkers(world.store, SIMULATED_WORKERS);
  void world.boot();
  const owner = new TaskOwner(world);
  for (let index = 0; index < PROCESSES; index++) {
    const workers = SIMULATED_WORKERS.filter(({ kind }) => kind === "pull");
    const workerId = workers[index % workers.length]?.id ?? "";
    const process = new WorkerProcess(world, {
      workerId,
      instance: `${index}`,
    });
    process.run().catch((error) => ledger.broken(`a worker broke: ${error}`));
  }
  let isDone = false;
  owner.run().then(
    () => isDone = true,
    (error) => ledger.broken(`the owner broke: ${error.stack}`),
  );
  while (!isDone && !isBroken() && clock.elapsedMs < MAX_RUN_MS) {
    await clock.advance(TICK_MS);
  }
  if (!isDone && !isBroken()) ledger.broken("the owner waits for ever");
  world.isHealed = true;
  await rest(world);
  if (!isBroken()) await stop(world);
  if (!isBroken()) await checkEnd(world, owner);
  return {
    seed,
    violations: ledger.violations,
    isCalm: world.profile.isCalm,
    writes: ledger.writes,
    tasks: ledger.tasks.size,
    starts: ledger.starts,
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

/** Stops the process; it must leave no timer behind. */
async function stop(world: SimulatedWorld): Promise<void> {
  const { clock, ledger, life } = world;
  world.isOver = true;
  if (life === undefined) return ledger.broken("no process runs at the end");
  let isStopped = false;
  const stopping = life.push.stop(5_000).then(() => life.engine.stop());
  stopping.then(
    () => isStopped = true,
    (error) => ledger.broken(`it cannot stop: ${error}`),
  );
  for (let passedMs = 0; passedMs < 60_000 && !isStopped; passedMs += 1_000) {
    await clock.advance(1_000);
  }
  if (!isStopped) ledger.broken("it does not stop");
  if (life.timers.size > 0) ledger.broken("it left timers behind");
}
