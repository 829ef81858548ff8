/**
 * What a client sends back of a worker that the service alone decides.
 *
 * @module
 */

import type { WorkerDefinition } from "../../domain/records.ts";
import type { Vault } from "../../engine/vault.ts";
import type { Fault } from "../../../shared/schema/fault.ts";
import { readOnlyFaults } from "../../../shared/schema/read_only.ts";
import type { WorkerView } from "./worker_view.ts";
import { LIVE_FIELDS, WORKER_FIELDS } from "./worker_fields.ts";
import type { WorkerChanges } from "./worker_schema.ts";

const COMPARED = Object.fromEntries(
  Object.entries(WORKER_FIELDS).filter(([name]) =>
    !Object.hasOwn(LIVE_FIELDS, name) && name !== "signing_secret"
  ),
);

/** A worker as it is, and as it is told. */
export interface ToldWorker {
  /** The worker. */
  readonly worker: WorkerDefinition;
  /** What is told of it. */
  readonly view: WorkerView;
  /** Knows its signing secrets. */
  readonly vault: Vault;
}

/**
 * Finds the members that were sent and are not as they are. What changes by
 * itself is not compared, but for the one thing that can be meant by it: that
 * the worker is paused, or is not.
 */
export async function readOnlyMembers(
  given: WorkerChanges,
  { worker, view, vault }: ToldWorker,
): Promise<readonly Fault[]> {
  const faults = [
    ...readOnlyFaults({ given, current: view, fields: COMPARED }),
  ];
  const { status, signing_secret: secret } = given;
  const saysPaused = status === "paused";
  if (typeof status === "string" && saysPaused !== worker.isPaused) {
    faults.push({
      pointer: "/status",
      code: "read_only",
      detail: 'Cannot change field "status": the service decides it; ' +
        'change "paused" instead',
    });
  }
  if (typeof secret === "string") {
    const known = await vault.signing(worker);
    if (!known.includes(secret)) {
      faults.push({
        pointer: "/signing_secret",
        code: "read_only",
        detail: 'Cannot change field "signing_secret": the service makes it; ' +
          "leave it out, and replace it through the worker's secrets",
      });
    }
  }
  return faults;
}
