/**
 * Names and life times of secrets, and what may be done with them.
 *
 * @module
 */

import { nearest } from "../../shared/did_you_mean.ts";
import { quote } from "../../shared/quote.ts";
import {
  labelFault,
  type NamedSecret,
  type SecretFault,
  type SecretProblem,
  type SecretsRequest,
  type SecretsRequestOutcome,
  secretValueFault,
} from "./secret_request.ts";

/** Characters of a name at most. */
export const MAX_SECRET_NAME_CHARS = 64;

/** The form of a name, for messages. */
export const SECRET_NAME_FORM: string =
  `capital letters, digits and "_", no digit first, at most ` +
  `${MAX_SECRET_NAME_CHARS} characters`;

const SECRET_NAME = /^[A-Z_][A-Z0-9_]*$/;

/** Whether a text can be the name of a secret. */
export function isSecretName(text: string): boolean {
  return text.length <= MAX_SECRET_NAME_CHARS && SECRET_NAME.test(text);
}

/** RFC 3339, section 5.6: a date, a time and a zone. */
const DATE_TIME =
  /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:[Zz]|[+-]\d{2}:\d{2})$/;

/**
 * Reads a date and time of RFC 3339. A leap second counts as the second before
 * it.
 *
 * @returns Milliseconds since the epoch, whole ones (a part of one is left out),
 * or `undefined` when the text is no date or no such day exists.
 */
