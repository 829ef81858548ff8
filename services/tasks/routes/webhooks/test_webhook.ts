/**
 * The routes that test a webhook or an alert: they make one call and store
 * nothing.
 *
 * @module
 */

import { nullable } from "../../../shared/schema/composite.ts";
import { object } from "../../../shared/schema/object.ts";
import { described, named } from "../../../shared/schema/schema.ts";
import {
  boolean,
  choice,
  integer,
  text,
} from "../../../shared/schema/values.ts";
import { utcTime } from "../../domain/instant.ts";
import type { Webhook } from "../../domain/records.ts";
import type { RecordValue } from "../../engine/record_repository.ts";
import {
  failureOf,
  type Receiver,
  sendWebhook,
} from "../../engine/webhooks/webhook_call.ts";
import { SecretsError } from "../../engine/tenant_keys.ts";
import { type Answer, json } from "../../http/answer.ts";
import type { CallContext } from "../../http/call.ts";
import type { AnyRoute, RouteFacts } from "../../http/route.ts";
import type { ApiParts } from "../api_parts.ts";
import type { RecordResource } from "../record_resource.ts";
import { secretsUnavailable } from "../workers/signing_keys.ts";

const TIMEOUT_MS = 10_000;
const MAX_BODY_CHARS = 4_096;

/** The schema of an answer of a receiver. */
const ANSWER = object({
  status: described(
    integer({ minimum: 100, maximum: 599 }),
    "The HTTP status code",
  ),
  body: described(text({ maxLength: MAX_BODY_CHARS }), "Its beginning"),
  truncated: described(boolean(), "Whether `body` is only its beginning"),
});

const RESULT = named(
  "WebhookTestResult",
  object({
    id: described(text(), "The `webhook-id` of the call"),
    signatures: described(
      integer({ minimum: 0 }),
      "How many secrets it was signed with",
    ),
    outcome: described(
      choice(["delivered", "failed"]),
      "Whether an event would have been taken",
    ),
    duration: described(nullable(integer({ minimum: 0 })), "Milliseconds"),
    answer: described(
      nullable(ANSWER),
      "What the receiver answered; null when nothing came",
    ),
    error: described(
      nullable(object({
        code: described(text(), "A word for programs, such as `timed_out`"),
        message: described(text(), "A message for people"),
      })),
      "Why it failed; null when it did not",
    ),
  }),
  {
    description: "How a receiver answered when it was tested",
    examples: [{
      id: "evt_01h455vb4pex5vsknk084sn02q",
      signatures: 1,
      outcome: "delivered",
      duration: 42,
      answer: { status: 204, body: "", truncated: false },
      error: null,
    }],
  },
);

/** A message that is sent as a test. */
interface TestMessage {
  readonly receiver: Receiver;
  readonly id: string;
  readonly body: string;
}

/** What a test route has of its own. */
interface TestOptions<Value extends RecordValue>
  extends Pick<RouteFacts, "path" | "operationId" | "summary"> {
  /** The message for a record. */
  readonly message: (value: Value, call: CallContext) => Promise<TestMessage>;
}

/** The route that tests a webhook. */
export function testWebhookRoute(
  parts: ApiParts,
  resource: RecordResource<Webhook>,
): AnyRoute {
  return callTestRoute(parts, resource, {
    path: "/v1/webhooks/:id/test",
    operationId: "testWebhook",
    summary: "Send a webhook an event of the type webhook.test",
    message: (webhook, { nowMs }) => {
      const id = parts.engine.parts.newId("evt");
      const body = JSON.stringify({
        type: "webhook.test",
        timestamp: utcTime(nowMs),
        id,
        data: { webhook: webhook.id },
      });
      return Promise.resolve({ receiver: webhook, id, body });
    },
  });
}

/** The route that makes one call of a webhook, or of what is called like one. */
export function callTestRoute<Value extends RecordValue>(
  parts: ApiParts,
  resource: RecordResource<Value>,
  { message, ...facts }: TestOptions<Value>,
): AnyRoute {
  return resource.route({
    ...facts,
    method: "POST",
    description: "The call is signed and goes to the same addresses as all " +
      "others. It is made once, also of what is disabled, and is not among " +
      "the deliveries.",
    answers: { 200: { description: "What came back", shape: RESULT } },
    isIdempotent: true,
    hasOutsideEffect: true,
    problems: ["secrets_unavailable"],
    async handle(call) {
      const value = await resource.find(call);
      if ("code" in value) return value;
      try {
        return await sendTest(call, await message(value, call), parts);
      } catch (error) {
        if (error instanceof SecretsError) return secretsUnavailable();
        throw error;
      }
    },
  });
}

async function sendTest(
  call: CallContext,
  { receiver, id, body: sent }: TestMessage,
  { engine: { parts }, vault, caller }: ApiParts,
): Promise<Answer> {
  const ending = new AbortController();
  const stayed = call.onGone(() => ending.abort());
  try {
    const { outcome, signatures } = await sendWebhook(receiver, {
      ...{ id, body: sent, timeoutMs: TIMEOUT_MS, signal: ending.signal },
    }, { parts, vault, caller });
    const failed = failureOf(outcome);
    const body = outcome.kind === "answered"
      ? outcome.bodyText.slice(0, MAX_BODY_CHARS).toWellFormed()
      : "";
    return json({
      id,
      signatures,
      outcome: failed === undefined ? "delivered" : "failed",
      duration: "durationMs" in outcome ? outcome.durationMs : null,
      answer: outcome.kind !== "answered" ? null : {
        status: outcome.status,
        body,
        truncated: outcome.isTruncated ||
          body.length < outcome.bodyText.length,
      },
      error: failed === undefined ? null : {
        code: outcome.kind === "refused" ? outcome.code : failed.failure.code,
        message: failed.message,
      },
    });
  } finally {
    stayed();
  }
}
