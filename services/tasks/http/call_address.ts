/**
 * Who may set the addresses that the service calls: they get what is sent there.
 *
 * @module
 */

import { type Caller, scopeLackedBy, seesPayloads } from "../access/caller.ts";
import type { TaskCallback } from "../domain/task.ts";
import type { WorkerDefinition } from "../domain/records.ts";
import { problem, type ProblemAnswer } from "./problem_answer.ts";

/** The sentence about this rule in the API's document. */
export const CALL_ADDRESS_RULE: string =
  "Who says where a worker is called (`url`, also of a job, `headers`, and " +
  "the `name` of one that is there) decides who gets its tasks and secrets: " +
  'that needs the scope "secrets:write" and sight of the data of tasks ' +
  "(`payloads`), else the answer is 403.";

/** A worker before and after a request. */
interface WorkerChange {
  /** As it was; absent when it is made. */
  readonly before?: WorkerDefinition;
  /** As requested. */
  readonly after: WorkerDefinition;
}

/**
 * Why a caller may not change where calls of a worker go, or make a worker that
 * is called; undefined when it may, or nothing of that changes. The call's body
 * holds the data of tasks, its url and headers may hold secrets.
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
 * Why a caller may not have a task's end told to an address: the call holds
 * the task's data and result, and no secret. Undefined when it may, or the
 * address stays.
 */
export function callbackRefusal(
  { payloads }: {
    /** Whether the caller sees data and results. */
    readonly payloads: boolean;
  },
  { before, after }: {
    /** The call as it was; absent for a new task. */
    readonly before?: TaskCallback | undefined;
    /** The call as requested. */
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
 * Whether other addresses are called, or called with other templates. Its name
 * counts, too: tasks and secrets that are meant for it are sent by that name.
 */
function isCalledElsewhere(
  before: WorkerDefinition | undefined,
  after: WorkerDefinition,
): boolean {
  if (before === undefined) return addressesOf(after) !== NOWHERE;
  return addressesOf(before) !== addressesOf(after) ||
    before.name.toLowerCase() !== after.name.toLowerCase();
}

/** All that says where and with which headers a worker is called, as text. */
function addressesOf(
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

const NOWHERE = addressesOf({ headers: {} });

function byName(
  [a = ""]: readonly string[],
  [b = ""]: readonly string[],
): number {
  return a < b ? -1 : Number(a > b);
}
