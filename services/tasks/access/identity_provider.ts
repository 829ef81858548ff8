/**
 * Mirrors users to an identity provider: the interface of such a mirror, its
 * implementation over the provider's management API, and the readiness check.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import {
  type Fetch,
  type FetchOutcome,
  fetchText,
  parseJsonObject,
} from "./bounded_fetch.ts";
import { mintToken } from "./credential_token.ts";

/** A user as the mirror stores it. */
interface MirroredUser {
  /** The tenant's domain. */
  readonly tenant: string;
  /** The id of the user in this service. */
  readonly userId: string;
  /** The email address. */
  readonly email: string;
  /** The name. */
  readonly name?: string | undefined;
  /** Whether the user may log in. */
  readonly isBlocked: boolean;
}

/** The changed fields of a user; absent fields have not changed. */
export type MirroredUserChange = {
  readonly [Field in "email" | "name" | "isBlocked"]?:
    | MirroredUser[Field]
    | undefined;
};

/** The outcome of mirroring a user. */
export type MirrorOutcome =
  | {
    readonly kind: "ok";
    /** The user's id at the mirror, which is the `sub` of its tokens. */
    readonly subject: string;
  }
  /** A user with that email address exists already. */
  | { readonly kind: "exists" }
  /** There is no such user. */
  | { readonly kind: "not_found" }
  | {
    /** The mirror refuses the token or the values: a retry is useless. */
    readonly kind: "refused";
    /** Why, for a log; holds nothing secret. */
    readonly reason: string;
  }
  | {
    /** The mirror did not answer, or cannot do it now: a retry may succeed. */
    readonly kind: "unavailable";
    /** Why, for a log; holds nothing secret. */
    readonly reason: string;
    /** After how many milliseconds to retry, where the mirror says so. */
    readonly retryAfterMs?: number;
  };

/**
 * Copies users to another system and keeps the copies up to date. Methods never
 * reject.
 */
export interface UserMirror {
  /** Adds a user. */
  create(user: MirroredUser): Promise<MirrorOutcome>;
  /** Changes a user. */
  update(subject: string, change: MirroredUserChange): Promise<MirrorOutcome>;
  /**
   * Removes a user, which must be one that {@linkcode UserMirror.create} added:
   * other users may belong to more than this service. A user that is already
   * gone is `not_found`.
   */
  remove(subject: string): Promise<MirrorOutcome>;
}

/** Options of {@linkcode IdentityProvider}. */
interface IdentityProviderOptions {
  /** The provider's address, with or without a slash at the end. */
  readonly url: string;
  /** The access token of the management API. */
  readonly accessToken: string;
  /** Makes the calls. */
  readonly fetch: Fetch;
  /** Measures the time. */
  readonly clock: Clock;
  /** Logs each reason why it is not ready once, and when it is ready again. */
  readonly logger: Logger;
}

/** Whether the provider's management API can be used. */
type ReadinessOutcome =
  | { readonly kind: "ok" }
  | {
    /** The provider refuses the token, or does not answer as it should. */
    readonly kind: "refused" | "unavailable";
    /** Why, for a log; holds nothing secret. */
    readonly reason: string;
  };

/** Milliseconds a call may take. */
const TIMEOUT_MS = 5_000;

/**
 * The provider's connection, its store of users, that new users are added to.
 */
const CONNECTION = "Username-Password-Authentication";

/** Largest answer that is read, in bytes. */
const MAX_ANSWER_BYTES = 262_144;

/** The characters that a header may have: visible ASCII (RFC 9110, 5.5). */
const ACCESS_TOKEN = /^[\x21-\x7e]+$/;

interface Call {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** The path below `/api/v2/`. */
  readonly path: string;
  readonly body?: unknown;
}

/** Calls the management API. The access token is sent nowhere else. */
export class IdentityProvider implements UserMirror {
  readonly #options: IdentityProviderOptions;
  readonly #baseUrl: string;
  /**
   * Why the provider was not ready at the last check; undefined when it was.
   */
  #reason: string | undefined;

  /** A connector that has not called yet. */
  constructor(options: IdentityProviderOptions) {
    this.#options = options;
    this.#baseUrl = `${options.url.replace(/\/+$/, "")}/api/v2/`;
  }

