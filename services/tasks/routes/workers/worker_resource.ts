/**
 * Workers as a resource of the API: how the worker that a call names is found,
 * what is shown of it, and how a requested definition is made and checked.
 *
 * @module
 */

import { type Fault, pointerTo } from "../../../shared/schema/fault.ts";
import { readOnlyFaults } from "../../../shared/schema/read_only.ts";
import { toActor } from "../../access/caller.ts";
import {
  type CallRules,
  judgeHeaders,
  judgeTarget,
  SERVICE_HEADERS,
} from "../../delivery/call_rules.ts";
import type { Retain, WorkerDefinition } from "../../domain/records.ts";
import { retentionFault } from "../../domain/retention.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Vault } from "../../engine/vault.ts";
import { type CallContext, getCaller, getTenant } from "../../http/call.ts";
import { formatEtag } from "../../http/etag.ts";
import type { ProblemAnswer } from "../../http/problem_answer.ts";
import {
  parseHeaderTemplate,
  parseUrlTemplate,
} from "../../secrets/template.ts";
import type { ApiParts } from "../api_parts.ts";
import { noSuchRecord } from "../record_plan.ts";
import { RecordResource } from "../record_resource.ts";
import { changeRecord, type RecordView } from "../record_table.ts";
import {
  isLive,
  viewWorker,
  WORKER,
  WORKER_FIELDS,
  WORKER_TABLE,
  type WorkerChanges,
  type WorkerFacts,
} from "./worker_fields.ts";

/** Workers as a resource. */
export function workerResource(
  { engine }: ApiParts,
): RecordResource<WorkerDefinition> {
  const { store, repositories, workers } = engine.parts;
  return new RecordResource<WorkerDefinition>({
    noun: "worker",
    name: "Worker",
    path: "/v1/workers/:id",
    tags: ["workers"],
    access: {
      read: { kind: "member", role: "viewer", scope: "workers:read" },
      write: { kind: "member", role: "admin", scope: "workers:write" },
    },
    shape: WORKER,
    store,
    repository: repositories.workers,
    find: async (call) => {
      const { id: idOrName = "" } = call.params;
      return await workers.find(getTenant(call).id, idOrName) ?? noSuchWorker();
    },
    view: async (worker) => viewWorker(worker, await loadFacts(engine, worker)),
    tag: ({ version }) => formatEtag(version),
  });
}

/** The problem of a worker that does not exist. */
export function noSuchWorker(): ProblemAnswer {
  return noSuchRecord("worker", "id or name");
}

/** What is known of a worker now, besides its definition. */
export async function loadFacts(
  engine: Pick<Engine, "parts" | "liveness">,
  { tenantId, id: workerId }: Pick<WorkerDefinition, "tenantId" | "id">,
): Promise<WorkerFacts> {
  const { store, clock } = engine.parts;
  return {
    life: engine.liveness.of({ tenantId, workerId }),
    counts: await store.counts({ tenantId, workerId }),
    nowMs: clock.nowMs(),
  };
}

