/**
 * Verifies the calls that a push worker or a webhook gets: whether the tasks
 * service has sent them.
 *
 * @module
 */

import { decodeBase64 } from "../memory/encodings.ts";
import { readBytes } from "../vault/bounded_body.ts";
import type { DependencyResult, Task } from "./api_types.ts";
import type { TenantEvent } from "./events.ts";
import type { Resumption } from "./task_wait.ts";

/** The content of a call. */
export type TaskCall =
  | {
    /** The worker has to execute a task. */
    readonly type: "task.run";
    /** The task and the attempt. */
    readonly data: {
      /** What is to be done. */
      readonly task: Task;
      /** Which run of the task it is, from 0. */
      readonly run: number;
      /** Which try of the run it is. */
      readonly attempt: {
        /** The attempt's id, which is also the id of its lease. */
        readonly id: string;
        /**
         * A token that authorizes reports on the attempt, when the worker
         * answers 202 and finishes later.
         */
        readonly token: string;
        /** A number that grows with every attempt of the task. */
        readonly fence: number;
        /** When the attempt was started. */
        readonly started_at: string;
      };
      /** What the dependencies of a task that has some came to. */
      readonly dependencies?: readonly DependencyResult[] | undefined;
      /** The end of the run's last wait, if there was one. */
      readonly resumed?: Resumption | undefined;
      /** What the last wait of the run has saved. */
      readonly state?: unknown;
    };
  }
  | {
    /** A task with a `callback` has ended. */
    readonly type: Exclude<`task.${Task["status"]}`, "task.run">;
    /** The task and the run. */
    readonly data: {
      /** The task, or only its id when it was removed. */
      readonly task: Task | { readonly id: string };
      /** The number of the run that has ended. */
      readonly run: number;
    };
  };

/** Whether the service has sent a call. */
export type WebhookVerdict =
  | {
    /** The service has sent the call. */
    readonly kind: "valid";
    /**
     * The id of the run, the same for all of its attempts: use it as an
     * idempotency key.
     */
    readonly id: string;
    /** The content of the call. */
    readonly call: TaskCall;
  }
  | {
    /**
     * The service has not sent the call, or the call is too old. Answer with
     * status 401.
     */
    readonly kind: "invalid";
    /** Why the call is not valid. */
    readonly reason:
      | "missing_header"
      | "bad_timestamp"
      | "too_old"
      | "too_new"
      | "bad_signature"
      | "too_large"
      | "not_json";
  };

/** Whether the service has sent an event to a webhook. */
export type EventVerdict =
  | {
    /** The service has sent the event. */
    readonly kind: "valid";
    /** The event; its `id` is the same however often it is sent. */
    readonly event: TenantEvent;
  }
  | Extract<WebhookVerdict, { readonly kind: "invalid" }>;

/** Options of {@linkcode verifyWebhook} and {@linkcode verifyEvent}. */
export interface VerifyWebhookOptions {
  /**
   * Milliseconds by which the call's time may differ from this machine's.
   *
   * @default {300000}
   */
  readonly toleranceMs?: number | undefined;
  /**
   * The most bytes of a body that are read.
   *
   * @default {16777216}
   */
  readonly maxBytes?: number | undefined;
  /**
   * The time of this machine, in milliseconds since the Unix epoch. Replace it
   * for tests.
   *
   * @default {Date.now()}
   */
  readonly nowMs?: number | undefined;
}

const TOLERANCE_MS = 300_000;
const MAX_BYTES = 16_777_216;
const MAX_SIGNATURES = 16;
const MAX_SECRET_BYTES = 64;
const PUBLIC_KEY_BYTES = 32;

/**
 * Verifies that the service has signed a call (Standard Webhooks), with the
 * secret that worker and service share or, for an `asymmetric` worker, with the
 * worker's `public_key`. Reads the body of the request.
 *
 * @param secret The worker's `signing_secret` (`whsec_…`) or `public_key`
 * (`whpk_…`); a list of them while one replaces another.
 * @throws {TypeError} When a secret cannot be read, or an option is not a
 * number. The service shows the secret once, when a worker is created.
 *
 * @example A worker that is called
 * ```ts
 * import { verifyWebhook } from "@tercet/sdk/tasks";
 *
 * async function serve(request: Request): Promise<Response> {
 *   const verdict = await verifyWebhook(request, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
 *   if (verdict.kind === "invalid") return new Response(null, { status: 401 });
 *   const { call } = verdict;
 *   if (call.type !== "task.run") return new Response(null, { status: 204 });
 *   return Response.json({ done: call.data.task.id });
 * }
 *
 * const answer = await serve(new Request("http://localhost/", { method: "POST" }));
 * console.log(answer.status); // 401
 * ```
 */
export async function verifyWebhook(
  request: Request,
  secret: string | readonly string[],
  options: VerifyWebhookOptions = {},
): Promise<WebhookVerdict> {
  const verdict = await verifySigned(request, secret, options);
  if (verdict.kind === "invalid") return verdict;
  const { id, content } = verdict;
  // The service has written it.
  return { kind: "valid", id, call: content as TaskCall };
}

