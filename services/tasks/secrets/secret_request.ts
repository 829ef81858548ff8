/**
 * Reads and checks requests that set secrets.
 *
 * @module
 */

import { nearest } from "../../shared/did_you_mean.ts";
import { quote } from "../../shared/quote.ts";
import { type Fault, pointerTo, report } from "../../shared/schema/fault.ts";
import { isJsonObject } from "../../shared/schema/schema.ts";
import {
  isSecretName,
  labelFault,
  MAX_SECRETS_PER_WORKER,
  type NamedSecret,
  SECRET_NAME_FORM,
  secretValueFault,
} from "./secret_rules.ts";

/** A valid request about a worker's secrets. */
export type SecretsRequest =
  | {
    /** Store these values; a name that exists gets a new version. */
    readonly kind: "values";
    /** At least one, each name once. */
    readonly secrets: readonly NamedSecret[];
  }
  | {
    /** Mint a pair of key and secret that a worker logs in with. */
    readonly kind: "credential";
    /** A name for people to recognize the credential by. */
    readonly name?: string | undefined;
    /** When it stops working, in milliseconds since the epoch. */
    readonly expiresAtMs?: number | undefined;
    /**
     * Whether leases taken with it may carry the worker's secrets.
     *
     * @default {true}
     */
    readonly secrets?: boolean | undefined;
  }
  | {
    /** Rotate the secret that calls to the worker are signed with. */
    readonly kind: "signing";
  };

/** The outcome of reading a request. */
type SecretsRequestOutcome =
  | { readonly kind: "ok"; readonly request: SecretsRequest }
  | {
    readonly kind: "invalid";
    /** The faults, at least one; no message has a value. */
    readonly problems: readonly Fault[];
  };

/** The fields of each kind of request, and how messages name it. */
const KINDS = {
  signing: { fields: ["type"], shown: '"type": "signing"' },
  credential: {
    fields: ["type", "name", "expires_at", "secrets"],
    shown: '"type": "credential"',
  },
  map: { fields: ["secrets"], shown: '"secrets"' },
  single: { fields: ["name", "value"], shown: '"name" and "value"' },
} as const satisfies Readonly<
  Record<string, { readonly fields: readonly Field[]; readonly shown: string }>
>;

const FIELDS = ["name", "value", "secrets", "type", "expires_at"] as const;

type Field = typeof FIELDS[number];

const TYPES = ["credential", "signing"] as const;

/** Most characters of an unknown field's name that a message shows. */
const MAX_SHOWN_CHARS = 64;

/** RFC 3339, section 5.6: a date, a time and a zone. */
const DATE_TIME =
  /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:[Zz]|[+-]\d{2}:\d{2})$/;

/**
 * Reads a date and time of RFC 3339. A leap second counts as the second before
 * it.
 *
 * @returns Whole milliseconds since the epoch (fractions are cut off), or
 * `undefined` when the text is not a date or no such day exists.
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

/**
 * Reads the body of a request for secrets: `{name, value}` or
 * `{secrets: {NAME: value}}` to store values, `{type: "credential", name?,
 * expires_at?, secrets?: boolean}` or no body at all (`undefined`) or an empty
 * object for a credential, `{type: "signing"}` for a new signing secret. Null
 * counts as absent, except as a value.
 */
export function parseSecretsRequest(
  body: unknown,
  nowMs: number,
): SecretsRequestOutcome {
  const reader = new RequestReader(nowMs);
  const request = reader.read(body);
  return request === undefined || reader.faults.length > 0
    ? { kind: "invalid", problems: reader.faults }
    : { kind: "ok", request };
}

/** Reads fields one after another and collects what is wrong with them. */
class RequestReader {
  readonly faults: Fault[] = [];
  readonly #given = new Map<Field, unknown>();
  readonly #nowMs: number;

  constructor(nowMs: number) {
    this.#nowMs = nowMs;
  }

  read(body: unknown = {}): SecretsRequest | undefined {
    if (!isJsonObject(body)) {
      return this.#refuse("", "wrong_type", "the body is not an object");
    }
    for (const [key, value] of Object.entries(body)) {
      const field = FIELDS.find((name) => name === key);
      if (field === undefined) this.#unknownField(key);
      else if (value !== null || field === "value") {
        this.#given.set(field, value);
      }
    }
    const kind = this.#kind();
    if (kind === undefined) return undefined;
    const { fields, shown } = KINDS[kind];
    for (const field of this.#given.keys()) {
      if (fields.some((name) => name === field)) continue;
      const state = `"${field}" doesn't go with ${shown}`;
      this.#refuse(`/${field}`, "not_allowed", state);
    }
    switch (kind) {
      case "signing":
        return { kind };
      case "credential":
        return {
          kind,
          name: this.#credentialName(),
          expiresAtMs: this.#expiresAtMs(),
          secrets: this.#mayHaveSecrets(),
        };
      case "map":
        return this.#map();
      case "single":
        return this.#single();
    }
  }

