/**
 * One turn of a bulk action that is kept: it notes what a step is for, does it,
 * and notes what came of it. So a crash anywhere neither loses a task nor lets
 * the action go beyond its limit.
 *
 * @module
 */

import type { Engine } from "../../engine/engine.ts";
import type { Write } from "../../store/store.ts";
import { type Answer, renderAnswer } from "../../http/answer.ts";
import { type AnswerPlace, fillPlace } from "../../http/kept_answer.ts";
import { addResults, type BulkResult } from "./bulk_action.ts";
import { doneAnswer, operationAnswer } from "./bulk_answer.ts";
import type { BulkPosition } from "./bulk_position.ts";
import { doStep, planStep, resumeStep } from "./bulk_steps.ts";
import { targetOf } from "./bulk_trace.ts";
import {
  forgetOperation,
  type Operation,
  type OperationName,
  putOperation,
  readOperation,
} from "./operation.ts";

/** Where the API is, in links of answers that no request is at hand for. */
const BASE_PATH = "/api";

/**
 * Does the next step of an operation.
 *
 * @returns the operation after it; undefined when there is none
 * @throws {Error} when the store fails; the next turn goes on
 */
export async function takeTurn(
  engine: Engine,
  name: OperationName,
): Promise<Operation | undefined> {
  const { store, clock } = engine.parts;
  const known = await readOperation(store, name);
  if (known === undefined || known.status !== "running") return known;
  const done = known.step === undefined ? await beginStep(engine, known) : {
    operation: known,
    results: await resumeStep(engine, known.order, known.step.targets),
    next: known.step.next,
  };
  const { step: _, ...before } = done.operation;
  const nowMs = clock.nowMs();
  const common = {
    ...before,
    version: before.version + 1,
    progress: addResults(before.progress, done.results),
    updatedAtMs: nowMs,
  };
  const after: Operation = done.next === undefined
    ? { ...common, status: "done", finishedAtMs: nowMs }
    : { ...common, from: done.next };
  const [result] = await store.commit([{ writes: writesOf(after, nowMs) }]);
  // What was not noted down is looked at again, which does no harm.
  return result?.kind === "ok" ? after : known;
}

/**
 * The writes that give an operation up. What a client would be told that repeats
 * its request is then where the operation can be read.
 */
export function writesOfFailure(
  operation: Operation,
  nowMs: number,
): readonly Write[] {
  const { answersTo, ...rest } = operation;
  const failed: Operation = {
    ...rest,
    version: operation.version + 1,
    status: "failed",
    updatedAtMs: nowMs,
    finishedAtMs: nowMs,
  };
  const answer = operationAnswer(failed, BASE_PATH);
  return [
    putOperation(failed),
    ...(answersTo === undefined ? [] : [fill(answersTo, { answer, nowMs })]),
  ];
}

interface StepDone {
  /** The operation as it is kept while the step is done. */
  readonly operation: Operation;
  readonly results: readonly BulkResult[];
  readonly next: BulkPosition | undefined;
}

async function beginStep(
  engine: Engine,
  operation: Operation,
): Promise<StepDone> {
  const { order, progress: { matched }, from, version } = operation;
  const planned = await planStep(engine, order, { from, matched });
  const { found, next } = planned;
  if (found.length === 0) return { operation, results: [], next };
  const begun: Operation = {
    ...operation,
    version: version + 1,
    step: {
      targets: found.map(targetOf),
      ...(next === undefined ? {} : { next }),
    },
  };
  const [result] = await engine.parts.store.commit([{
    writes: [putOperation(begun)],
  }]);
  if (result?.kind !== "ok") {
    throw new Error("Cannot note what a bulk action does: it was changed");
  }
  return {
    operation: begun,
    results: await doStep(engine, order, found),
    next,
  };
}

/** An end that only a repeated request is told of leaves nothing but the answer. */
function writesOf(after: Operation, nowMs: number): readonly Write[] {
  const { answersTo, order, progress, status, version } = after;
  if (status === "running" || answersTo === undefined) {
    return [putOperation(after)];
  }
  return [
    forgetOperation({ ...after, version: version - 1 }),
    fill(answersTo, { answer: doneAnswer(order, progress), nowMs }),
  ];
}

function fill(
  place: AnswerPlace,
  { answer, nowMs }: { readonly answer: Answer; readonly nowMs: number },
): Write {
  // Neither is in what is kept of an answer.
  const unknown = { requestId: "", host: "" };
  return fillPlace(place, { answer: renderAnswer(answer, unknown), nowMs });
}
