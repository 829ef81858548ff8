/**
 * Rules about who may set the URLs that the service calls. The receiver of a
 * call gets the data of tasks, and secrets.
 *
 * @module
 */

import { type Caller, scopeLackedBy, seesPayloads } from "../access/caller.ts";
import type { TaskCallback } from "../domain/task.ts";
import type { WorkerDefinition } from "../domain/records.ts";
import { problem, type ProblemAnswer } from "./problem_answer.ts";

/** The rule as a sentence for the API's document. */
export const CALL_ADDRESS_RULE: string =
  "Who says where a worker is called (`url`, also of a job, `headers`, and " +
  "the `name` of one that is there) decides who gets its tasks and secrets: " +
  'that needs the scope "secrets:write" and sight of the data of tasks ' +
  "(`payloads`), else the answer is 403.";

/** A worker before and after a request. */
interface WorkerChange {
  /** The worker before the request; absent when the request creates it. */
  readonly before?: WorkerDefinition;
  /** The worker that the request asks for. */
  readonly after: WorkerDefinition;
}

/**
 * Why a caller may not change where a worker is called, or create a worker that
 * is called. Undefined when the caller may, or when nothing of that changes.
 * The body of a call has the data of tasks; its URL and headers may have
 * secrets.
 */
export function workerAddressRefusal(
  caller: Caller,
  { before, after }: WorkerChange,
): ProblemAnswer | undefined {
  if (!isCalledElsewhere(before, after)) return undefined;
  const scope = scopeLackedBy(caller, "secrets:write");
  const isBlind = !seesPayloads(caller);
  if (scope === undefined && !isBlind) return undefined;
  const lacking = [
    ...scope === undefined ? [] : [`the scope "${scope}"`],
    ...isBlind ? ['sight of the data of tasks ("payloads")'] : [],
  ];
  return problem("forbidden", {
    detail: "Cannot say where the worker is called, which gets its tasks and " +
      `secrets: you lack ${lacking.join(" and ")}`,
    extensions: scope === undefined ? undefined : { scope },
  });
}

/**
 * Why a caller may not set the URL that is called when a task ends. That call
 * has the task's data and result, but no secret. Undefined when the caller may,
 * or when the URL stays the same.
 */
export function callbackRefusal(
  { payloads }: {
    /** Whether the caller sees data and results. */
    readonly payloads: boolean;
  },
  { before, after }: {
    /** The callback before the request; absent for a new task. */
    readonly before?: TaskCallback | undefined;
    /** The callback that the request asks for. */
    readonly after: TaskCallback | undefined;
  },
): ProblemAnswer | undefined {
  if (payloads || after === undefined || after.url === before?.url) {
    return undefined;
  }
  return problem("forbidden", {
    detail:
      'Cannot set "callback": the call holds the data and the result of ' +
      'the task, which you do not see ("payloads")',
  });
}

/**
 * Whether a worker is called at other URLs or with other templates after a
 * change. A new name counts, too: tasks and secrets are sent to a worker by its
 * name.
 */
function isCalledElsewhere(
  before: WorkerDefinition | undefined,
  after: WorkerDefinition,
): boolean {
  if (before === undefined) return formatAddresses(after) !== NOWHERE;
  return formatAddresses(before) !== formatAddresses(after) ||
    before.name.toLowerCase() !== after.name.toLowerCase();
}

/**
 * All that decides where and with which headers a worker is called, as text
 * that can be compared.
 */
function formatAddresses(
  { url, jobs = {}, headers }: Pick<
    WorkerDefinition,
    "url" | "jobs" | "headers"
  >,
): string {
  const ofJobs = Object.entries(jobs)
    .flatMap(([name, job]) => job.url === undefined ? [] : [[name, job.url]]);
  return JSON.stringify([
    url ?? null,
    ofJobs.sort(byName),
    Object.entries(headers).sort(byName),
  ]);
}

const NOWHERE = formatAddresses({ headers: {} });

function byName(
  [a = ""]: readonly string[],
  [b = ""]: readonly string[],
): number {
  return a < b ? -1 : Number(a > b);
}
