/**
 * The routes of pull workers: one that leases tasks, and those of lease
 * holders.
 *
 * @module
 */

import {
  andThen,
  describeError,
  type MaybePromise,
} from "../../../shared/settled.ts";
import { type Caller, seesPayloads } from "../../access/caller.ts";
import type { WorkerDefinition } from "../../domain/records.ts";
import { dependencyResults } from "../../engine/dependency_results.ts";
import { EmbeddedJson } from "../../engine/stored_json.ts";
import type { Grant } from "../../engine/waiter.ts";
import type { Task } from "../../domain/task.ts";
import { optionalTime } from "../../domain/instant.ts";
import { showResumed } from "../../domain/wait_schema.ts";
import { viewTask } from "../tasks/task_view.ts";
import type { ApiParts } from "../api_parts.ts";
import { type Answer, json } from "../../http/answer.ts";
import {
  type Call,
  getCaller,
  getTenant,
  MINIMAL_APPLIED,
  prefersMinimal,
} from "../../http/call.ts";
import { problem, type ProblemAnswer } from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute, optionalBody } from "../../http/route.ts";
import { secretsUnavailable } from "../workers/signing_keys.ts";
import { noSuchWorker } from "../workers/worker_resource.ts";
import {
  LEASE_BODY,
  LEASE_BODY_EXAMPLE,
  type LeaseBody,
  LEASES,
} from "./lease_schema.ts";
import { LeaseScrubbers, LogBudget } from "./held_leases.ts";
import { leaseActionRoutes } from "./lease_action_routes.ts";

/** Most characters of secrets in one answer. */
const MAX_SECRET_CHARS = 4 * 1_048_576;

/** The routes of pull workers. */
export function leaseRoutes(parts: ApiParts): readonly AnyRoute[] {
  const scrubbers = new LeaseScrubbers(parts);
  const budget = new LogBudget(parts.engine.parts.store);
  return [
    leaseRoute(parts, scrubbers),
    ...leaseActionRoutes({ parts, scrubbers, budget }),
  ];
}

/** The route that leases tasks to a worker. */
function leaseRoute(
  parts: ApiParts,
  scrubbers: LeaseScrubbers,
): AnyRoute {
  return defineRoute({
    method: "POST",
    path: "/v1/workers/:id/lease",
    hosts: "tenant",
    operationId: "leaseTasks",
    summary: "Lease tasks of a worker",
    description: "Answers as soon as there is a task, or with none when " +
      "`wait` is over. The holder of a lease reports the outcome before the " +
      "lease ends, or extends it. A worker's credential leases tasks of its own " +
      "worker only; when it is revoked or expires while the worker waits, no " +
      "tasks are given, and the answer is a 401. " +
      "With `Prefer: return=minimal` each lease has of its task only what the " +
      "work needs: `id`, `job`, `data` and `metadata`. " +
      "An Idempotency-Key is not accepted: tokens are never stored, and leases " +
      "whose answer got lost end by themselves.",
    tags: ["leases"],
    access: { kind: "worker" },
    body: optionalBody(LEASE_BODY, { example: LEASE_BODY_EXAMPLE }),
    answers: { 200: { description: "The leases", shape: LEASES } },
    heedsPrefer: true,
    problems: ["wrong_state", "secrets_unavailable"],
    handle: (call) => leaseTasks(call, parts, scrubbers),
  });
}

async function leaseTasks(
  call: Call<unknown, LeaseBody>,
  parts: ApiParts,
  scrubbers: LeaseScrubbers,
): Promise<Answer> {
  const { engine } = parts;
  let caller = getCaller(call);
  const tenantId = getTenant(call).id;
  const worker = await engine.parts.workers.find(
    tenantId,
    call.params.id ?? "",
  );
  const refusal = findRefusal(worker, caller);
  if (worker === undefined || refusal !== undefined) {
    return refusal ?? noSuchWorker();
  }
  const { body: wanted } = call;
  let { max } = wanted;
  if (wanted.secrets) {
    const denied = secretsRefusal(caller, parts);
    if (denied !== undefined) return denied;
    const { values } = await parts.vault.open(tenantId, worker.id);
    const chars = countChars(values);
    max = Math.min(max, Math.max(1, Math.floor(MAX_SECRET_CHARS / chars)));
  }
  const refusalNow = (): MaybePromise<ProblemAnswer | undefined> =>
    andThen(call.reauthorize(), (admission) => {
      if (admission.kind === "problem") return admission;
      caller = admission.caller ?? caller;
      return findRefusal(worker, caller) ??
        (wanted.secrets ? secretsRefusal(caller, parts) : undefined);
    });
  const grants = await engine.leases.lease({
    tenantId,
    workerId: worker.id,
    max,
    waitMs: wanted.wait,
    jobs: wanted.jobs,
    leaseMs: wanted.lease,
    instance: wanted.instance,
    isStillAuthorized: () =>
      andThen(refusalNow(), (refused) => refused === undefined),
    onGone: (listener) => call.onGone(listener),
  });
  if (grants.length === 0 && wanted.wait > 0) {
    const refused = await refusalNow();
    if (refused !== undefined) return refused;
  }
  for (const { task } of grants) {
    if (task.attempt !== undefined) {
      scrubbers.remember(task.attempt.id, worker.id);
    }
  }
  const isMinimal = prefersMinimal(call.header("prefer"));
  const embedded = new EmbeddedJson();
  const payloads = seesPayloads(caller);
  const { secrets, dependencies } = await readWith(grants, {
    ...{ parts, worker, embedded, payloads },
    withSecrets: wanted.secrets,
  });
  const view = { workerName: worker.name, payloads, embedded };
  const leases = grants.map(({ task, token }) => ({
    id: task.attempt?.id ?? null,
    token,
    fence: task.fence,
    task: isMinimal ? viewWork(task, view) : viewTask(task, view),
    run: task.run,
    attempt: task.retries + 1,
    expires_at: optionalTime(task.attempt?.expiresAtMs),
    secrets,
    dependencies: dependencies.get(task),
    ...showResumed(task, { payloads, place: (json) => embedded.place(json) }),
  }));
  return json({ leases }, {
    embedded,
    headers: isMinimal ? MINIMAL_APPLIED : undefined,
  });
}

