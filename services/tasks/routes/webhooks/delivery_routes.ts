/**
 * The routes of deliveries: they list the calls of webhooks, show one with what
 * was sent and answered, and send an event again.
 *
 * @module
 */

import { list, nullable } from "../../../shared/schema/composite.ts";
import { object, optional } from "../../../shared/schema/object.ts";
import { type QuerySchema, querySchema } from "../../../shared/schema/query.ts";
import {
  described,
  named,
  type Schema,
} from "../../../shared/schema/schema.ts";
import { choice, integer, text } from "../../../shared/schema/values.ts";
import { toActor } from "../../access/caller.ts";
import { optionalTime, utcTime } from "../../domain/instant.ts";
import type { Task, TaskStatus } from "../../domain/task.ts";
import { dateTime } from "../../domain/value_schemas.ts";
import { messageId } from "../../engine/webhooks/webhook_call.ts";
import { internalTenant, isWebhookWorker } from "../../engine/workers.ts";
import { type Answer, json } from "../../http/answer.ts";
import {
  type Call,
  type CallContext,
  getCaller,
  getTenant,
} from "../../http/call.ts";
import {
  answerPage,
  formatFilter,
  PAGE_FIELDS,
  pageShape,
} from "../../http/page.ts";
import { problem } from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import { taskNumber } from "../../store/task_id.ts";
import type { TaskPosition } from "../../store/queries.ts";
import type { ApiParts } from "../api_parts.ts";
import { noSuchRecord } from "../record_plan.ts";
import { shownId, shownTime } from "../record_table.ts";
import { ATTEMPT, readAttempts } from "../tasks/task_attempts.ts";

const DELIVERY_PREFIX = "dlv_";
const TASK_PREFIX = "tsk_";
/** The most attempts that are shown of a delivery. */
const MAX_ATTEMPTS = 100;
const MAX_NAME_CHARS = 128;

/** The statuses of deliveries, with those of their tasks. */
const STATUSES = {
  pending: ["scheduled", "blocked", "waiting"],
  sending: ["running"],
  retrying: ["retry"],
  delivered: ["complete"],
  failed: ["failed", "canceled", "expired"],
} as const satisfies Readonly<Record<string, readonly TaskStatus[]>>;

type DeliveryStatus = keyof typeof STATUSES;

const STATUS: Schema<DeliveryStatus> = choice(
  Object.keys(STATUSES) as DeliveryStatus[],
);

const FIELDS = {
  id: shownId("dlv"),
  webhook: described(text(), "The id of the webhook, or of the alert"),
  event: described(text(), "The `id` of the event and of the call"),
  type: described(text(), "The type of the event"),
  task: described(
    nullable(text()),
    "The task, worker or alert that it is about",
  ),
  status: described(
    STATUS,
    "`pending`: waits for its turn, or for the end of the delivery before it " +
      "about the same task; `retrying`: failed, and is sent again",
  ),
  attempts: described(integer({ minimum: 0 }), "How often it was sent"),
  created_at: shownTime("When it was made"),
  next_at: described(nullable(dateTime()), "When it is sent again"),
  ended_at: described(
    nullable(dateTime()),
    "When it was taken or given up; null while it is under way",
  ),
  error: described(
    nullable(object({
      code: described(text(), "A word for programs, such as `timed_out`"),
      message: described(text(), "A message for people"),
    })),
    "Why it last failed; null when it did not",
  ),
} as const;

const EXAMPLE = {
  id: "dlv_37efnd0000749gadqcbm8b2hrm",
  webhook: "whk_37efnd0000749gadqcbm8b2hrn",
  event: "4f1c9a70b2de8356-42",
  type: "task.failed",
  task: "tsk_37efnd0000749gadqcbm8b2hrp",
  status: "delivered",
  attempts: 1,
  created_at: "2027-01-15T08:00:00.000Z",
  next_at: null,
  ended_at: "2027-01-15T08:00:00.120Z",
  error: null,
} as const;

const DELIVERY = named("WebhookDelivery", object(FIELDS), {
  description: "An event that a webhook is sent",
  examples: [EXAMPLE],
});

const DELIVERY_DETAIL = named(
  "WebhookDeliveryDetail",
  object({
    ...FIELDS,
    request: described(text(), "The body that is sent"),
    answer: described(
      nullable(text()),
      "The beginning of the body that came back last; null without one",
    ),
    log: described(
      list(ATTEMPT as Schema<unknown>, { maxItems: MAX_ATTEMPTS }),
      "Each try",
    ),
  }),
  {
    description: "An event that a webhook is sent, with what came back",
    examples: [{ ...EXAMPLE, request: "{}", answer: "", log: [] }],
  },
);

const QUERY = querySchema({
  webhook: optional(
    text({ maxLength: MAX_NAME_CHARS }),
    "Only those of the webhook, or the alert, with this id",
  ),
  status: optional(STATUS, "Only those with this status"),
  type: optional(
    text({ maxLength: MAX_NAME_CHARS }),
    "Only events of this type",
  ),
  task: optional(
    text({ maxLength: MAX_NAME_CHARS }),
    "Only events of the task with this id",
  ),
  ...PAGE_FIELDS,
});

type ListCall = Call<
  typeof QUERY extends QuerySchema<infer Input> ? Input : never,
  unknown
>;

const READS = {
  hosts: "tenant",
  tags: ["webhooks"],
  access: { kind: "member", role: "admin", scope: "webhooks:read" },
} as const;

