/**
 * Tests the takeover of a task from a worker that has died by another worker.
 *
 * @module
 */

import type { LeaseJson, TasksClient } from "./tasks_client.ts";

/** The figures of a takeover. */
export interface TakeOver {
  /** Milliseconds from the dead worker's lease to the next attempt. */
  readonly noticedAfterMs: number;
  /** The response to the dead worker when it reports late. */
  readonly late: { readonly status: number; readonly code: string };
}

const PATIENCE_MS = 60_000;

/**
 * Lets one worker lease a task and fall silent, while another worker waits for
 * the task.
 */
export async function takeOver(
  client: TasksClient,
  worker: string,
): Promise<TakeOver> {
  await client.expect(201, ["POST", "/api/v1/tasks", { worker }]);
  const dead = await wait(client, worker);
  const silentSinceMs = performance.now();
  const heir = await wait(client, worker);
  const noticedAfterMs = performance.now() - silentSinceMs;
  if (heir.task.id !== dead.task.id || heir.fence <= dead.fence) {
    throw new Error("Cannot measure: another task came, or an older fence");
  }
  const { status, json } = await client.call<{ readonly code: string }>(
    "POST",
    `/api/v1/leases/${dead.id}/complete`,
    { token: dead.token },
  );
  return { noticedAfterMs, late: { status, code: json.code } };
}

async function wait(client: TasksClient, worker: string): Promise<LeaseJson> {
  const endMs = performance.now() + PATIENCE_MS;
  while (performance.now() < endMs) {
    const { leases: [lease] } = await client.expect<
      { readonly leases: readonly LeaseJson[] }
    >(200, ["POST", `/api/v1/workers/${worker}/lease`, { wait: "PT10S" }]);
    if (lease !== undefined) return lease;
  }
  throw new Error("Cannot measure: no task came");
}
