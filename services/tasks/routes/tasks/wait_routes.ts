/**
 * The routes that resume tasks which wait: one sends an event to a task, the
 * other one approves or rejects what a task waits for.
 *
 * @module
 */

import { byteLength, jsonText } from "../../../shared/schema/json_value.ts";
import {
  object,
  optional,
  withDefault,
} from "../../../shared/schema/object.ts";
import { described, named } from "../../../shared/schema/schema.ts";
import { choice, text } from "../../../shared/schema/values.ts";
import { getScopes, toActor, toAdministrator } from "../../access/caller.ts";
import { missingScope, scopesOfRole } from "../../access/scope.ts";
import type { Task } from "../../domain/task.ts";
import { EVENT_NAME, MAX_EVENT_BYTES } from "../../domain/wait_schema.ts";
import { auditWrite } from "../../engine/record_writes.ts";
import { type Call, getCaller, getLimits } from "../../http/call.ts";
import { problem, type ProblemAnswer } from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute, requiredBody } from "../../http/route.ts";
import type { TasksParts } from "./task_schema.ts";
import { applyVerb, type Companions, VERB_ROUTE } from "./task_verbs.ts";

const EVENT = named(
  "EventForTask",
  object({
    event: described(EVENT_NAME, "The name that the task waits for"),
    data: withDefault(
      jsonText({ maxBytes: MAX_EVENT_BYTES }),
      null,
      "Any JSON up to 64 KiB and the plan's limit, for the next attempt",
    ),
  }),
  {
    description: "What has happened that the task may wait for, with its data",
    examples: [{ event: "paid", data: { amount: 1_700 } }],
  },
);

const DECISION = named(
  "ApprovalDecision",
  object({
    decision: described(
      choice(["approve", "reject"]),
      "Both resume the task; its worker acts by the decision",
    ),
    comment: optional(
      text({ minLength: 1, maxLength: 2_000 }),
      "Why. The worker gets it, and the history keeps it",
    ),
  }),
  {
    description: "The decision about what a task waits for",
    examples: [{ decision: "approve", comment: "Go ahead" }],
  },
);

/** Makes the routes that resume tasks which wait. */
export function waitRoutes(parts: TasksParts): readonly AnyRoute[] {
  return [
    defineRoute({
      ...VERB_ROUTE,
      path: "/v1/tasks/:id/events",
      operationId: "sendTaskEvent",
      summary: "Send an event to a task",
      description: "A task that waits for an event of this name goes on with " +
        "the event's data, once. For any other live task the event is kept " +
        "until a wait of its current run takes it: 16 events of 64 KiB " +
        "together at most, for a week. A task that has ended takes none. Send " +
        "an Idempotency-Key: a repeated request is then no second event.",
      problems: ["wrong_state", "too_large"],
      body: requiredBody(EVENT, { maxBytes: () => MAX_EVENT_BODY_BYTES }),
      handle: (call) => {
        const { event: name, data: dataJson } = call.body;
        const refusal = refuseSize(call, dataJson);
        return refusal ??
          applyVerb(parts, call, { kind: "send_event", name, dataJson });
      },
    }),
    defineRoute({
      ...VERB_ROUTE,
      path: "/v1/tasks/:id/approval",
      operationId: "decideTaskApproval",
      summary: "Approve or reject what a task waits for",
      description: "The caller needs all rights of the role that the task " +
        "asks for. The task goes on with the decision, once; another one is " +
        "refused. Use If-Match with the task's entity tag to decide about what " +
        "you have seen.",
      problems: ["wrong_state", "forbidden"],
      body: requiredBody(DECISION),
      handle: (call) => {
        const { decision, comment } = call.body;
        const isApproved = decision === "approve";
        return applyVerb(parts, call, { kind: "decide", isApproved, comment }, {
          companions: async (task) =>
            await refuseDecider(parts, { call, task }) ??
              audited(call, { task, isApproved }),
        });
      },
    }),
  ];
}

/** Most bytes of the body of an event, whose data may be written with escapes. */
const MAX_EVENT_BODY_BYTES = 524_288;

function refuseSize(
  call: Call<unknown, unknown>,
  dataJson: string,
): ProblemAnswer | undefined {
  const { payloadBytes: limit } = getLimits(call);
  const bytes = byteLength(dataJson);
  return bytes <= limit ? undefined : problem("too_large", {
    detail:
      `Cannot accept data: it has ${bytes} bytes, the plan allows ${limit}`,
    extensions: { limit },
  });
}

/** Why a caller may not decide about the approval that a task waits for. */
async function refuseDecider(
  { engine }: TasksParts,
  { call, task }: {
    readonly call: Call<unknown, unknown>;
    readonly task: Task;
  },
): Promise<ProblemAnswer | undefined> {
  const awaited = task.wait?.for;
  // The event itself is refused then.
  if (awaited?.kind !== "approval") return undefined;
  const caller = getCaller(call);
  const lacked = missingScope(getScopes(caller), scopesOfRole(awaited.by));
  if (lacked !== undefined) {
    return problem("forbidden", {
      detail:
        `Cannot decide: the task asks for the role "${awaited.by}", and ` +
        `the credential lacks its scope "${lacked}"`,
    });
  }
  if (!awaited.byAnother) return undefined;
  const { createdBy, tenantId } = task;
  const decider = toAdministrator(caller).userId ?? toActor(caller).id;
  const key = createdBy.type === "key"
    ? await engine.parts.repositories.keys.get(tenantId, createdBy.id)
    : undefined;
  if (createdBy.type === "key" && key === undefined) {
    return problem("forbidden", {
      detail: "Cannot decide: another person than the task's creator has to, " +
        `and the key "${createdBy.id}" that created it is gone; cancel the ` +
        "task, or run it without the approval",
    });
  }
  const creators = [createdBy.id, key?.madeBy];
  return creators.includes(decider) || creators.includes(toActor(caller).id)
    ? problem("forbidden", {
      detail: "Cannot decide: another person than the task's creator has to",
    })
    : undefined;
}

/** The entry of the audit log, in the commit of the decision. */
function audited(
  call: Call<unknown, unknown>,
  { task: { tenantId, id }, isApproved }: {
    readonly task: Task;
    readonly isApproved: boolean;
  },
): Companions {
  return {
    kind: "companions",
    writes: [auditWrite(tenantId, {
      atMs: call.nowMs,
      action: isApproved ? "task.approved" : "task.rejected",
      actor: toActor(getCaller(call)),
      target: id,
    })],
    announce: () => {},
    release: () => {},
    advice: "",
    shown: {},
  };
}
