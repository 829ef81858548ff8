/**
 * Measures how soon a waiting worker gets a task.
 *
 * @module
 */

import { HttpSocket } from "../kit/http_socket.ts";
import { pause } from "../kit/numbers.ts";
import {
  type BenchTenant,
  complete,
  createRequests,
  leaseRequest,
  takenLeases,
  type TasksService,
} from "./service.ts";

/** How many tasks are measured. */
export const START_ROUNDS = 400;
const WARM_UP = 50;
/**
 * How long the worker has been waiting when a task is created, in milliseconds.
 */
const PAUSE_MS = 5;

/** Milliseconds until a waiting worker had a task, of each task. */
export interface StartTimes {
  /** From the response that the task was stored. */
  readonly afterAnswerMs: readonly number[];
  /** From the request that created it. */
  readonly afterRequestMs: readonly number[];
}

/**
 * Creates one task at a time, for one worker.
 *
 * @param options.creating The instance that creates them.
 * @param options.waiting The instance that the worker asks.
 */
export async function startTimes({ creating, waiting, tenant }: {
  readonly creating: Pick<TasksService, "port">;
  readonly waiting: Pick<TasksService, "port">;
  readonly tenant: BenchTenant;
}): Promise<StartTimes> {
  using creator = await HttpSocket.connect(creating.port);
  using worker = await HttpSocket.connect(waiting.port);
  const [create] = createRequests(tenant);
  const lease = leaseRequest(tenant, { batch: 1, wait: "PT10S" });
  const [afterAnswerMs, afterRequestMs]: [number[], number[]] = [[], []];
  for (let round = -WARM_UP; round < START_ROUNDS; round++) {
    const leased = worker.exchange(lease).then((answer) => ({
      leases: takenLeases(answer),
      atMs: performance.now(),
    }));
    await pause(PAUSE_MS);
    const sentMs = performance.now();
    const { status } = await creator.exchange(create!);
    const keptMs = performance.now();
    if (status !== 201) throw new Error(`Cannot measure: ${status}`);
    const { leases, atMs } = await leased;
    await complete(worker, { tenant, leases });
    if (leases.length !== 1) throw new Error("Cannot measure: no task came");
    if (round < 0) continue;
    afterAnswerMs.push(Math.max(0, atMs - keptMs));
    afterRequestMs.push(atMs - sentMs);
  }
  return { afterAnswerMs, afterRequestMs };
}
