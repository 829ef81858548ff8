/**
 * The routes of alerts: they list, create, read, change, test and remove them.
 *
 * @module
 */

import type { Fault } from "../../../shared/schema/fault.ts";
import { scopeLackedBy } from "../../access/caller.ts";
import { judgeTarget } from "../../delivery/call_rules.ts";
import type { Alert, AlertSend } from "../../domain/records.ts";
import { alertBody } from "../../engine/alerts/alert_message.ts";
import {
  alertStateWrite,
  markAlerts,
  readAlertState,
} from "../../engine/alerts/alert_state.ts";
import { describePlace } from "../../engine/alerts/alert_watch.ts";
import { readGuard } from "../../engine/record_writes.ts";
import {
  AUTHORIZATION,
  receiverOf,
} from "../../engine/webhooks/webhook_call.ts";
import { ALERT_PREFIX } from "../../engine/workers.ts";
import { empty, json, type JsonAnswer } from "../../http/answer.ts";
import { type Call, getCaller, getTenant } from "../../http/call.ts";
import { formatEtag } from "../../http/etag.ts";
import {
  invalidRequest,
  problem,
  type ProblemAnswer,
} from "../../http/problem_answer.ts";
import { type AnyRoute, requiredBody } from "../../http/route.ts";
import type { Write } from "../../store/store.ts";
import type { ApiParts } from "../api_parts.ts";
import {
  buildAuditWrite,
  fixedQuotaProblem,
  nextVersion,
} from "../record_plan.ts";
import { type Planned, RecordResource } from "../record_resource.ts";
import { changeRecord } from "../record_table.ts";
import { callTestRoute } from "../webhooks/test_webhook.ts";
import { rotated, secretsUnavailable } from "../workers/signing_keys.ts";
import {
  ALERT,
  ALERT_CHANGES,
  ALERT_EXAMPLE,
  ALERT_TABLE,
  type AlertChanges,
  DEFINED_FIELDS,
  type GivenSend,
  type NewAlert,
  viewAlert,
} from "./alert_fields.ts";

/** The most alerts of a tenant. */
const MAX_ALERTS = 50;

/** The routes of alerts. */
export function alertRoutes(parts: ApiParts): readonly AnyRoute[] {
  const { store, repositories, newId } = parts.engine.parts;
  const resource = new RecordResource<Alert>({
    noun: "alert",
    name: "Alert",
    path: "/v1/alerts/:id",
    tags: ["webhooks"],
    access: {
      read: { kind: "member", role: "admin", scope: "webhooks:read" },
      write: { kind: "member", role: "admin", scope: "webhooks:write" },
    },
    shape: ALERT,
    fields: DEFINED_FIELDS,
    store,
    repository: repositories.alerts,
    view: async (alert) =>
      viewAlert(alert, { state: (await readAlertState(store, alert)).state }),
    tag: ({ version }) => formatEtag(version),
  });
  return [
    resource.listRoute({
      summary: "List alerts, the oldest first",
      answer: "A page of alerts",
      pageName: "AlertList",
      cursors: parts.cursors,
      filter: "alerts",
    }),
    resource.createRoute({
      summary: "Create an alert",
      description:
        "Its condition is judged every 15 seconds by the counts of " +
        "`/v1/activity`, to the minute, beyond an hour to five minutes. It is " +
        "told once that it has come true, and once that it is over; messages " +
        "are tried again like those of webhooks, and are among the deliveries. " +
        `A tenant has ${MAX_ALERTS} alerts at the most.`,
      body: requiredBody(ALERT, { example: ALERT_EXAMPLE }),
      answer: {
        description: "The alert",
        shape: ALERT,
        example: ALERT_EXAMPLE,
        headers: { Location: "Where it is", ETag: "Its version" },
      },
      problems: ["read_only", "quota_exceeded", "secrets_unavailable"],
      plan: (call) => planAlert(call, parts),
    }),
    resource.readRoute({
      summary: "Read an alert",
      description: "The entity tag is that of its definition: `raised_at` " +
        "changes without it.",
      answer: "The alert",
    }),
    ...resource.changeRoutes({
      of: "an alert",
      description: "It is judged again: one that was raised and still has " +
        "reason to be is raised again.",
      body: ALERT_CHANGES,
      problems: ["read_only", "secrets_unavailable"],
      plan: (call, alert) => planChange(call, alert, parts),
    }),
    resource.removeRoute({
      summary: "Remove an alert",
      description: "Messages under way end without another call.",
      problems: [],
      plan: async (call, alert) => ({
        kind: "plan",
        writes: [
          repositories.alerts.remove(alert),
          ...await forgetState(parts, alert),
          buildAuditWrite(call, { action: "alert.removed", target: alert.id }),
        ],
        answer: empty(),
      }),
    }),
    callTestRoute(parts, resource, {
      path: "/v1/alerts/:id/test",
      operationId: "testAlert",
      summary: "Send a test message of an alert",
      message: async (alert, { nowMs }) => {
        const id = newId("evt");
        const body = alertBody(alert, {
          ...await describePlace(parts.engine.parts, alert),
          ...{ news: "test", id, counted: 0, atMs: nowMs },
        });
        return { receiver: receiverOf(alert), id, body };
      },
    }),
  ];
}

/** An alert as it is to be, with the writes and the secret that it needs. */
interface Drafted {
  readonly kind: "ok";
  readonly alert: Alert;
  readonly changed: readonly string[];
  readonly secret: string | undefined;
  readonly writes: readonly Write[];
}

