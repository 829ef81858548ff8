/**
 * Clients of the crash test, which create and cancel tasks until the service is
 * killed.
 *
 * @module
 */

import { pause } from "../../support/chaos/chaos_service.ts";
import type { SeededRandom } from "../../support/seeded_random.ts";
import type { TaskJson, TasksClient } from "../tasks_client.ts";
import type { Acknowledged, KeyedRequest } from "./acknowledged.ts";

/** What the clients and workers of the crash test share. */
export interface ChaosWorld {
  /** Sends the requests. */
  readonly client: TasksClient;
  /** Records the responses. */
  readonly known: Acknowledged;
  /** The source of random choices. */
  readonly random: SeededRandom;
  /** Returns whether the load goes on. */
  isOpen(): boolean;
  /**
   * Whether the service answers again while the load goes on: calls that fail
   * by a connection or with 503 have an unknown outcome then, and the client
   * goes on. Otherwise such a call ends the client.
   */
  readonly outlivesOutages: boolean;
}

const BATCH = 20;
const PAUSE_MS = 6;

/**
 * Repeatedly creates a single task, in some requests with an Idempotency-Key.
 */
export async function createSingles(world: ChaosWorld): Promise<void> {
  const { client, known, random } = world;
  while (world.isOpen()) {
    const request = keyedRequest(world);
    if (random.chance(0.5)) {
      await sendKeyed(world, request);
    } else {
      const answer = await tryCall(
        world,
        () =>
          client.call<TaskJson>("POST", request.path, { body: request.body }),
      );
      if (answer?.status === 201) known.created(answer.json, request.runs);
      else if (answer !== undefined) {
        known.fault(`create answered ${JSON.stringify(answer)}`);
      }
    }
    await pause(random.below(PAUSE_MS));
  }
}

/** Repeatedly creates a batch of tasks with an Idempotency-Key. */
export async function createBatches(world: ChaosWorld): Promise<void> {
  const { random } = world;
  while (world.isOpen()) {
    const tasks = Array.from({ length: BATCH }, () => onceBody(random));
    await sendKeyed(world, {
      key: createKey(random),
      path: "/api/v1/tasks/batch",
      body: { tasks, atomic: random.chance(0.5) },
      runs: 1,
    });
    await pause(random.below(PAUSE_MS) * BATCH);
  }
}

/** Repeatedly cancels a task, which may be running. */
export async function cancelSome(world: ChaosWorld): Promise<void> {
  const { client, known, random } = world;
  while (world.isOpen()) {
    await pause(random.below(PAUSE_MS) * 8);
    const live = [...known.tasks.values()].filter(({ end }) =>
      end === undefined
    );
    if (live.length === 0) continue;
    const { id } = random.pick(live);
    known.canceling(id);
    const answer = await tryCall(
      world,
      () => client.call<TaskJson>("POST", `/api/v1/tasks/${id}/cancel`),
    );
    if (answer === undefined) continue;
    const { status, json } = answer;
    if (status === 200) known.canceled(id);
    // 409 is expected when the task has already ended.
    else if (status !== 409) {
      known.fault(`cancel answered ${status} ${JSON.stringify(json)}`);
    }
  }
}

/** Repeatedly sends a task an event that it may wait for. */
export async function sendEvents(world: ChaosWorld): Promise<void> {
  const { known, random } = world;
  while (world.isOpen()) {
    await pause(random.below(PAUSE_MS) * 4);
    const live = [...known.tasks.values()].filter(({ end }) =>
      end === undefined
    );
    if (live.length === 0) continue;
    const { id: taskId, runs } = random.pick(live);
    const data = random.below(2 ** 52);
    await sendKeyed(world, {
      key: createKey(random),
      path: `/api/v1/tasks/${taskId}/events`,
      body: { event: "go", data },
      runs,
      event: { taskId, data: `${data}` },
    });
  }
}

/**
 * Sends a request with an Idempotency-Key and records the response. A request
 * that fails stays in `known.open` and is sent again later.
 */
export async function sendKeyed(
  world: Pick<ChaosWorld, "client" | "known" | "outlivesOutages">,
  request: KeyedRequest,
): Promise<void> {
  const { client, known } = world;
  const { key, path, body, runs, event } = request;
  known.open.push(request);
  const answer = await tryCall(
    world,
    () =>
      client.call<unknown>("POST", path, {
        body,
        headers: { "idempotency-key": key },
      }),
  );
  if (answer === undefined) return;
  const { status, json } = answer;
  known.open.splice(known.open.indexOf(request), 1);
  if (status === 409 && event !== undefined) return;
  if (status !== 200 && status !== 201) {
    known.fault(`${path} answered ${status} ${JSON.stringify(json)}`);
    return;
  }
  known.answers.push({ ...request, status, json });
  if (event !== undefined) {
    known.tasks.get(event.taskId)?.events.push(event.data);
  } else for (const task of readTasks(json)) known.created(task, runs);
}

/**
 * Returns the tasks in the response to a create request, for one or several
 * tasks.
 */
function readTasks(json: unknown): readonly TaskJson[] {
  const { results } = json as {
    readonly results?: readonly { readonly task: TaskJson }[];
  };
  return results === undefined
    ? [json as TaskJson]
    : results.map(({ task }) => task);
}

function keyedRequest({ random }: ChaosWorld): KeyedRequest {
  const repeats = random.chance(0.15);
  return {
    key: createKey(random),
    path: "/api/v1/tasks",
    body: {
      ...onceBody(random),
      ...(repeats ? { repeat: { interval: "PT1S", limit: 1 } } : {}),
    },
    runs: repeats ? 2 : 1,
  };
}

function onceBody(random: SeededRandom): Readonly<Record<string, unknown>> {
  return {
    worker: random.chance(0.2) ? "pushed" : "chaos",
    data: { n: random.below(1_000_000) },
    retry: { limit: 50, interval: "PT1S", jitter: "none" },
    priority: random.below(19) - 9,
    ...(random.chance(0.3) ? { group: `g${random.below(5)}` } : {}),
    ...(random.chance(0.2) ? { delay: `${random.below(2_000)}ms` } : {}),
  };
}

function createKey(random: SeededRandom): string {
  return `key-${random.below(2 ** 31)}-${random.below(2 ** 31)}`;
}

/** How long a client waits after a call that failed, in milliseconds. */
const OUTAGE_PAUSE_MS = 50;

/**
 * Makes a call; undefined when its outcome is unknown, because the instance
 * that was asked has died or its database is changing over.
 */
export async function tryCall<Answer extends { readonly status: number }>(
  { outlivesOutages }: Pick<ChaosWorld, "outlivesOutages">,
  call: () => Promise<Answer>,
): Promise<Answer | undefined> {
  try {
    const answer = await call();
    if (!outlivesOutages || answer.status !== 503) return answer;
  } catch (error) {
    if (!outlivesOutages) throw error;
  }
  await pause(OUTAGE_PAUSE_MS);
  return undefined;
}