/** The routes of deliveries. */
export function deliveryRoutes(api: ApiParts): readonly AnyRoute[] {
  return [
    defineRoute({
      ...READS,
      method: "GET",
      path: "/v1/deliveries",
      operationId: "listDeliveries",
      summary: "List deliveries of webhooks, the newest first",
      description: "They are kept for 7 days after their end, or as long as " +
        "the plan keeps tasks if that is shorter.",
      query: QUERY,
      answers: {
        200: {
          description: "A page of deliveries",
          shape: pageShape("WebhookDeliveryList", DELIVERY),
        },
      },
      problems: ["bad_cursor"],
      handle: (call) => listDeliveries(call, api),
    }),
    defineRoute({
      ...READS,
      method: "GET",
      path: "/v1/deliveries/:id",
      operationId: "getDelivery",
      summary: "Read a delivery, with what was sent and came back",
      answers: {
        200: { description: "The delivery", shape: DELIVERY_DETAIL },
      },
      problems: [],
      async handle(call) {
        const task = await findDelivery(call, api);
        return task === undefined ? noDelivery() : await showDetail(task, api);
      },
    }),
    defineRoute({
      ...READS,
      method: "POST",
      path: "/v1/deliveries/:id/redeliver",
      operationId: "redeliver",
      summary: "Send the event of a delivery again",
      description: "One that has ended is sent again with the same " +
        "`webhook-id`, one that waits for its next try at once.",
      access: { kind: "member", role: "admin", scope: "webhooks:write" },
      isIdempotent: true,
      hasOutsideEffect: true,
      answers: { 200: { description: "The delivery", shape: DELIVERY } },
      problems: ["wrong_state"],
      handle: (call) => redeliver(call, api),
    }),
  ];
}

async function listDeliveries(call: ListCall, api: ApiParts): Promise<Answer> {
  const { query } = call;
  const { webhook, status, type, task } = query;
  const { id: tenantId } = getTenant(call);
  const { repositories, store } = api.engine.parts;
  // Callbacks are tasks of the same owner, and so are named by their worker.
  const workerIds = webhook === undefined
    ? [
      ...await repositories.webhooks.all(tenantId),
      ...await repositories.alerts.all(tenantId),
    ].map(({ id }) => id)
    : isWebhookWorker(webhook)
    ? [webhook]
    : [];
  return await answerPage(call, {
    cursors: api.cursors,
    tenantId,
    filter: formatFilter({ list: "deliveries", webhook, status, type, task }),
    query,
    url: `${call.baseUrl}/v1/deliveries`,
    async read(position) {
      if (workerIds.length === 0) return { data: [] };
      const { tasks, next } = await store.listTasks({
        tenantId: internalTenant(tenantId),
        workerIds,
        statuses: status === undefined ? undefined : STATUSES[status],
        job: type,
        group: task,
        by: "created_at",
        sort: "created_at",
        order: "desc",
        limit: query.limit,
        // Only this list has cursors of its positions.
        after: position as TaskPosition | undefined,
      });
      return {
        data: tasks.map(viewDelivery),
        next: next && { sortMs: next.sortMs, id: next.id },
      };
    },
  });
}

/** The task of the delivery that a call names. */
async function findDelivery(
  call: Pick<CallContext, "tenant" | "params">,
  { engine }: ApiParts,
): Promise<Task | undefined> {
  const { id = "" } = call.params;
  if (!id.startsWith(DELIVERY_PREFIX)) return undefined;
  const taskId = TASK_PREFIX + id.slice(DELIVERY_PREFIX.length);
  if (taskNumber(taskId) === undefined) return undefined;
  const owner = internalTenant(getTenant(call).id);
  const task = await engine.parts.store.task(owner, taskId);
  return task !== undefined && isWebhookWorker(task.workerId)
    ? task
    : undefined;
}

function noDelivery(): Answer {
  return noSuchRecord("delivery", "id");
}

async function showDetail(
  task: Task,
  { engine: { parts: { store } } }: ApiParts,
): Promise<Answer> {
  const { resultJson, error, dataJson } = task;
  const answer: unknown = JSON.parse(resultJson ?? error?.detailJson ?? "null");
  return json({
    ...viewDelivery(task),
    request: dataJson,
    answer: typeof answer === "string" ? answer : null,
    log: await readAttempts(store, task, MAX_ATTEMPTS),
  });
}

async function redeliver(call: CallContext, api: ApiParts): Promise<Answer> {
  const task = await findDelivery(call, api);
  if (task === undefined) return noDelivery();
  const { tenantId, id } = task;
  const outcome = await api.engine.changes.apply({
    tenantId,
    id,
    event: { kind: "retry" },
    actor: toActor(getCaller(call)),
  });
  switch (outcome.kind) {
    case "changed":
      return json(viewDelivery(outcome.task));
    case "missing":
      return noDelivery();
    default:
      return problem("wrong_state", {
        detail: "Cannot deliver again: the delivery has not ended",
        extensions: { state: statusOf(task) },
      });
  }
}

function statusOf({ status }: Pick<Task, "status">): DeliveryStatus {
  const found = Object.entries(STATUSES).find(([, statuses]) =>
    statuses.some((one) => one === status)
  );
  // Deliveries neither repeat nor pause, so they have no other status.
  return (found?.[0] ?? "pending") as DeliveryStatus;
}

/** A delivery as the API shows it. */
function viewDelivery(task: Task): Readonly<Record<string, unknown>> {
  const { id, workerId, job, group, error, executions } = task;
  const status = statusOf(task);
  return {
    id: DELIVERY_PREFIX + id.slice(TASK_PREFIX.length),
    webhook: workerId,
    event: messageId(task),
    type: job,
    task: group === "" ? null : group,
    status,
    attempts: executions,
    created_at: utcTime(task.createdAtMs),
    next_at: status === "retrying" ? utcTime(task.dateMs) : null,
    ended_at: optionalTime(task.finishedAtMs),
    error: error === undefined || status === "delivered"
      ? null
      : { code: error.code, message: error.message },
  };
}
