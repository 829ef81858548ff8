/**
 * Creates the tasks of requests from the inbox, by the rules of the API: a
 * request leads to the task, or has the problem, that the same body would lead
 * to or have in `POST /v1/tasks`.
 *
 * @module
 */

import type { Fault } from "../../../shared/schema/fault.ts";
import { isRefusal } from "../../engine/create_request.ts";
import type { InboxRequest } from "../../store/inbox.ts";
import type { Write } from "../../store/store.ts";
import { getStatus } from "../../http/answer.ts";
import { parseJsonBody } from "../../http/json_body.ts";
import {
  invalidRequest,
  type ProblemAnswer,
} from "../../http/problem_answer.ts";
import {
  beginCreation,
  judgeTasks,
  type MakingParts,
  NEW_TASK_BODY,
  refusalProblem,
  type TaskMaker,
} from "./create_task.ts";
import type { NewTaskInput } from "./task_schema.ts";

/** The outcome of taking over a request. */
export type EnqueuedOutcome =
  /** The task is there, new or since before, and the request is removed. */
  | { readonly kind: "created" | "found" }
  /** There is no task, for a reason that stays. */
  | { readonly kind: "refused"; readonly problem: ProblemAnswer }
  /** The request stays in the inbox, and may be tried again. */
  | { readonly kind: "left" };

const LEFT: EnqueuedOutcome = { kind: "left" };
const SERVICE_UNAVAILABLE = 503;

/**
 * Creates the tasks of some requests of a tenant, all in one commit, which also
 * removes the requests from the inbox.
 *
 * @returns the outcome of each, in their order
 * @throws {Error} when the store fails; what was done is unknown
 */
export async function createEnqueued(
  parts: MakingParts,
  maker: TaskMaker,
  requests: readonly InboxRequest[],
): Promise<readonly EnqueuedOutcome[]> {
  const outcomes: EnqueuedOutcome[] = requests.map(() => LEFT);
  const read: NewTaskReading[] = [];
  for (const [index, request] of requests.entries()) {
    const body = await readBody(request, maker);
    if (body.kind === "problem") outcomes[index] = toOutcome(body);
    else read.push({ index, at: "", input: body.input, faults: [] });
  }
  const judged = await judgeTasks(parts, maker, read);
  for (const [position, { index }] of read.entries()) {
    const problem = judged.problems[position];
    if (problem !== undefined) outcomes[index] = toOutcome(problem);
  }
  using creation = await beginCreation(parts, maker, {
    requests: judged.requests,
    isOneCommit: true,
  });
  if (creation === undefined) return outcomes;
  while (true) {
    const results = await creation.place();
    const taken: Write[] = [];
    const decided = [...outcomes];
    for (const [position, { index }] of read.entries()) {
      const result = results[position];
      if (result === undefined || judged.requests[position] === undefined) {
        continue;
      }
      if (isRefusal(result)) {
        decided[index] = toOutcome(refusalProblem(maker, result, parts));
        continue;
      }
      decided[index] = { kind: result.kind };
      const { number, tenantId } = requests[index]!;
      taken.push({ kind: "request", tenantId, number });
    }
    if (taken.length === 0) return decided;
    const { kind } = await creation.write(taken);
    if (kind === "ok") return decided;
    if (kind !== "again") return outcomes;
  }
}

/** A request's task, with the index of the request in the list. */
interface NewTaskReading {
  readonly index: number;
  readonly at: string;
  readonly input: NewTaskInput;
  readonly faults: Fault[];
}

/** Reads a request as the body that it stands for. */
async function readBody(
  { worker, key, dataJson, optionsJson }: InboxRequest,
  { pausing }: TaskMaker,
): Promise<
  { readonly kind: "ok"; readonly input: NewTaskInput } | ProblemAnswer
> {
  const members = [
    `"worker":${JSON.stringify(worker)}`,
    ...dataJson === undefined ? [] : [`"data":${dataJson}`],
    ...key === undefined ? [] : [`"key":${JSON.stringify(key)}`],
  ];
  const options = optionsJson.trim().slice(1, -1).trim();
  if (options !== "") members.push(options);
  const bytes = new TextEncoder().encode(`{${members.join()}}`);
  const { maxValues } = NEW_TASK_BODY;
  const parsed = await parseJsonBody(bytes, { maxValues, pausing });
  if (parsed.kind === "problem") return parsed;
  const outcome = NEW_TASK_BODY.read(parsed.value);
  return outcome.kind === "invalid"
    ? invalidRequest(outcome.faults)
    : { kind: "ok", input: outcome.value };
}

/** Requests that the API would answer with "try again later" stay. */
function toOutcome(problem: ProblemAnswer): EnqueuedOutcome {
  return getStatus(problem) === SERVICE_UNAVAILABLE
    ? LEFT
    : { kind: "refused", problem };
}
