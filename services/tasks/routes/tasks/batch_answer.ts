/**
 * What a batch of tasks is answered with.
 *
 * @module
 */

import { seesPayloads } from "../../access/caller.ts";
import { EmbeddedJson } from "../../engine/embedded_json.ts";
import { type Answer, problemText, statusOf } from "../../http/answer.ts";
import { type CallContext, callerOf } from "../../http/call.ts";
import {
  invalidRequest,
  type ProblemAnswer,
  type RequestFault,
} from "../../http/problem_answer.ts";
import { MINIMAL_APPLIED, prefersMinimal } from "../../http/request_headers.ts";
import {
  cannotTake,
  MAX_BATCH_FAULTS,
  MAX_FAULTS,
} from "../../../shared/schema/fault.ts";
import { viewTask } from "./task_view.ts";
import type { Made } from "./task_creator.ts";

/** The answer with a result for each task, in their order. */
export async function batchAnswer(
  call: CallContext,
  made: readonly Made[],
): Promise<Answer> {
  const isMinimal = prefersMinimal(call.header("prefer"));
  const payloads = seesPayloads(callerOf(call));
  let faults = 0;
  const results: string[] = [];
  for (const one of made) {
    if (one.kind === "problem") {
      const told = faults < MAX_BATCH_FAULTS ? one : withOneFault(one);
      faults += told.errors?.length ?? 1;
      results.push(
        `{"status":${statusOf(one)},"problem":${problemText(call, told)}}`,
      );
    } else {
      const { isNew, task, judged: { worker } } = one;
      const status = isNew ? 201 : 200;
      const embedded = new EmbeddedJson();
      const view = { workerName: worker.name, payloads, embedded };
      results.push(embedded.stringify(
        isMinimal
          ? { status, id: task.id }
          : { status, task: viewTask(task, view) },
      ));
    }
    const pause = call.pausing.pause();
    if (pause !== undefined) await pause;
  }
  return {
    kind: "text",
    status: 200,
    text: `{"results":[${results.join(",")}]}`,
    contentType: "application/json",
    ...(isMinimal ? { headers: MINIMAL_APPLIED } : {}),
  };
}

function withOneFault(problem: ProblemAnswer): ProblemAnswer {
  return problem.errors === undefined
    ? problem
    : { ...problem, errors: problem.errors.slice(0, 1) };
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
