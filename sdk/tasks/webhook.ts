/**
 * The calls that a push worker gets: whether they come from the service.
 *
 * @module
 */

import { decodeBase64 } from "../memory/encodings.ts";
import { readBytes } from "../vault/bounded_body.ts";
import type { Task } from "./api_types.ts";

/** What a call says. */
export type TaskCall =
  | {
    /** A task is to be done. */
    readonly type: "task.run";
    /** The task, and the attempt. */
    readonly data: {
      /** The task. */
      readonly task: Task;
      /** Which run of the task it is, from 0. */
      readonly run: number;
      /** The attempt. */
      readonly attempt: {
        /** Its id, which is that of its lease. */
        readonly id: string;
        /** What proves that it is yours, where you answer 202 and finish later. */
        readonly token: string;
        /** Grows with every attempt of the task. */
        readonly fence: number;
        /** When it was started. */
        readonly started_at: string;
      };
    };
  }
  | {
    /** A task with a `callback` has ended. */
    readonly type: Exclude<`task.${Task["status"]}`, "task.run">;
    /** The task. */
    readonly data: {
      /** The task, or its id alone where it was removed. */
      readonly task: Task | { readonly id: string };
      /** Which run of the task it was. */
      readonly run: number;
    };
  };

/** Whether a call comes from the service. */
export type WebhookVerdict =
  | {
    /** It does. */
    readonly kind: "valid";
    /** The same for every attempt of a run: take it as idempotency key. */
    readonly id: string;
    /** What it says. */
    readonly call: TaskCall;
  }
  | {
    /** It does not, or is old. Answer 401. */
    readonly kind: "invalid";
    /** Why. */
    readonly reason:
      | "missing_header"
      | "bad_timestamp"
      | "too_old"
      | "too_new"
      | "bad_signature"
      | "too_large"
      | "not_json";
  };

/** Options of {@linkcode verifyWebhook}. */
export interface VerifyWebhookOptions {
  /**
   * Milliseconds by which the time of the call may differ from yours.
   *
   * @default {300000}
   */
  readonly toleranceMs?: number | undefined;
  /**
   * The most bytes of a body.
   *
   * @default {16777216}
   */
  readonly maxBytes?: number | undefined;
  /**
   * Your time, in milliseconds since the Unix epoch; to be replaced in tests.
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
 * Checks that a call was signed by the service (Standard Webhooks), with a secret that
 * you have in common or, for a worker that is `asymmetric`, with the key whose public
 * half you have. Reads the body of the request.
 *
 * @param secret The worker's `signing_secret` (`whsec_…`) or `public_key`
 * (`whpk_…`); several while one is replaced by another.
 * @throws {TypeError} When a secret can't be read; the service shows it once, when a
 * worker is made.
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
  const {
    toleranceMs = TOLERANCE_MS,
    maxBytes = MAX_BYTES,
    nowMs = Date.now(),
  } = options;
  const secrets = typeof secret === "string" ? [secret] : secret;
  const keys = await Promise.all(secrets.map(keyOf));
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
    const call: TaskCall = JSON.parse(new TextDecoder().decode(body));
    return { kind: "valid", id, call };
  } catch {
    return { kind: "invalid", reason: "not_json" };
  }
}

/** A key that checks signatures, and the mark of those it checks. */
interface VerifyingKey {
  readonly mark: "v1" | "v1a";
  readonly key: CryptoKey;
}

async function keyOf(secret: string): Promise<VerifyingKey> {
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

/** Whether one of the signatures is of one of the keys; compared in constant time. */
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