/** The alert with the changes that a call wants, or why it cannot be so. */
async function draft(
  call: Call<unknown, NewAlert | AlertChanges>,
  alert: Alert,
  { engine, targets, vault }: ApiParts,
): Promise<Drafted | ProblemAnswer> {
  const scope = scopeLackedBy(getCaller(call), "tasks:read");
  if (scope !== undefined) {
    return problem("forbidden", {
      detail: `Cannot have counts sent: you lack the scope "${scope}"`,
      extensions: { scope },
    });
  }
  const { when, send } = call.body;
  const worker = when?.workerId === undefined
    ? undefined
    : await engine.parts.workers.find(alert.tenantId, when.workerId);
  const faults: Fault[] = [];
  if (when?.workerId !== undefined && worker === undefined) {
    faults.push({
      pointer: "/when/worker",
      code: "unknown_worker",
      detail: "Cannot find worker: none has this id or name",
    });
  }
  const target = send == null ? undefined : judgeTarget(send.url, targets);
  if (target?.kind === "refused") {
    faults.push({
      pointer: "/send/url",
      code: target.code,
      detail: target.reason,
    });
  }
  if (faults.length > 0) return invalidRequest(faults);
  const sealed = send == null ? undefined : await seal(alert, send, vault);
  if (sealed?.kind === "problem") return sealed;
  const { record, changed } = changeRecord(ALERT_TABLE, alert, {
    changes: {
      ...call.body,
      ...(when == null ? {} : { when: { ...when, workerId: worker?.id } }),
      ...(sealed === undefined ? {} : { send: sealed.send }),
    },
  });
  const writes = sealed?.writes ?? [];
  const needsSecret = record.send.template === "standard" &&
    record.signing.length === 0;
  if (!needsSecret) {
    return { kind: "ok", alert: record, changed, secret: undefined, writes };
  }
  const keyed = await rotated(vault, record, call.nowMs);
  if (keyed.kind === "problem") return keyed;
  return {
    kind: "ok",
    alert: keyed.worker,
    changed,
    secret: keyed.secret,
    // A ticket of the same commit has the same writes.
    writes: writes.length > 0 ? writes : keyed.writes,
  };
}

/** Seals what a message is authorized by. */
async function seal(
  alert: Alert,
  { plain, keepsHeader, ...send }: GivenSend,
  vault: ApiParts["vault"],
): Promise<
  | { kind: "ok"; send: AlertSend; writes: readonly Write[] }
  | ProblemAnswer
> {
  if (plain === undefined) {
    const { url, authorization } = alert.send;
    const isKept = keepsHeader && send.url === url;
    const next = isKept ? { ...send, authorization } : send;
    return { kind: "ok", send: next, writes: [] };
  }
  if (!vault.isAvailable) return secretsUnavailable();
  const { key, writes } = await vault.keys.ticket(alert.tenantId);
  const authorization = vault.sealValue(alert, {
    ...{ key, name: AUTHORIZATION, text: plain },
  });
  return { kind: "ok", send: { ...send, authorization }, writes };
}

/** Plans a new alert. */
async function planAlert(
  call: Call<unknown, NewAlert>,
  parts: ApiParts,
): Promise<Planned> {
  const { engine } = parts;
  const { nowMs } = call;
  const { id: tenantId } = getTenant(call);
  const { store, repositories, newId } = engine.parts;
  const blank: Alert = {
    tenantId,
    id: newId(ALERT_PREFIX),
    version: 1,
    name: "",
    when: { count: "failed", withinMs: 0 },
    send: { url: "", template: "standard" },
    quietMs: 0,
    isEnabled: true,
    signing: [],
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  const drafted = await draft(call, blank, parts);
  if (drafted.kind === "problem") return drafted;
  const guard = await readGuard(engine.parts, tenantId, "alerts");
  const over = await fixedQuotaProblem(call, parts, {
    kind: "alert",
    limit: MAX_ALERTS,
  });
  if (over !== undefined) return over;
  const { alert, secret = null } = drafted;
  const answer = (shown: string | null): JsonAnswer =>
    json(viewAlert(alert, { state: {}, secret: shown }), {
      status: 201,
      headers: {
        location: `${call.baseUrl}/v1/alerts/${alert.id}`,
        etag: formatEtag(alert.version),
      },
    });
  return {
    kind: "plan",
    writes: [
      repositories.alerts.insert(alert),
      await markAlerts(store, tenantId),
      guard,
      ...drafted.writes,
      buildAuditWrite(call, {
        action: "alert.created",
        target: alert.id,
        detail: { template: alert.send.template },
      }),
      // Secrets are stored sealed or not at all; that includes kept answers.
      ...call.extraWrites(answer(null)),
    ],
    answer: answer(secret),
  };
}

/** Plans a change of an alert. */
async function planChange(
  call: Call<unknown, AlertChanges>,
  alert: Alert,
  parts: ApiParts,
): Promise<Planned> {
  const drafted = await draft(call, alert, parts);
  if (drafted.kind === "problem") return drafted;
  const { changed, secret } = drafted;
  const next = changed.length === 0 ? alert : nextVersion(drafted.alert, call);
  const answer = json(viewAlert(next, { state: {}, secret }), {
    headers: { etag: formatEtag(next.version) },
  });
  if (next === alert) return answer;
  return {
    kind: "plan",
    writes: [
      parts.engine.parts.repositories.alerts.update(alert, next),
      ...await forgetState(parts, alert),
      ...drafted.writes,
      buildAuditWrite(call, {
        action: "alert.updated",
        target: alert.id,
        detail: { fields: changed },
      }),
    ],
    answer,
  };
}

/** The writes that forget whether an alert is raised. */
async function forgetState(
  { engine: { parts: { store } } }: ApiParts,
  alert: Alert,
): Promise<readonly Write[]> {
  const { version } = await readAlertState(store, alert);
  return version === 0 ? [] : [alertStateWrite(alert, undefined, version)];
}
