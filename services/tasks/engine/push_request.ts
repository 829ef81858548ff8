/**
 * The call that brings a task to a push worker.
 *
 * @module
 */

import {
  parseSigningSecret,
  signWebhook,
} from "../delivery/webhook_signature.ts";
import type { PushRequest } from "../delivery/push_call.ts";
import type { Task } from "../domain/task.ts";
import type { WorkerDefinition } from "../domain/records.ts";
import type { EmbeddedJson } from "./embedded_json.ts";
import {
  parseHeaderTemplate,
  parseUrlTemplate,
  type RenderOutcome,
} from "../secrets/template.ts";

/** What a call is made of. */
export interface PushParts {
  /** The task, running. */
  readonly task: Task;
  /** Its worker. */
  readonly worker: WorkerDefinition;
  /** The worker's secrets by name. */
  readonly secrets: ReadonlyMap<string, string>;
  /** The texts of the secrets that sign the call. */
  readonly signing: readonly string[];
  /**
   * The task that the receiver is told of.
   * @default that of `task`
   */
  readonly taskId?: string;
  /** The body's `type`. */
  readonly type: string;
  /** The body's `data`. */
  readonly data: unknown;
  /** Writes that as JSON, with the texts that it has embedded. */
  readonly embedded: Pick<EmbeddedJson, "stringify">;
  /** Where to call. */
  readonly url: string;
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** The trace the call belongs to (W3C Trace Context). */
  readonly traceparent: string;
}

/** What making a call comes to. */
export type PushRequestOutcome =
  | { readonly kind: "ok"; readonly request: Omit<PushRequest, "timeoutMs"> }
  | { readonly kind: "invalid"; readonly reason: string };

/**
 * Makes the call of an attempt: the body and the headers of Standard Webhooks,
 * the worker's own headers with its secrets filled in, and those that name task
 * and attempt.
 */
export function pushRequestOf(parts: PushParts): PushRequestOutcome {
  const { task, worker, secrets, nowMs } = parts;
  const lookup = (name: string): string | undefined => secrets.get(name);
  const url = parseUrlTemplate(parts.url);
  if (url.kind === "invalid") return url;
  const rendered = url.template.render(lookup);
  if (rendered.kind !== "ok") return notRendered("its url", rendered);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(worker.headers)) {
    const header = parseHeaderTemplate(value);
    if (header.kind === "invalid") return header;
    const text = header.template.render(lookup);
    if (text.kind !== "ok") return notRendered(`its header "${name}"`, text);
    headers[name.toLowerCase()] = text.text;
  }
  const body = parts.embedded.stringify({
    type: parts.type,
    timestamp: new Date(nowMs).toISOString(),
    data: parts.data,
  });
  const id = `${task.id}.${task.run}`;
  const keys = parts.signing.flatMap((text) => {
    const key = parseSigningSecret(text);
    return key.kind === "ok" ? [key.key] : [];
  });
  return {
    kind: "ok",
    request: {
      url: rendered.text,
      method: worker.method,
      headers: {
        ...headers,
        "content-type": "application/json",
        "user-agent": "tercet-tasks",
        ...(keys.length === 0
          ? {
            "webhook-id": id,
            "webhook-timestamp": String(Math.floor(nowMs / 1_000)),
          }
          : signWebhook({ id, atMs: nowMs, body }, keys)),
        "task-id": parts.taskId ?? task.id,
        "task-attempt": String(task.fence),
        "traceparent": parts.traceparent,
      },
      body,
    },
  };
}

function notRendered(
  what: string,
  outcome: Exclude<RenderOutcome, { readonly kind: "ok" }>,
): PushRequestOutcome {
  if (outcome.kind === "unusable_secret") {
    return { kind: "invalid", reason: outcome.reason };
  }
  const names = outcome.names.map((name) => `"${name}"`).join(", ");
  return {
    kind: "invalid",
    reason: `Cannot call the worker: ${what} needs the secret ${names}, ` +
      "which is not there; add it",
  };
}