/** A worker with all values at their defaults. */
export function blankWorker(
  of: { readonly tenantId: string; readonly id: string },
  nowMs: number,
): WorkerDefinition {
  return {
    ...of,
    version: 1,
    name: "",
    kind: "pull",
    method: "POST",
    headers: {},
    concurrency: 10,
    timeoutMs: 30_000,
    leaseMs: 30_000,
    maxLost: 3,
    isPaused: false,
    signing: [],
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
}

/** What null stands for in fields without a default. */
const RESETS = {
  url: undefined,
  jobs: undefined,
  limits: undefined,
  retain: undefined,
  // Null is stored as it was sent, since it means no retries.
  retry: null,
};

/**
 * Returns the worker with changes made: absent fields stay, null is the
 * default. Keys, secrets and the version do not change.
 */
export function changedWorker(
  worker: WorkerDefinition,
  changes: Readonly<Record<string, unknown>>,
  call: Pick<CallContext, "caller" | "nowMs">,
): WorkerDefinition {
  const { record } = changeRecord(WORKER_TABLE, worker, {
    changes,
    resets: RESETS,
  });
  const { url, isPaused } = record;
  const kind = url === undefined ? "pull" : "push";
  if (isPaused === worker.isPaused) return { ...record, kind };
  const { type, id } = toActor(getCaller(call));
  return {
    ...record,
    kind,
    pausedAtMs: isPaused ? call.nowMs : undefined,
    resumedAtMs: isPaused ? undefined : call.nowMs,
    pausedBy: isPaused ? `${type}:${id}` : undefined,
  };
}

/**
 * Names of headers that a worker cannot set, since the service overwrites them.
 */
const RESERVED: readonly string[] = [...SERVICE_HEADERS, "user-agent"];

/** Finds all faults of a worker's definition. */
export function workerFaults(
  worker: WorkerDefinition,
  { targets, isAsymmetric, retentionMs }: {
    /** The rules that URLs must meet. */
    readonly targets: CallRules;
    /** Whether its calls are to be signed with a key pair. */
    readonly isAsymmetric: boolean;
    /** How long the plan keeps tasks, in milliseconds; null means forever. */
    readonly retentionMs: number | null;
  },
): readonly Fault[] {
  const retainFaults = (retain: Retain | undefined, at: string): Fault[] => {
    const fault = retain && retentionFault(retain, retentionMs);
    return fault ? [{ ...fault, pointer: `${at}/retain${fault.pointer}` }] : [];
  };
  return [
    ...worker.url === undefined
      ? pullFaults(worker, isAsymmetric)
      : urlFaults(worker.url, { at: "/url", targets }),
    ...headersFaults(worker.headers),
    ...retainFaults(worker.retain, ""),
    ...Object.entries(worker.jobs ?? {}).flatMap(([name, { url, retain }]) => {
      const at = pointerTo("/jobs", name);
      return [
        ...retainFaults(retain, at),
        ...url === undefined
          ? []
          : urlFaults(url, { at: `${at}/url`, targets }),
      ];
    }),
  ];
}

/** The faults of a pull worker that has fields only push workers may have. */
function pullFaults(
  worker: WorkerDefinition,
  isAsymmetric: boolean,
): readonly Fault[] {
  const needsUrl = (pointer: string, what: string): Fault => ({
    pointer,
    code: "needs_url",
    detail: `Cannot take ${what}: the worker has no url to be called at`,
  });
  const job = Object.entries(worker.jobs ?? {})
    .find(([, { url }]) => url !== undefined);
  return [
    ...Object.keys(worker.headers).length === 0
      ? []
      : [needsUrl("/headers", "headers")],
    ...isAsymmetric ? [needsUrl("/asymmetric", "a key pair")] : [],
    ...job === undefined
      ? []
      : [needsUrl(`${pointerTo("/jobs", job[0])}/url`, "the url of a job")],
  ];
}

function urlFaults(
  url: string,
  { at, targets }: {
    readonly at: string;
    readonly targets: CallRules;
  },
): readonly Fault[] {
  const parsed = parseUrlTemplate(url);
  if (parsed.kind === "invalid") {
    return [{ pointer: at, code: "bad_url", detail: parsed.reason }];
  }
  // Scheme, host and port are the same whatever the secrets are, so any value
  // will do.
  const sample = parsed.template.render(() => "secret");
  if (sample.kind !== "ok") {
    return [{ pointer: at, code: "bad_url", detail: "Cannot read URL" }];
  }
  const verdict = judgeTarget(sample.text, targets);
  return verdict.kind === "ok"
    ? []
    : [{ pointer: at, code: verdict.code, detail: verdict.reason }];
}

function headersFaults(
  headers: Readonly<Record<string, string>>,
): readonly Fault[] {
  const verdict = judgeHeaders(headers, RESERVED);
  if (verdict.kind === "refused") {
    const { name, reason } = verdict;
    const pointer = pointerTo("/headers", name.slice(0, 256));
    return [{ pointer, code: "bad_header", detail: reason }];
  }
  return Object.entries(headers).flatMap(([name, value]) => {
    const outcome = parseHeaderTemplate(value);
    return outcome.kind === "ok" ? [] : [{
      pointer: pointerTo("/headers", name),
      code: "bad_header",
      detail: outcome.reason,
    }];
  });
}

const COMPARED = Object.fromEntries(
  Object.entries(WORKER_FIELDS).filter(([name]) =>
    !isLive(name) && name !== "signing_secret"
  ),
);

/**
 * Finds read-only members that a client sent with other values than the
 * worker's. Members that change by themselves are not compared, except for a
 * status that would pause or resume the worker, which is the one thing a client
 * can mean by it.
 */
export async function readOnlyMembers(
  given: WorkerChanges,
  { worker, view, vault }: {
    readonly worker: WorkerDefinition;
    /** The worker as the API shows it. */
    readonly view: RecordView;
    /** Opens the worker's signing secrets. */
    readonly vault: Vault;
  },
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
      detail: 'Cannot change field "status": the service sets it; change ' +
        '"paused" instead',
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
