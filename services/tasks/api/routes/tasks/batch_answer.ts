/**
 * What a batch of tasks is answered with.
 *
 * @module
 */

import { seesPayloads } from "../../../access/caller.ts";
import { type Answer, json, statusOf } from "../../http/answer.ts";
import { type CallContext, callerOf } from "../../http/call.ts";
import {
  invalidRequest,
  type ProblemAnswer,
  type RequestFault,
} from "../../http/problem_answer.ts";
import { MINIMAL_APPLIED, prefersMinimal } from "../../http/prefer.ts";
import { cannotTake, MAX_FAULTS } from "../../schema/fault.ts";
import { viewTask } from "../../views/task_view.ts";
import { problemObject } from "./problem_object.ts";
import type { Made } from "./task_creator.ts";

/** The answer with a result for each task, in their order. */
export function batchAnswer(
  call: CallContext,
  made: readonly Made[],
): Answer {
  const isMinimal = prefersMinimal(call.header("prefer"));
  const payloads = seesPayloads(callerOf(call));
  const results = made.map((one) => {
    if (one.kind === "problem") {
      return { status: statusOf(one), problem: problemObject(call, one) };
    }
    const { isNew, task, judged } = one;
    const status = isNew ? 201 : 200;
    if (isMinimal) return { status, id: task.id };
    return {
      status,
      task: viewTask(task, {
        workerName: judged.worker.name,
        payloads,
        ...(isNew ? { data: judged.data } : {}),
      }),
    };
  });
  return json({ results }, isMinimal ? { headers: MINIMAL_APPLIED } : {});
}

/** The problem of an atomic batch of which nothing was made. */
export function problemOfAll(made: readonly Made[]): ProblemAnswer {
  const problems = made.flatMap((one, index) =>
    one.kind === "problem" ? [{ problem: one, index }] : []
  );
  const errors = problems.flatMap(({ problem, index }) =>
    problem.errors ?? [faultOf(problem, index)]
  ).slice(0, MAX_FAULTS);
  const [first] = problems;
  // What is no fault of the request, such as a quota, is told as what it is.
  const other = problems.find(({ problem }) => statusOf(problem) !== 422);
  if (first === undefined || other === undefined) return invalidRequest(errors);
  return { ...other.problem, errors };
}

/** The problem of a batch with more tasks than the plan allows. */
export function tooManyTasks(batchSize: number): ProblemAnswer {
  return invalidRequest([{
    pointer: "/tasks",
    code: "too_many",
    detail: cannotTake(`the plan allows ${batchSize} tasks in a batch`),
  }]);
}

/** The problem of a batch whose tasks depend on too many others. */
export function tooManyDependencies(max: number): ProblemAnswer {
  return invalidRequest([{
    pointer: "/tasks",
    code: "too_many",
    detail: cannotTake(`its tasks depend on more than ${max} others`),
  }]);
}

function faultOf(
  { code, detail }: ProblemAnswer,
  index: number,
): RequestFault {
  return { pointer: `/tasks/${index}`, code, detail: detail ?? code };
}
