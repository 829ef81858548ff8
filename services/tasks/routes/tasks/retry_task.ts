/**
 * The route that tries a task again, and with it the tasks that have failed by
 * it.
 *
 * @module
 */

import {
  object,
  type ObjectOf,
  withDefault,
} from "../../../shared/schema/object.ts";
import { named, type Schema } from "../../../shared/schema/schema.ts";
import { boolean } from "../../../shared/schema/values.ts";
import { toActor } from "../../access/caller.ts";
import { isFinal, type Task } from "../../domain/task.ts";
import { MAX_REVIVED, planRevival } from "../../engine/revival.ts";
import { type Call, getCaller } from "../../http/call.ts";
import type { ProblemAnswer } from "../../http/problem_answer.ts";
import {
  type AnyRoute,
  defineRoute,
  optionalBody,
  shownNumber,
} from "../../http/route.ts";
import type { TasksParts } from "./task_schema.ts";
import { applyVerb, type Companions, VERB_ROUTE } from "./task_verbs.ts";
import { noRoom } from "./task_view.ts";

/** The most ids of revived tasks in an answer. */
const MAX_SHOWN = 100;

const ADVICE = "; set revive_dependents to false to try it alone";

const RETRY_FIELDS = {
  revive_dependents: withDefault(
    boolean(),
    true,
    "Whether tasks that failed because this one did wait for it again",
  ),
};

type RetryInput = ObjectOf<typeof RETRY_FIELDS>;

const RETRY: Schema<RetryInput> = named("Retry", object(RETRY_FIELDS), {
  description: "The retries of a task",
  examples: [{ revive_dependents: true }],
});

/** Makes the route that tries a task again. */
export function retryTaskRoute(parts: TasksParts): AnyRoute {
  return defineRoute({
    ...VERB_ROUTE,
    problems: ["wrong_state", "unknown_worker", "quota_exceeded"],
    path: "/v1/tasks/:id/retry",
    operationId: "retryTask",
    summary: "Retry a task",
    description: "A task that has ended begins a new run, if the plan has " +
      "room for it; one that waits for its next retry is tried at once. Tasks " +
      "that failed because a task that has ended did (`dependency_failed`), " +
      "and those that failed because these did, are `blocked` again in the " +
      `same commit, ${
        shownNumber(MAX_REVIVED)
      } at most, if the plan has room ` +
      "for all of them; those whose worker was removed, or whose key another " +
      "live task has by now, stay as they are. A bulk retry revives none.",
    body: optionalBody(RETRY),
    handle: (call) =>
      applyVerb(parts, call, { kind: "retry" }, {
        companions: (task) =>
          isFinal(task.status) && call.body.revive_dependents
            ? revived(parts, { call, task })
            : Promise.resolve(undefined),
      }),
  });
}

async function revived(
  { engine }: TasksParts,
  { call, task }: {
    readonly call: Call<unknown, RetryInput>;
    readonly task: Task;
  },
): Promise<Companions | ProblemAnswer> {
  const outcome = await planRevival(engine, {
    task,
    actor: toActor(getCaller(call)),
  });
  if (outcome.kind === "refused") {
    const { limit, used, reason } = outcome;
    return noRoom(call, { reason: reason + ADVICE, limit, used });
  }
  const { ids, isComplete, ...rest } = outcome.revival;
  return {
    kind: "companions",
    ...rest,
    advice: ids.length === 0 ? "" : ADVICE,
    shown: {
      revivedDependents: {
        count: ids.length,
        ids: ids.slice(0, MAX_SHOWN),
        is_complete: isComplete,
      },
    },
  };
}
