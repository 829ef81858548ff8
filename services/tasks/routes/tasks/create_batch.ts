/**
 * The route that makes many tasks.
 *
 * @module
 */

import { actorOf, seesPayloads } from "../../access/caller.ts";
import { callbackRefusal } from "../../http/call_address.ts";
import type { Answer } from "../../http/answer.ts";
import { type Call, callerOf, tenantOf } from "../../http/call.ts";
import { jsonTextOf } from "../../http/json_writer.ts";
import type { ProblemAnswer } from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute, requiredBody } from "../../http/route.ts";
import {
  type Fault,
  MAX_BATCH_FAULTS,
  withFewFaults,
} from "../../../shared/schema/fault.ts";
import { BATCH, BATCH_RESULTS, type BatchInput } from "./batch_schema.ts";
import {
  batchAnswer,
  problemOfAll,
  tooManyDependencies,
  tooManyTasks,
} from "./batch_answer.ts";
import {
  type JudgedTask,
  judgeNewTask,
  problemOfFaults,
  readSurroundings,
} from "./validate_task.ts";
import type { Made } from "./task_creator.ts";
import { NEW_TASK_EXAMPLE } from "./task_example.ts";
import { NEW_TASK, type NewTaskInput } from "./task_schema.ts";
import { taskBodyBytes, type TasksParts, WRITES_TASKS } from "./tasks_parts.ts";

/** Most different tasks that the tasks of a batch depend on. */
const MAX_DEPENDENCIES = 10_000;

/** Most values of a batch: a thousand for each of a thousand tasks. */
const MAX_VALUES = 1_048_576;

/** Makes the route. */
export function createBatchRoute(parts: TasksParts): AnyRoute {
  return defineRoute({
    method: "POST",
    path: "/v1/tasks/batch",
    hosts: "tenant",
    operationId: "createTasks",
    summary: "Create many tasks",
    description:
      "Unless `atomic` is set, each task stands for itself and `results` " +
      "tells what became of it. All are written in one commit when it is set, " +
      "or when there is an Idempotency-Key, else in pieces. The " +
      "body may have as many bytes as the service allows, 4 MiB unless set " +
      `otherwise, and ${MAX_VALUES.toLocaleString("en")} values; of tasks ` +
      "with faults all are told until there are " +
      `${MAX_BATCH_FAULTS.toLocaleString("en")}, then one of each task.`,
    tags: ["tasks"],
    access: WRITES_TASKS,
    body: requiredBody(BATCH, {
      maxBytes: ({ batchSize, ...limits }) =>
        Math.min(
          parts.maxBatchBytes,
          Math.max(1, batchSize) * taskBodyBytes({ batchSize, ...limits }),
        ),
      maxValues: MAX_VALUES,
      tooLargeAdvice: "send fewer tasks in a batch",
      example: { tasks: [NEW_TASK_EXAMPLE] },
    }),
    answers: {
      200: { description: "What became of each task", shape: BATCH_RESULTS },
    },
    isIdempotent: true,
    heedsPrefer: true,
    problems: [
      "quota_exceeded",
      "key_conflict",
      "wrong_state",
      "unknown_worker",
      "read_only",
      "bad_cron",
      "never_fires",
      "bad_timezone",
    ],
    handle: (call) => createBatch(parts, call),
  });
}

/** A task of the batch as far as it could be read. */
interface ReadTask {
  readonly at: string;
  readonly input: NewTaskInput | undefined;
  readonly faults: Fault[];
  readonly dataJson: string | undefined;
}

async function createBatch(
  parts: TasksParts,
  call: Call<unknown, BatchInput>,
): Promise<Answer> {
  const { engine, creator } = parts;
  const { atomic: isAtomic, tasks } = call.body;
  const tenant = tenantOf(call);
  const { batchSize } = await engine.parts.limitsOf(tenant.id);
  if (tasks.length > batchSize) return tooManyTasks(batchSize);
  call.charge(tasks.length);
  const read: ReadTask[] = [];
  let faultsLeft = MAX_BATCH_FAULTS;
  for (const [index, task] of tasks.entries()) {
    const one = await readTask(task, { index, faultsLeft, call });
    faultsLeft -= one.faults.length;
    read.push(one);
    const pause = call.pausing.pause();
    if (pause !== undefined) await pause;
  }
  const references = referencesOf(read);
  if (references.tasks.size > MAX_DEPENDENCIES) {
    return tooManyDependencies(MAX_DEPENDENCIES);
  }
  const surroundings = await readSurroundings(
    engine.parts,
    tenant.id,
    references,
  );
  const options = {
    surroundings,
    timezone: tenant.timezone,
    nowMs: engine.parts.clock.nowMs(),
    targets: parts.targets,
  };
  const caller = callerOf(call);
  const sight = { payloads: seesPayloads(caller) };
  const judged: (JudgedTask | ProblemAnswer)[] = [];
  for (const { input, ...place } of read) {
    const one = input && judgeNewTask(input, { ...options, ...place });
    judged.push(
      one === undefined
        ? problemOfFaults(place.faults, surroundings.limits)
        : callbackRefusal(sight, { after: one.definition.callback }) ?? one,
    );
    const pause = call.pausing.pause();
    if (pause !== undefined) await pause;
  }
  const answers = new Map<readonly Made[], Promise<Answer>>();
  const answerOf = (made: readonly Made[]): Promise<Answer> => {
    const known = answers.get(made);
    if (known !== undefined) return known;
    const answer = batchAnswer(call, made);
    answers.set(made, answer);
    return answer;
  };
  const outcome = await creator.create(judged, {
    tenantId: tenant.id,
    plan: tenant.plan,
    actor: actorOf(caller),
    surroundings,
    isAtomic,
    call,
    along: call.answerPlace === undefined
      ? undefined
      : async (made) => call.extraWrites(await answerOf(made)),
  });
  switch (outcome.kind) {
    case "problem":
      return outcome;
    case "refused":
      return problemOfAll(outcome.made);
    case "ok":
      return await answerOf(outcome.made);
  }
}

async function readTask(
  task: unknown,
  { index, faultsLeft, call }: {
    readonly index: number;
    readonly faultsLeft: number;
    readonly call: Pick<Call<unknown, unknown>, "pausing">;
  },
): Promise<ReadTask> {
  const at = `/tasks/${index}`;
  const { value: input, faults } = withFewFaults(
    faultsLeft,
    (faults) => NEW_TASK.read(task, at, faults),
  );
  const dataJson = input?.data === undefined
    ? undefined
    : await jsonTextOf(input.data, call.pausing);
  return { at, input, faults, dataJson };
}

function referencesOf(
  read: readonly ReadTask[],
): { readonly workers: Set<string>; readonly tasks: Set<string> } {
  const workers = new Set<string>();
  const tasks = new Set<string>();
  for (const { input } of read) {
    if (input === undefined) continue;
    workers.add(input.worker);
    for (const id of input.dependencies ?? []) tasks.add(id);
  }
  return { workers, tasks };
}