/**
 * Verifies that the service has sent an event to a webhook (Standard Webhooks).
 * Reads the body of the request.
 *
 * @param secret The webhook's `signing_secret` (`whsec_…`), or a list of them
 * while one replaces another.
 * @throws {TypeError} When a secret cannot be read, or an option is not a
 * number.
 *
 * @example A receiver of events
 * ```ts
 * import { verifyEvent } from "@tercet/sdk/tasks";
 *
 * async function serve(request: Request): Promise<Response> {
 *   const verdict = await verifyEvent(request, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
 *   if (verdict.kind === "invalid") return new Response(null, { status: 401 });
 *   console.log(verdict.event.type);
 *   return new Response(null, { status: 204 });
 * }
 *
 * const answer = await serve(new Request("http://localhost/", { method: "POST" }));
 * console.log(answer.status); // 401
 * ```
 */
export async function verifyEvent(
  request: Request,
  secret: string | readonly string[],
  options: VerifyWebhookOptions = {},
): Promise<EventVerdict> {
  const verdict = await verifySigned(request, secret, options);
  return verdict.kind === "invalid"
    ? verdict
    // The service has written it.
    : { kind: "valid", event: verdict.content as TenantEvent };
}

/** The content of a call that is signed. */
interface SignedContent {
  readonly kind: "valid";
  readonly id: string;
  readonly content: unknown;
}

async function verifySigned(
  request: Request,
  secret: string | readonly string[],
  options: VerifyWebhookOptions,
): Promise<
  SignedContent | Extract<WebhookVerdict, { readonly kind: "invalid" }>
> {
  const {
    toleranceMs = TOLERANCE_MS,
    maxBytes = MAX_BYTES,
    nowMs = Date.now(),
  } = options;
  if (!(toleranceMs >= 0) || !(maxBytes >= 0) || Number.isNaN(nowMs)) {
    throw new TypeError(
      "Cannot verify a call: an option is not a number from 0",
    );
  }
  if (typeof request?.headers?.get !== "function") {
    throw new TypeError("Cannot verify a call: request is not a Request");
  }
  const secrets = typeof secret === "string" ? [secret] : secret;
  if (!Array.isArray(secrets) || secrets.length === 0) {
    throw new TypeError("Cannot verify a call: secret is missing");
  }
  const keys = await Promise.all(secrets.map(importSecret));
  const { headers } = request;
  const id = headers.get("webhook-id");
  const timestamp = headers.get("webhook-timestamp");
  const signatures = headers.get("webhook-signature");
  if (id === null || timestamp === null || signatures === null) {
    return { kind: "invalid", reason: "missing_header" };
  }
  if (!/^[1-9]\d{0,12}$/.test(timestamp)) {
    return { kind: "invalid", reason: "bad_timestamp" };
  }
  const ageMs = nowMs - Number(timestamp) * 1_000;
  if (ageMs > toleranceMs) return { kind: "invalid", reason: "too_old" };
  if (-ageMs > toleranceMs) return { kind: "invalid", reason: "too_new" };
  const body = await readBytes(request, maxBytes);
  if (body === undefined) return { kind: "invalid", reason: "too_large" };
  const head = new TextEncoder().encode(`${id}.${timestamp}.`);
  const signed = new Uint8Array(head.length + body.length);
  signed.set(head);
  signed.set(body, head.length);
  if (!await isSigned(signed, { signatures, keys })) {
    return { kind: "invalid", reason: "bad_signature" };
  }
  try {
    const content: unknown = JSON.parse(new TextDecoder().decode(body));
    return { kind: "valid", id, content };
  } catch {
    return { kind: "invalid", reason: "not_json" };
  }
}

/** A key that verifies signatures, and the version mark of these signatures. */
interface VerifyingKey {
  readonly mark: "v1" | "v1a";
  readonly key: CryptoKey;
}

async function importSecret(secret: string): Promise<VerifyingKey> {
  const at = secret.indexOf("_") + 1;
  const bytes = decodeBase64(secret.slice(at), { maxBytes: MAX_SECRET_BYTES });
  const prefix = secret.slice(0, at);
  if (bytes !== undefined && bytes.length > 0) {
    const importKey = (
      algorithm: AlgorithmIdentifier | HmacImportParams,
    ): Promise<CryptoKey> =>
      crypto.subtle.importKey("raw", bytes, algorithm, false, ["verify"]);
    if (prefix === "whsec_") {
      const key = await importKey({ name: "HMAC", hash: "SHA-256" });
      return { mark: "v1", key };
    }
    if (prefix === "whpk_" && bytes.length === PUBLIC_KEY_BYTES) {
      return { mark: "v1a", key: await importKey({ name: "Ed25519" }) };
    }
  }
  throw new TypeError(
    "Cannot verify a call: the secret is neither whsec_ nor whpk_ and Base64",
  );
}

/**
 * Tells whether one of the signatures was made with one of the keys; compares
 * in constant time.
 */
async function isSigned(
  signed: Uint8Array<ArrayBuffer>,
  { signatures, keys }: {
    readonly signatures: string;
    readonly keys: readonly VerifyingKey[];
  },
): Promise<boolean> {
  for (const text of signatures.split(" ").slice(0, MAX_SIGNATURES)) {
    const comma = text.indexOf(",");
    const signature = decodeBase64(text.slice(comma + 1), {
      maxBytes: MAX_SECRET_BYTES,
    });
    if (signature === undefined) continue;
    for (const { mark, key } of keys) {
      if (text.slice(0, Math.max(comma, 0)) !== mark) continue;
      const { name } = key.algorithm;
      if (await crypto.subtle.verify(name, key, signature, signed)) return true;
    }
  }
  return false;
}
