/**
 * The routes of webhooks: they list, create, read, change, rotate and remove
 * them.
 *
 * @module
 */

import { missingScope, type Scope } from "../../access/scope.ts";
import { getScopes } from "../../access/caller.ts";
import { judgeTarget } from "../../delivery/call_rules.ts";
import {
  EVENT_TYPES,
  selectTypes,
  subjectOf,
} from "../../domain/event_types.ts";
import type { Webhook } from "../../domain/records.ts";
import { readGuard } from "../../engine/record_writes.ts";
import { placeOfNow } from "../../engine/webhooks/webhook_feed.ts";
import {
  forgetState,
  healthWrite,
  loadState,
  placeWrite,
  readHealth,
  readPlace,
  type WebhookState,
} from "../../engine/webhooks/webhook_state.ts";
import { WEBHOOK_PREFIX } from "../../engine/workers.ts";
import { empty, json, type JsonAnswer } from "../../http/answer.ts";
import {
  type Call,
  type CallContext,
  getCaller,
  getTenant,
} from "../../http/call.ts";
import { formatEtag } from "../../http/etag.ts";
import {
  invalidRequest,
  problem,
  type ProblemAnswer,
} from "../../http/problem_answer.ts";
import { type AnyRoute, requiredBody } from "../../http/route.ts";
import type { Write } from "../../store/store.ts";
import type { Fault } from "../../../shared/schema/fault.ts";
import type { ApiParts } from "../api_parts.ts";
import { EVENT_SCOPES } from "../events/events_route.ts";
import {
  buildAuditWrite,
  fixedQuotaProblem,
  nextVersion,
} from "../record_plan.ts";
import { type Planned, RecordResource } from "../record_resource.ts";
import { changeRecord } from "../record_table.ts";
import { rotated } from "../workers/signing_keys.ts";
import { testWebhookRoute } from "./test_webhook.ts";
import {
  DEFINED_FIELDS,
  type NewWebhook,
  viewWebhook,
  WEBHOOK,
  WEBHOOK_CHANGES,
  WEBHOOK_EXAMPLE,
  WEBHOOK_TABLE,
  type WebhookChanges,
} from "./webhook_fields.ts";

/** The most webhooks of a tenant. */
const MAX_WEBHOOKS = 20;

const NEW_STATE: WebhookState = {
  place: undefined,
  health: undefined,
  open: 0,
};

/** Webhooks as a resource. */
type Webhooks = RecordResource<Webhook>;

/** The routes of webhooks. */
export function webhookRoutes(parts: ApiParts): readonly AnyRoute[] {
  const { store, repositories } = parts.engine.parts;
  const resource: Webhooks = new RecordResource<Webhook>({
    noun: "webhook",
    name: "Webhook",
    path: "/v1/webhooks/:id",
    tags: ["webhooks"],
    access: {
      read: { kind: "member", role: "admin", scope: "webhooks:read" },
      write: { kind: "member", role: "admin", scope: "webhooks:write" },
    },
    shape: WEBHOOK,
    fields: DEFINED_FIELDS,
    store,
    repository: repositories.webhooks,
    view: async (webhook) =>
      viewWebhook(webhook, {
        state: await loadState(parts.engine.parts, webhook),
      }),
    tag: ({ version }) => formatEtag(version),
  });
  return [
    resource.listRoute({
      summary: "List webhooks, the oldest first",
      answer: "A page of webhooks",
      pageName: "WebhookList",
      cursors: parts.cursors,
      filter: "webhooks",
    }),
    resource.createRoute({
      summary: "Create a webhook",
      description: "Each event that happens after the answer is sent, signed " +
        "as Standard Webhooks says: `webhook-id` is the `id` of the event and " +
        "stays the same at each try. Events of a task come in order, each once " +
        "the one before has been taken or given up. Any answer but 2xx is " +
        "tried again after 5 s, 5 min, 30 min, 2, 5, 10, 14, 20 and 24 hours; " +
        "once a webhook answers again, all that wait are sent at once. It is " +
        "disabled when it answers 410, or after 5 days of failures. What it " +
        "may be sent follows from the scopes of the caller who makes or changes it. " +
        `A tenant has ${MAX_WEBHOOKS} webhooks at the most.`,
      body: requiredBody(WEBHOOK, { example: WEBHOOK_EXAMPLE }),
      answer: {
        description: "The webhook, with its secret",
        shape: WEBHOOK,
        example: WEBHOOK_EXAMPLE,
        headers: { Location: "Where it is", ETag: "Its version" },
      },
      problems: ["read_only", "quota_exceeded", "secrets_unavailable"],
      plan: (call) => planWebhook(call, parts),
    }),
    resource.readRoute({
      summary: "Read a webhook",
      description: "The entity tag is that of its definition: " +
        "`failing_since`, `open_deliveries` and `missed_at` change without it.",
      answer: "The webhook",
    }),
    ...resource.changeRoutes({
      of: "a webhook",
      body: WEBHOOK_CHANGES,
      problems: ["read_only"],
      plan: (call, webhook) => planChange(call, webhook, parts),
    }),
    resource.removeRoute({
      summary: "Remove a webhook",
      description: "Deliveries under way end without another call.",
      problems: [],
      plan: (call, webhook) => planRemoval(call, webhook, parts),
    }),
    rotateRoute(parts, resource),
    testWebhookRoute(parts, resource),
  ];
}

