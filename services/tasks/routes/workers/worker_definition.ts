/**
 * The definition of a worker as a request asks for it, and what is wrong with it.
 *
 * @module
 */

import { type Fault, pointerTo } from "../../../shared/schema/fault.ts";
import { readOnlyFaults } from "../../../shared/schema/read_only.ts";
import {
  type CallRules,
  judgeHeaders,
  judgeTarget,
  SERVICE_HEADERS,
} from "../../delivery/call_rules.ts";
import type {
  WorkerDefinition,
  WorkerJob,
  WorkerLimits,
} from "../../domain/records.ts";
import type { Vault } from "../../engine/vault.ts";
import {
  parseHeaderTemplate,
  parseUrlTemplate,
} from "../../secrets/template.ts";
import {
  LIVE_FIELDS,
  WORKER_FIELDS,
  type WorkerChanges,
} from "./worker_fields.ts";
import type { WorkerView } from "./read_workers.ts";

/** Circumstances of a change. */
interface ChangeContext {
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** Who changes it, as `type:id`. */
  readonly actor: string;
}

/** A worker of which nothing is said but whose it is. */
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

/**
 * Returns the worker with a change made: what is not given stays, null is the
 * default. Keys and secrets stay as they are, and so does the version.
 */
export function changedWorker(
  worker: WorkerDefinition,
  changes: WorkerChanges,
  context: ChangeContext,
): WorkerDefinition {
  const { url: oldUrl, jobs: oldJobs, limits: oldLimits, ...kept } = worker;
  const { retry: oldRetry, pausedAtMs, pausedBy, ...rest } = kept;
  const url = chosen(changes.url, { kept: oldUrl, fallback: undefined });
  const jobs = changes.jobs === undefined ? oldJobs : jobsOf(changes.jobs);
  const limits = changes.limits === undefined
    ? oldLimits
    : limitsOf(changes.limits);
  const retry = changes.retry === undefined ? oldRetry : changes.retry;
  const isPaused = chosen(changes.paused, {
    kept: worker.isPaused,
    fallback: false,
  });
  const paused = !isPaused
    ? {}
    : worker.isPaused
    ? { pausedAtMs, pausedBy }
    : { pausedAtMs: context.nowMs, pausedBy: context.actor };
  const fallback = blankWorker(worker, context.nowMs);
  const pick = <Value>(
    change: Value | null | undefined,
    member: (of: WorkerDefinition) => Value,
  ): Value =>
    chosen(change, { kept: member(worker), fallback: member(fallback) });
  return {
    ...rest,
    name: changes.name ?? worker.name,
    kind: url === undefined ? "pull" : "push",
    ...(url === undefined ? {} : { url }),
    method: pick(changes.method, ({ method }) => method),
    headers: pick(changes.headers, ({ headers }) => headers),
    ...(jobs === undefined ? {} : { jobs }),
    concurrency: pick(changes.concurrency, ({ concurrency }) => concurrency),
    ...(limits === undefined ? {} : { limits }),
    timeoutMs: pick(changes.timeout, ({ timeoutMs }) => timeoutMs),
    leaseMs: pick(changes.lease, ({ leaseMs }) => leaseMs),
    ...(retry === undefined ? {} : { retry }),
    maxLost: pick(changes.max_lost, ({ maxLost }) => maxLost),
    isPaused,
    ...definedOf(paused),
  };
}

function chosen<Value>(
  change: Value | null | undefined,
  { kept, fallback }: { readonly kept: Value; readonly fallback: Value },
): Value {
  if (change === undefined) return kept;
  return change === null ? fallback : change;
}

function jobsOf(
  jobs: NonNullable<WorkerChanges["jobs"]> | null,
): Readonly<Record<string, WorkerJob>> | undefined {
  if (jobs === null) return undefined;
  const entries: [string, WorkerJob][] = isNames(jobs)
    ? jobs.map((name) => [name, {}])
    : Object.entries(jobs).map(([name, { url, timeout, retry }]) => [name, {
      ...(typeof url === "string" ? { url } : {}),
      ...(typeof timeout === "number" ? { timeoutMs: timeout } : {}),
      ...(retry === undefined ? {} : { retry }),
    }]);
  return Object.fromEntries(entries);
}

function isNames(
  jobs: NonNullable<WorkerChanges["jobs"]>,
): jobs is readonly string[] {
  return Array.isArray(jobs);
}

function limitsOf(
  limits: NonNullable<WorkerChanges["limits"]> | null,
): WorkerLimits | undefined {
  const { rate, period, per, group_concurrency: groupConcurrency } = limits ??
    {};
  const made: WorkerLimits = {
    ...(typeof rate !== "number" ? {} : {
      rate: {
        count: rate,
        periodMs: period ?? 1_000,
        per: per ?? "worker",
      },
    }),
    ...(typeof groupConcurrency === "number" ? { groupConcurrency } : {}),
  };
  return Object.keys(made).length === 0 ? undefined : made;
}

function definedOf(
  paused: {
    readonly pausedAtMs?: number | undefined;
    readonly pausedBy?: string | undefined;
  },
): Pick<WorkerDefinition, "pausedAtMs" | "pausedBy"> {
  const { pausedAtMs, pausedBy } = paused;
  return {
    ...(pausedAtMs === undefined ? {} : { pausedAtMs }),
    ...(pausedBy === undefined ? {} : { pausedBy }),
  };
}

/** Headers that a worker's own cannot be: the service writes them over. */
const RESERVED: readonly string[] = [...SERVICE_HEADERS, "user-agent"];

/** Options of {@linkcode workerFaults}. */
interface WorkerFaultsOptions {
  /** What addresses are judged by. */
  readonly targets: CallRules;
  /** Whether its calls are to be signed with a key pair. */
  readonly isAsymmetric: boolean;
}

/** Finds everything that is wrong with a worker's definition. */
export function workerFaults(
  worker: WorkerDefinition,
  options: WorkerFaultsOptions,
): readonly Fault[] {
  const { targets, isAsymmetric } = options;
  return [
    ...worker.url === undefined
      ? pullFaults(worker, isAsymmetric)
      : urlFaults(worker.url, { at: "/url", targets }),
    ...headersFaults(worker.headers),
    ...Object.entries(worker.jobs ?? {}).flatMap(([name, { url }]) => {
      const at = `${pointerTo("/jobs", name)}/url`;
      return url === undefined ? [] : urlFaults(url, { at, targets });
    }),
  ];
}

/** What only a worker that is called can have. */
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
  // Scheme, host and port are the same whatever the secrets are.
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
    !Object.hasOwn(LIVE_FIELDS, name) && name !== "signing_secret"
  ),
);

/** A worker as it is, and as it is told. */
interface ToldWorker {
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