  #kind(): keyof typeof KINDS | undefined {
    const given = this.#given;
    const type = given.get("type");
    if (type === "signing" || type === "credential") return type;
    if (given.has("type")) {
      const isText = typeof type === "string";
      const meant = isText ? nearest(type, TYPES) : undefined;
      const hint = meant === undefined ? "" : `; did you mean "${meant}"?`;
      return this.#refuse(
        "/type",
        isText ? "unknown_type" : "wrong_type",
        `the type is neither "credential" nor "signing"${hint}`,
      );
    }
    if (given.has("secrets")) return "map";
    if (given.has("name") || given.has("value")) return "single";
    return given.has("expires_at")
      ? this.#refuse(
        "/type",
        "missing",
        '"expires_at" needs "type": "credential"',
      )
      : "credential";
  }

  #mayHaveSecrets(): boolean | undefined {
    const input = this.#given.get("secrets");
    return input === undefined || typeof input === "boolean"
      ? input
      : this.#refuse(
        "/secrets",
        "wrong_type",
        '"secrets" of a credential is neither true nor false',
      );
  }

  #credentialName(): string | undefined {
    const input = this.#given.get("name");
    if (input === undefined) return undefined;
    const fault = labelFault(input);
    if (fault !== undefined) this.#refuse("/name", fault.code, fault.state);
    return typeof input === "string" ? input.trim() : undefined;
  }

  #expiresAtMs(): number | undefined {
    const input = this.#given.get("expires_at");
    if (input === undefined) return undefined;
    const atMs = typeof input === "string" ? parseExpiry(input) : undefined;
    if (atMs === undefined) {
      return this.#refuse(
        "/expires_at",
        typeof input === "string" ? "bad_date" : "wrong_type",
        '"expires_at" is no RFC 3339 date and time with its zone, such as ' +
          '"2030-01-31T12:00:00Z"',
      );
    }
    return atMs > this.#nowMs
      ? atMs
      : this.#refuse("/expires_at", "past", '"expires_at" is past already');
  }

  #single(): SecretsRequest | undefined {
    const name = this.#given.get("name");
    if (name === undefined) {
      const state = 'there is a "value" without a "name"';
      this.#refuse("/name", "missing", state);
    } else if (typeof name !== "string") {
      this.#refuse("/name", "wrong_type", "the name is not a string");
    } else if (!isSecretName(name)) {
      const state = `the name is not valid: ${SECRET_NAME_FORM}`;
      this.#refuse("/name", "bad_name", state);
    }
    if (!this.#given.has("value")) {
      return this.#refuse(
        "/value",
        "missing",
        'there is a "name" without a "value"; a credential needs "type": ' +
          '"credential"',
      );
    }
    const value = this.#value(this.#given.get("value"), "/value");
    if (value === undefined || typeof name !== "string") return undefined;
    return { kind: "values", secrets: [{ name, value }] };
  }

  #map(): SecretsRequest | undefined {
    const map = this.#given.get("secrets");
    if (!isJsonObject(map)) {
      return this.#refuse(
        "/secrets",
        "wrong_type",
        '"secrets" is not an ' +
          "object",
      );
    }
    const entries = Object.entries(map);
    if (entries.length === 0) {
      return this.#refuse("/secrets", "empty", '"secrets" is empty');
    }
    if (entries.length > MAX_SECRETS_PER_WORKER) {
      return this.#refuse(
        "/secrets",
        "too_many",
        `there are ${entries.length} secrets, a worker has ` +
          `${MAX_SECRETS_PER_WORKER} at most`,
      );
    }
    const secrets: NamedSecret[] = [];
    for (const [index, [name, input]] of entries.entries()) {
      const isName = isSecretName(name);
      // The name is not shown: name and value may have been swapped.
      const nth = `name ${index + 1} of the secrets is not valid`;
      if (!isName) {
        this.#refuse("/secrets", "bad_name", `${nth}: ${SECRET_NAME_FORM}`);
      }
      const at = isName ? `/secrets/${name}` : "/secrets";
      const value = this.#value(input, at);
      if (isName && value !== undefined) secrets.push({ name, value });
    }
    return { kind: "values", secrets };
  }

  #value(input: unknown, pointer: string): string | undefined {
    const fault = secretValueFault(input);
    if (fault !== undefined) this.#refuse(pointer, fault.code, fault.state);
    return typeof input === "string" ? input : undefined;
  }

  #unknownField(key: string): void {
    const meant = nearest(key, FIELDS);
    const hint = meant === undefined
      ? `the fields are ${FIELDS.join(", ")}`
      : `did you mean "${meant}"?`;
    const shown = quote(key, { maxChars: MAX_SHOWN_CHARS });
    this.#refuse(
      key.length > MAX_SHOWN_CHARS ? "" : pointerTo("", key),
      "unknown_field",
      `${shown} is no field of it; ${hint}`,
    );
  }

  #refuse(pointer: string, code: string, state: string): undefined {
    const detail = `Cannot read secrets: ${state}`;
    return report(this.faults, { pointer, code, detail });
  }
}