/** What is handed over with tasks, besides the tasks. */
interface HandedOver {
  /** The worker's secrets, if they are asked for. */
  readonly secrets: Readonly<Record<string, string>> | undefined;
  /** The dependencies of tasks that have some. */
  readonly dependencies: Awaited<ReturnType<typeof dependencyResults>>;
}

/**
 * Reads the worker's secrets, which may have changed while it waited, and what
 * the tasks' dependencies returned. If that fails, the tasks are given back.
 */
async function readWith(
  grants: readonly Grant[],
  { parts, worker, embedded, payloads, withSecrets }: {
    readonly parts: ApiParts;
    readonly worker: WorkerDefinition;
    readonly embedded: EmbeddedJson;
    readonly payloads: boolean;
    readonly withSecrets: boolean;
  },
): Promise<HandedOver> {
  const { vault, engine } = parts;
  const { store } = engine.parts;
  const tasks = grants.map(({ task }) => task);
  try {
    const opened = withSecrets && grants.length > 0
      ? await vault.open(worker.tenantId, worker.id)
      : undefined;
    return {
      secrets: opened && Object.fromEntries(opened.values),
      dependencies: tasks.some(({ dependencies }) => dependencies.length > 0)
        ? await dependencyResults(tasks, { ...{ store, embedded, payloads } })
        : new Map(),
    };
  } catch (error) {
    const reason = "what goes with the task could not be read";
    try {
      await engine.leases.giveBack(grants, reason);
    } catch (failure) {
      engine.parts.logger.warn("Cannot return tasks: the store failed", {
        error: describeError(failure),
      });
    }
    throw error;
  }
}

/** Why a caller may not lease a worker's tasks; undefined when it may. */
function findRefusal(
  worker: WorkerDefinition | undefined,
  caller: Caller,
): ProblemAnswer | undefined {
  // A worker that does not exist gets the same answer, so that a credential
  // learns nothing about other workers.
  if (caller.kind === "worker" && worker?.id !== caller.workerId) {
    return problem("forbidden", {
      detail: "Cannot lease tasks: the credential belongs to another worker",
    });
  }
  return worker?.kind !== "push" ? undefined : problem("wrong_state", {
    detail: "Cannot lease tasks: the worker has a url, so the service calls it",
    extensions: { state: worker.kind },
  });
}

/** Why a caller may not get the worker's secrets; undefined when it may. */
function secretsRefusal(
  caller: Caller,
  { vault }: ApiParts,
): ProblemAnswer | undefined {
  const isAllowed = caller.kind === "worker"
    ? caller.secrets
    : seesPayloads(caller);
  if (!isAllowed) {
    return problem("forbidden", {
      detail: "Cannot give secrets: the credential is not for them",
    });
  }
  return vault.isAvailable ? undefined : secretsUnavailable();
}

function countChars(values: ReadonlyMap<string, string>): number {
  let chars = 1;
  for (const [name, value] of values) chars += name.length + value.length;
  return chars;
}

/** The members of a task that describe the work. */
function viewWork(
  { id, job, dataJson, metadata }: Task,
  { payloads, embedded }: {
    /** Whether the task's data is shown. */
    readonly payloads: boolean;
    /** Embeds long data as the JSON text that is stored. */
    readonly embedded: EmbeddedJson;
  },
): Readonly<Record<string, unknown>> {
  return {
    id,
    job,
    data: payloads ? embedded.place(dataJson) : undefined,
    metadata,
  };
}