function parseExpiry(text: string): number | undefined {
  if (!DATE_TIME.test(text)) return undefined;
  try {
    return Temporal.Instant.from(text.toUpperCase()).epochMilliseconds;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Names that a worker has at most. */
export const MAX_SECRETS_PER_WORKER = 100;

const FIELDS = ["name", "value", "secrets", "type", "expires_at"] as const;

type Field = typeof FIELDS[number];

const TYPES = ["credential", "signing"] as const;

/** So that a body full of mistakes gets no answer larger than itself. */
const MAX_PROBLEMS = 50;

/** Unknown fields are shown up to here. */
const MAX_SHOWN_CHARS = 64;

/**
 * Reads the body of a request for secrets: `{name, value}` or
 * `{secrets: {NAME: value}}` to store values, `{type: "credential", name?,
 * expires_at?, secrets?: boolean}` or no body at all (`undefined`) or an empty object for a
 * credential, `{type: "signing"}` for a new signing secret. Null counts as
 * absent, except as a value.
 */
export function parseSecretsRequest(
  body: unknown,
  nowMs: number,
): SecretsRequestOutcome {
  if (body === undefined) {
    return { kind: "ok", request: { kind: "credential" } };
  }
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    const detail = "Cannot read secrets: the body is no object";
    const problem = { pointer: "", code: "wrong_type", detail } as const;
    return { kind: "invalid", problems: [problem] };
  }
  const reader = new RequestReader(body, nowMs);
  const request = reader.read();
  return request === undefined || reader.problems.length > 0
    ? { kind: "invalid", problems: reader.problems }
    : { kind: "ok", request };
}

/** Reads fields one after another and collects what is wrong with them. */
class RequestReader {
  readonly problems: SecretProblem[] = [];
  readonly #fields = new Map<Field, unknown>();
  readonly #nowMs: number;

  constructor(body: object, nowMs: number) {
    this.#nowMs = nowMs;
    for (const [key, value] of Object.entries(body)) {
      const field = FIELDS.find((name) => name === key);
      if (field === undefined) this.#unknownField(key);
      else if (value !== null || field === "value") {
        this.#fields.set(field, value);
      }
    }
  }

  read(): SecretsRequest | undefined {
    if (this.#fields.has("type")) return this.#typed();
    if (this.#fields.has("secrets")) return this.#map();
    if (this.#fields.has("name") || this.#fields.has("value")) {
      return this.#single();
    }
    if (this.#fields.has("expires_at")) {
      this.#add("/type", "missing", `"expires_at" needs "type": "credential"`);
      return undefined;
    }
    return this.#credential();
  }

  #typed(): SecretsRequest | undefined {
    const type = this.#fields.get("type");
    if (type === "signing") {
      this.#allow(["type"], `"type": "signing"`);
      return { kind: "signing" };
    }
    if (type === "credential") {
      this.#allow(
        ["type", "name", "expires_at", "secrets"],
        `"type": "credential"`,
      );
      return this.#credential();
    }
    const meant = typeof type === "string" ? nearest(type, TYPES) : undefined;
    const hint = meant === undefined ? "" : `; did you mean "${meant}"?`;
    this.#add(
      "/type",
      typeof type === "string" ? "unknown_type" : "wrong_type",
      `the type is neither "credential" nor "signing"${hint}`,
    );
    return undefined;
  }

  #credential(): SecretsRequest {
    return {
      kind: "credential",
      name: this.#credentialName(),
      expiresAtMs: this.#expiresAtMs(),
      secrets: this.#mayHaveSecrets(),
    };
  }

  #mayHaveSecrets(): boolean | undefined {
    const input = this.#fields.get("secrets");
    if (input === undefined || typeof input === "boolean") return input;
    this.#add(
      "/secrets",
      "wrong_type",
      `"secrets" of a credential is neither true nor false`,
    );
    return undefined;
  }

  #credentialName(): string | undefined {
    const input = this.#fields.get("name");
    if (input === undefined) return undefined;
    this.#addFault("/name", labelFault(input));
    return typeof input === "string" ? input.trim() : undefined;
  }

  #expiresAtMs(): number | undefined {
    const input = this.#fields.get("expires_at");
    if (input === undefined) return undefined;
    const atMs = typeof input === "string" ? parseExpiry(input) : undefined;
    if (atMs === undefined) {
      const code = typeof input === "string" ? "bad_date" : "wrong_type";
      this.#add(
        "/expires_at",
        code,
        `"expires_at" is no RFC 3339 date and time with its zone, ` +
          `such as "2030-01-31T12:00:00Z"`,
      );
    } else if (atMs <= this.#nowMs) {
      this.#add("/expires_at", "past", `"expires_at" is past already`);
    }
    return atMs;
  }

  #single(): SecretsRequest | undefined {
    this.#allow(["name", "value"], `"name" and "value"`);
    const name = this.#fields.get("name");
    if (name === undefined) {
      this.#add("/name", "missing", `there is a "value" without a "name"`);
    } else if (typeof name !== "string") {
      this.#add("/name", "wrong_type", "the name is no string");
    } else if (!isSecretName(name)) {
      this.#add(
        "/name",
        "bad_name",
        `the name is not valid: ${SECRET_NAME_FORM}`,
      );
    }
    if (!this.#fields.has("value")) {
      const forCredential = `; a credential needs "type": "credential"`;
      this.#add(
        "/value",
        "missing",
        `there is a "name" without a "value"${forCredential}`,
      );
      return undefined;
    }
    const value = this.#value(this.#fields.get("value"), "/value");
    if (value === undefined || typeof name !== "string") return undefined;
    return { kind: "values", secrets: [{ name, value }] };
  }

  #map(): SecretsRequest | undefined {
    this.#allow(["secrets"], `"secrets"`);
    const map = this.#fields.get("secrets");
    if (typeof map !== "object" || map === null || Array.isArray(map)) {
      this.#add("/secrets", "wrong_type", `"secrets" is no object`);
      return undefined;
    }
    const entries = Object.entries(map);
    if (entries.length === 0) {
      this.#add("/secrets", "empty", `"secrets" is empty`);
    } else if (entries.length > MAX_SECRETS_PER_WORKER) {
      this.#add(
        "/secrets",
        "too_many",
        `there are ${entries.length} secrets, a worker has ` +
          `${MAX_SECRETS_PER_WORKER} at most`,
      );
      return undefined;
    }
    const secrets: NamedSecret[] = [];
    for (const [index, [name, input]] of entries.entries()) {
      const isName = isSecretName(name);
      // Not shown: name and value may have changed places.
      if (!isName) {
        this.#add(
          "/secrets",
          "bad_name",
          `name ${index + 1} of the secrets is not valid: ${SECRET_NAME_FORM}`,
        );
      }
      const value = this.#value(
        input,
        isName ? `/secrets/${name}` : "/secrets",
      );
      if (isName && value !== undefined) secrets.push({ name, value });
    }
    return { kind: "values", secrets };
  }

  #value(input: unknown, pointer: string): string | undefined {
    this.#addFault(pointer, secretValueFault(input));
    return typeof input === "string" ? input : undefined;
  }

  /** Reports fields that are known but have no place in this kind of request. */
  #allow(allowed: readonly Field[], kind: string): void {
    for (const field of this.#fields.keys()) {
      if (allowed.includes(field)) continue;
      this.#add(
        `/${field}`,
        "not_allowed",
        `"${field}" doesn't go with ${kind}`,
      );
    }
  }

  #unknownField(key: string): void {
    const meant = nearest(key, FIELDS);
    const hint = meant === undefined
      ? `the fields are ${FIELDS.join(", ")}`
      : `did you mean "${meant}"?`;
    const escaped = key.replaceAll("~", "~0").replaceAll("/", "~1");
    const shown = quote(key, { maxChars: MAX_SHOWN_CHARS });
    this.#add(
      key.length > MAX_SHOWN_CHARS ? "" : `/${escaped}`,
      "unknown_field",
      `${shown} is no field of it; ${hint}`,
    );
  }

  #addFault(pointer: string, fault: SecretFault | undefined): void {
    if (fault !== undefined) this.#add(pointer, fault.code, fault.state);
  }

  #add(pointer: string, code: SecretProblem["code"], state: string): void {
    if (this.problems.length >= MAX_PROBLEMS) return;
    const detail = `Cannot read secrets: ${state}`;
    this.problems.push({ pointer, code, detail });
  }
}