/** Plans a new webhook. */
async function planWebhook(
  call: Call<unknown, NewWebhook>,
  parts: ApiParts,
): Promise<Planned> {
  const { engine, vault } = parts;
  const { nowMs } = call;
  const { id: tenantId } = getTenant(call);
  const { repositories, newId } = engine.parts;
  const blank: Webhook = {
    tenantId,
    id: newId(WEBHOOK_PREFIX),
    version: 1,
    name: "",
    url: "",
    types: [],
    isEnabled: true,
    signing: [],
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  const bare = await changed(call, blank, parts);
  if ("code" in bare) return bare;
  const guard = await readGuard(engine.parts, tenantId, "webhooks");
  const over = await fixedQuotaProblem(call, parts, {
    kind: "webhook",
    limit: MAX_WEBHOOKS,
  });
  if (over !== undefined) return over;
  const keyed = await rotated(vault, bare.record, nowMs);
  if (keyed.kind === "problem") return keyed;
  const { worker: webhook, secret } = keyed;
  const place = await placeOfNow(engine.parts, tenantId);
  return {
    kind: "plan",
    writes: [
      repositories.webhooks.insert(webhook),
      placeWrite(webhook, place, 0),
      guard,
      ...keyed.writes,
      buildAuditWrite(call, {
        action: "webhook.created",
        target: webhook.id,
        detail: { types: webhook.types },
      }),
      // Secrets are stored sealed or not at all; that includes kept answers.
      ...call.extraWrites(createdAnswer(call, webhook, null)),
    ],
    answer: createdAnswer(call, webhook, secret),
  };
}

function createdAnswer(
  { baseUrl }: Pick<CallContext, "baseUrl">,
  webhook: Webhook,
  secret: string | null,
): JsonAnswer {
  return json(viewWebhook(webhook, { state: NEW_STATE, secret }), {
    status: 201,
    headers: {
      location: `${baseUrl}/v1/webhooks/${webhook.id}`,
      etag: formatEtag(webhook.version),
    },
  });
}

/**
 * The webhook with the changes that a call wants, or why it cannot be so. Who
 * changes a webhook has to have the rights to all that it is sent.
 */
async function changed(
  call: Call<unknown, NewWebhook | WebhookChanges>,
  webhook: Webhook,
  { engine, targets }: ApiParts,
): Promise<ReturnType<typeof changeRecord<Webhook, never>> | ProblemAnswer> {
  const { worker: idOrName } = call.body;
  const worker = typeof idOrName === "string"
    ? await engine.parts.workers.find(webhook.tenantId, idOrName)
    : undefined;
  const outcome = changeRecord(WEBHOOK_TABLE, webhook, {
    changes: {
      ...call.body,
      ...(worker === undefined ? {} : { worker: worker.id }),
    },
    resets: { worker: undefined, job: undefined, group: undefined },
  });
  const { url, types } = outcome.record;
  const faults: Fault[] = [];
  const target = judgeTarget(url, targets);
  if (target.kind === "refused") {
    faults.push({
      pointer: "/url",
      code: target.code,
      detail: target.reason,
    });
  }
  for (const [index, type] of types.entries()) {
    if (selectTypes([type]) !== undefined) continue;
    faults.push({
      pointer: `/types/${index}`,
      code: "not_allowed",
      detail: "Cannot select events: the type is unknown; known are " +
        EVENT_TYPES.join(", "),
    });
  }
  if (typeof idOrName === "string" && worker === undefined) {
    faults.push({
      pointer: "/worker",
      code: "unknown_worker",
      detail: "Cannot find worker: none has this id or name",
    });
  }
  if (faults.length > 0) return invalidRequest(faults);
  return scopeProblem(call, outcome.record) ?? outcome;
}

/** The problem of events that the caller may not see. */
function scopeProblem(
  call: CallContext,
  { types }: Webhook,
): ProblemAnswer | undefined {
  const needed = new Set(
    [...selectTypes(types) ?? []].map((type): Scope =>
      EVENT_SCOPES[subjectOf(type)]
    ),
  );
  const scope = missingScope(getScopes(getCaller(call)), needed);
  return scope === undefined ? undefined : problem("forbidden", {
    detail: "Cannot have events sent that you do not see: that needs the " +
      `scope ${scope}`,
    extensions: { scope },
  });
}

/** Plans a change of a webhook. */
async function planChange(
  call: Call<unknown, WebhookChanges>,
  webhook: Webhook,
  parts: ApiParts,
): Promise<Planned> {
  const { engine } = parts;
  const outcome = await changed(call, webhook, parts);
  if ("code" in outcome) return outcome;
  const { record, changed: fields } = outcome;
  const isSwitched = record.isEnabled !== webhook.isEnabled;
  const next: Webhook = fields.length === 0 ? webhook : {
    ...nextVersion(record, call),
    ...(isSwitched
      ? {
        disabledReason: undefined,
        disabledAtMs: record.isEnabled ? undefined : call.nowMs,
      }
      : {}),
  };
  const answer = async (): Promise<JsonAnswer> =>
    json(
      viewWebhook(next, { state: await loadState(engine.parts, next) }),
      { headers: { etag: formatEtag(next.version) } },
    );
  if (next === webhook) return await answer();
  return {
    kind: "plan",
    writes: [
      engine.parts.repositories.webhooks.update(webhook, next),
      ...isSwitched && next.isEnabled ? await beginAgain(next, parts) : [],
      buildAuditWrite(call, {
        action: "webhook.updated",
        target: webhook.id,
        detail: { fields },
      }),
    ],
    answer,
  };
}

/** The writes by which a webhook begins with what happens from now on. */
async function beginAgain(
  webhook: Webhook,
  { engine: { parts } }: ApiParts,
): Promise<readonly Write[]> {
  const [before, health, place] = await Promise.all([
    readPlace(parts.store, webhook),
    readHealth(parts.store, webhook),
    placeOfNow(parts, webhook.tenantId),
  ]);
  return [
    placeWrite(webhook, { ...before.value, ...place }, before.version),
    ...health.value === undefined
      ? []
      : [healthWrite(webhook, undefined, health.version)],
  ];
}

async function planRemoval(
  call: CallContext,
  webhook: Webhook,
  { engine: { parts } }: ApiParts,
): Promise<Planned> {
  return {
    kind: "plan",
    writes: [
      parts.repositories.webhooks.remove(webhook),
      ...await forgetState(parts.store, webhook),
      buildAuditWrite(call, { action: "webhook.removed", target: webhook.id }),
    ],
    answer: empty(),
  };
}

/** The route that replaces the secret of a webhook. */
function rotateRoute(
  { engine: { parts }, vault }: ApiParts,
  resource: Webhooks,
): AnyRoute {
  return resource.route({
    method: "POST",
    path: "/v1/webhooks/:id/rotate",
    operationId: "rotateWebhook",
    summary: "Replace the signing secret of a webhook",
    description: "The old secret signs beside the new one for 24 hours. The " +
      "new one is shown this once: an answer that is given again for an " +
      "Idempotency-Key has null there.",
    answers: {
      200: { description: "The webhook, with its new secret", shape: WEBHOOK },
    },
    isIdempotent: true,
    problems: ["secrets_unavailable", "wrong_state"],
    handle: (call) =>
      resource.commit(call, async (webhook) => {
        const keyed = await rotated(vault, webhook, call.nowMs);
        if (keyed.kind === "problem") return keyed;
        const next = nextVersion(keyed.worker, call);
        const state = await loadState(parts, next);
        const answer = (secret: string | null): JsonAnswer =>
          json(viewWebhook(next, { state, secret }), {
            headers: { etag: formatEtag(next.version) },
          });
        return {
          kind: "plan",
          writes: [
            parts.repositories.webhooks.update(webhook, next),
            ...keyed.writes,
            buildAuditWrite(call, {
              action: "webhook.rotated",
              target: webhook.id,
            }),
            ...call.extraWrites(answer(null)),
          ],
          answer: answer(keyed.secret),
        };
      }),
  });
}
