/**
 * The route through which workers take tasks.
 *
 * @module
 */

import { type Soon, soon } from "../../../shared/settled.ts";
import { type Caller, seesPayloads } from "../../access/caller.ts";
import type { WorkerDefinition } from "../../domain/records.ts";
import { EmbeddedJson } from "../../engine/embedded_json.ts";
import type { Grant } from "../../engine/claim_demand.ts";
import type { ApiParts } from "../api_parts.ts";
import { type Answer, json } from "../../http/answer.ts";
import { type Call, callerOf, tenantOf } from "../../http/call.ts";
import { MINIMAL_APPLIED, prefersMinimal } from "../../http/request_headers.ts";
import { problem, type ProblemAnswer } from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute, optionalBody } from "../../http/route.ts";
import { viewLease } from "./lease_view.ts";
import { secretsUnavailable } from "../workers/signing_keys.ts";
import { findWorker, noSuchWorker } from "../workers/worker_finder.ts";
import { LEASE_WISH, LEASES, type Wish, WISH_EXAMPLE } from "./lease_schema.ts";
import type { LeaseScrubbers } from "./lease_scrubbers.ts";

/** Most characters of secrets in one answer. */
const MAX_SECRET_CHARS = 4 * 1_048_576;

/** What is wanted of a worker's tasks when nothing is said. */
const ANY_WISH: Wish = { max: 1, wait: 0, secrets: false };

/** What the route needs. */
export interface TakeParts {
  /** The parts of all routes. */
  readonly parts: ApiParts;
  /** Remembers who was given a lease. */
  readonly scrubbers: LeaseScrubbers;
}

/** The route that hands out tasks. */
export function takeRoute(take: TakeParts): AnyRoute {
  return defineRoute({
    method: "POST",
    path: "/v1/workers/:id/lease",
    hosts: "tenant",
    operationId: "leaseTasks",
    summary: "Take tasks of a worker",
    description: "Answers as soon as there is a task, or with none when " +
      "`wait` is over. Whoever is given a lease says how it went before it " +
      "ends, or extends it. A worker's credential opens its own worker only; " +
      "one that is revoked or expires while its worker waits is given nothing " +
      "more, and the answer is a 401. " +
      "With `Prefer: return=minimal` each lease has of its task only what the " +
      "work needs: `id`, `job`, `data` and `metadata`. " +
      "An Idempotency-Key is not taken: tokens are never stored, and leases " +
      "whose answer got lost end by themselves.",
    tags: ["leases"],
    access: { kind: "worker" },
    body: optionalBody(LEASE_WISH, { example: WISH_EXAMPLE }),
    answers: { 200: { description: "The leases", shape: LEASES } },
    heedsPrefer: true,
    problems: ["wrong_state", "secrets_unavailable"],
    handle: (call) => takeTasks(call, take),
  });
}

async function takeTasks(
  call: Call<unknown, Wish | undefined>,
  { parts, scrubbers }: TakeParts,
): Promise<Answer> {
  const { engine } = parts;
  let caller = callerOf(call);
  const tenantId = tenantOf(call).id;
  const worker = await findWorker(engine, tenantId, call.params.id ?? "");
  const refusal = refusalOf(worker, caller);
  if (worker === undefined || refusal !== undefined) {
    return refusal ?? noSuchWorker();
  }
  const { body: wish = ANY_WISH } = call;
  let { max } = wish;
  if (wish.secrets) {
    const denied = secretsRefusal(caller, parts);
    if (denied !== undefined) return denied;
    const { values } = await parts.vault.open(tenantId, worker.id);
    const chars = sizeOf(values);
    max = Math.min(max, Math.max(1, Math.floor(MAX_SECRET_CHARS / chars)));
  }
  const refusalNow = (): Soon<ProblemAnswer | undefined> =>
    soon(call.admitAgain(), (admission) => {
      if (admission.kind === "problem") return admission;
      caller = admission.caller ?? caller;
      return refusalOf(worker, caller) ??
        (wish.secrets ? secretsRefusal(caller, parts) : undefined);
    });
  const grants = await waitForTasks(call, {
    parts,
    worker,
    wish: { ...wish, max },
    mayHave: () => soon(refusalNow(), (refused) => refused === undefined),
  });
  if (grants.length === 0 && wish.wait > 0) {
    const refused = await refusalNow();
    if (refused !== undefined) return refused;
  }
  for (const { task } of grants) {
    if (task.attempt !== undefined) {
      scrubbers.remember(task.attempt.id, worker.id);
    }
  }
  // They may have changed while the worker waited.
  const secrets = wish.secrets && grants.length > 0
    ? Object.fromEntries((await parts.vault.open(tenantId, worker.id)).values)
    : undefined;
  const isMinimal = prefersMinimal(call.header("prefer"));
  const embedded = new EmbeddedJson();
  const view = {
    embedded,
    payloads: seesPayloads(caller),
    workerName: worker.name,
    secrets,
    isMinimal,
  };
  return json({ leases: grants.map((grant) => viewLease(grant, view)) }, {
    embedded,
    ...(isMinimal ? { headers: MINIMAL_APPLIED } : {}),
  });
}

async function waitForTasks(
  call: Call<unknown, unknown>,
  { parts: { engine }, worker, wish, mayHave }: {
    readonly parts: ApiParts;
    readonly worker: WorkerDefinition;
    readonly wish: Wish;
    readonly mayHave: () => Soon<boolean>;
  },
): Promise<readonly Grant[]> {
  const { jobs, lease, instance } = wish;
  let stop: (() => void) | undefined;
  try {
    return await engine.leases.lease({
      tenantId: worker.tenantId,
      workerId: worker.id,
      max: wish.max,
      waitMs: wish.wait,
      ...(jobs === undefined ? {} : { jobs }),
      ...(lease === undefined ? {} : { leaseMs: lease }),
      ...(instance === undefined ? {} : { instance }),
      mayHave,
      onGone(callback) {
        stop = call.onGone(callback);
      },
    });
  } finally {
    stop?.();
  }
}

/** Why a caller may not take a worker's tasks; undefined when it may. */
function refusalOf(
  worker: WorkerDefinition | undefined,
  caller: Caller,
): ProblemAnswer | undefined {
  // The same for a worker that is not there: a credential learns of its own.
  if (caller.kind === "worker" && worker?.id !== caller.workerId) {
    return problem("forbidden", {
      detail: "Cannot take tasks: the credential is of another worker",
    });
  }
  return worker?.kind !== "push" ? undefined : problem("wrong_state", {
    detail: "Cannot take tasks: the worker has a url, so the service calls it",
    extensions: { state: worker.kind },
  });
}

/** Why a caller may not have the worker's secrets; undefined when it may. */
function secretsRefusal(
  caller: Caller,
  { vault }: ApiParts,
): ProblemAnswer | undefined {
  const mayHave = caller.kind === "worker"
    ? caller.secrets
    : seesPayloads(caller);
  if (!mayHave) {
    return problem("forbidden", {
      detail: "Cannot give secrets: the credential is not for them",
    });
  }
  return vault.isAvailable ? undefined : secretsUnavailable();
}

function sizeOf(values: ReadonlyMap<string, string>): number {
  let chars = 1;
  for (const [name, value] of values) chars += name.length + value.length;
  return chars;
}