  /**
   * Checks whether the management API answers and accepts the access token, by
   * `GET {idp_url}/api/v2/`. Any status of the 200s is a yes.
   */
  async check(): Promise<ReadinessOutcome> {
    const outcome = await this.#check();
    const reason = outcome.kind === "ok" ? undefined : outcome.reason;
    if (reason === this.#reason) return outcome;
    this.#reason = reason;
    const { logger } = this.#options;
    if (reason === undefined) {
      logger.info("The identity provider is ready again");
    } else {
      logger.warn("Cannot use the identity provider: it is not ready", {
        reason,
      });
    }
    return outcome;
  }

  async #check(): Promise<ReadinessOutcome> {
    const answer = await this.#call({ method: "GET", path: "" });
    if (answer.kind === "failed") return unavailable(answer.reason);
    const { status } = answer;
    if (status >= 200 && status < 300) return { kind: "ok" };
    return status === 401 || status === 403
      ? { kind: "refused", reason: "the access token is not accepted" }
      : unavailable(`the answer has status ${status}`);
  }

  /**
   * Adds a user: `POST /api/v2/users`. The password is random and not stored;
   * the user replaces it by "forgot password".
   */
  async create(user: MirroredUser): Promise<MirrorOutcome> {
    const answer = await this.#call({
      method: "POST",
      path: "users",
      body: {
        connection: CONNECTION,
        ...toMembers(user),
        // The appended characters satisfy the usual rules for passwords.
        password: `${mintToken("dk").secret}aA1!`,
        app_metadata: { tenant: user.tenant, user_id: user.userId },
      },
    });
    const outcome = toOutcome(answer, "");
    if (outcome.kind !== "ok" || answer.kind !== "ok") return outcome;
    const subject = parseJsonObject(answer.text)?.user_id;
    return typeof subject === "string" && subject !== ""
      ? { kind: "ok", subject }
      : unavailable("the answer names no user");
  }

  /** Changes a user: `PATCH /api/v2/users/{id}`. */
  async update(
    subject: string,
    change: MirroredUserChange,
  ): Promise<MirrorOutcome> {
    return await this.#callUser(subject, {
      method: "PATCH",
      body: toMembers(change),
    });
  }

  /** Removes a user: `DELETE /api/v2/users/{id}`. */
  async remove(subject: string): Promise<MirrorOutcome> {
    return await this.#callUser(subject, { method: "DELETE" });
  }

  async #callUser(
    subject: string,
    call: Pick<Call, "method" | "body">,
  ): Promise<MirrorOutcome> {
    // A dot segment would name another resource (RFC 3986, 5.2.4).
    if (/^\.{0,2}$/.test(subject)) return { kind: "not_found" };
    const path = `users/${encodeURIComponent(subject)}`;
    return toOutcome(await this.#call({ ...call, path }), subject);
  }

  async #call(call: Call): Promise<FetchOutcome> {
    const { fetch, clock, accessToken: token } = this.#options;
    // An error about an invalid header would quote the token.
    if (!ACCESS_TOKEN.test(token)) {
      return { kind: "failed", reason: "the access token is no header value" };
    }
    const headers = new Headers({ authorization: `Bearer ${token}` });
    if (call.body !== undefined) {
      headers.set("content-type", "application/json");
    }
    const outcome = await fetchText(this.#baseUrl + call.path, {
      fetch,
      clock,
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_ANSWER_BYTES,
      init: {
        method: call.method,
        headers,
        body: call.body === undefined ? null : JSON.stringify(call.body),
      },
    });
    if (outcome.kind === "ok") return outcome;
    return { ...outcome, reason: outcome.reason.replaceAll(token, "***") };
  }
}

function toMembers(
  user: MirroredUserChange,
): Readonly<Record<string, unknown>> {
  // JSON leaves out members that are undefined.
  return { email: user.email, name: user.name, blocked: user.isBlocked };
}

function toOutcome(answer: FetchOutcome, subject: string): MirrorOutcome {
  if (answer.kind === "failed") return unavailable(answer.reason);
  const { status } = answer;
  if (status >= 200 && status < 300) return { kind: "ok", subject };
  const reason = `the answer has status ${status}`;
  if (status === 429) {
    const seconds = answer.headers.get("retry-after") ?? "";
    return /^\d{1,6}$/.test(seconds)
      ? { ...unavailable(reason), retryAfterMs: Number(seconds) * 1_000 }
      : unavailable(reason);
  }
  // A proxy that answers in the provider's place knows nothing about its users.
  if (parseJsonObject(answer.text) === undefined) return unavailable(reason);
  switch (status) {
    case 404:
      return { kind: "not_found" };
    case 409:
      return { kind: "exists" };
  }
  return status >= 400 && status < 500
    ? { kind: "refused", reason }
    : unavailable(reason);
}

function unavailable(
  reason: string,
): { readonly kind: "unavailable"; readonly reason: string } {
  return { kind: "unavailable", reason };
}
