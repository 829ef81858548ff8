/**
 * The fields of API keys, as the API reads and shows them; the secret is never
 * shown again.
 *
 * @module
 */

import { parseNetwork } from "../../../shared/ip_network.ts";
import {
  list,
  nullable,
  type Parsed,
  parsed,
  refined,
} from "../../../shared/schema/composite.ts";
import {
  object,
  type ObjectOf,
  optional,
  readOnly,
  settable,
  withDefault,
} from "../../../shared/schema/object.ts";
import {
  described,
  named,
  type Schema,
  type Shape,
} from "../../../shared/schema/schema.ts";
import {
  boolean,
  choice,
  ONE_LINE,
  text,
} from "../../../shared/schema/values.ts";
import { parseScopes, ROLES, SCOPE_NAMES } from "../../access/scope.ts";
import type { ApiKey } from "../../domain/records.ts";
import { optionalTime, utcTime } from "../../domain/instant.ts";
import { dateTime, durationMs } from "../../domain/value_schemas.ts";
import { endOfKey } from "../../engine/credential_records.ts";
import {
  createViewer,
  type FieldsOf,
  type RecordTable,
  type RecordView,
  shownId,
  shownTime,
  tableExample,
  toFields,
} from "../record_table.ts";

/** Longest overlap, in which an old secret works beside the new one: a week. */
const MAX_OVERLAP_MS = 7 * 86_400_000;

function scopes(): Schema<readonly string[]> {
  const name: Schema<string> = {
    ...text({ maxLength: 40 }),
    json: { type: "string", enum: SCOPE_NAMES },
  };
  const names = list(name, { minItems: 1, maxItems: 50 });
  return parsed(names, (value): Parsed<readonly string[]> => {
    const outcome = parseScopes(value);
    if (outcome.kind === "ok") return { kind: "ok", value: outcome.names };
    const { index, reason } = outcome;
    return {
      kind: "invalid",
      code: "unknown_scope",
      reason,
      pointer: index === undefined ? undefined : `/${index}`,
    };
  });
}

/** A network in its normalized spelling, which equal networks share. */
function network(): Schema<string> {
  return parsed(text({ maxLength: 100 }), (value): Parsed<string> => {
    const outcome = parseNetwork(value);
    return outcome.kind === "ok"
      ? { kind: "ok", value: outcome.text }
      : { kind: "invalid", code: "bad_network", reason: outcome.reason };
  });
}

/** The fields of a key. */
const KEY_TABLE = {
  id: {
    field: readOnly(shownId("dk")),
    key: "id",
    example: "dk_7Hq2mX0bYc9LpT4w",
  },
  name: {
    field: withDefault(
      text({ maxLength: 200, pattern: ONE_LINE, mustBe: "one line of text" }),
      "",
      "Its name for people",
    ),
    key: "name",
    example: "ci",
  },
  role: {
    field: optional(
      nullable(choice(ROLES)),
      "What it may do, by a role; this or `scopes`",
    ),
    show: (key: ApiKey) => key.role ?? null,
    example: null,
  },
  scopes: {
    field: settable(
      scopes(),
      "What it may do, one by one; `workers:*` stands for all of workers",
    ),
    show: (key: ApiKey) => key.scopes ?? null,
    example: ["tasks:read", "tasks:write"],
  },
  networks: {
    field: withDefault(
      list(network(), { maxItems: 50 }),
      [],
      "Where it may be used from, as addresses or CIDR; from everywhere " +
        "when empty",
    ),
    show: (key: ApiKey) => key.networks ?? [],
    example: ["10.0.0.0/8"],
  },
  payloads: {
    field: optional(
      boolean(),
      "Whether it sees the data and results of tasks; as you do unless given",
    ),
    key: "payloads",
    example: true,
  },
  made_by: {
    field: readOnly(nullable(text({ maxLength: 64 })), "The user it ends with"),
    show: (key: ApiKey) => key.madeBy ?? null,
    example: "usr_06f1cdq1s5n0q2v4x7z9b3d5f8",
  },
  created_at: {
    field: readOnly(shownTime("When it was created")),
    show: (key: ApiKey) => utcTime(key.createdAtMs),
    example: "2027-01-15T08:00:00.000Z",
  },
  expires_at: {
    field: settable(dateTime(), "When it stops working; never when null"),
    show: (key: ApiKey) => optionalTime(endOfKey(key)),
    example: "2028-01-15T08:00:00.000Z",
  },
  last_used_at: {
    field: readOnly(
      nullable(shownTime("When it was last used, to the minute")),
    ),
    show: (key: ApiKey) => optionalTime(key.lastUsedAtMs),
    example: "2027-01-20T09:41:00.000Z",
  },
} as const satisfies RecordTable<ApiKey>;

/** The schemas of the fields. */
export const KEY_FIELDS: FieldsOf<typeof KEY_TABLE> = toFields(KEY_TABLE);

/** A key as the API shows it, without its secret. */
export const viewKey: (key: ApiKey) => RecordView = createViewer(KEY_TABLE);

const KEY_EXAMPLE = tableExample(KEY_TABLE);

/** The body that creates a key. */
export type NewKey = ObjectOf<typeof KEY_FIELDS>;

/** The schema of a key, without its secret. */
export const KEY: Schema<NewKey> = named("ApiKey", object(KEY_FIELDS), {
  description: "A key for programs",
  examples: [KEY_EXAMPLE],
});

/** The body that creates a key. Needs either a role or scopes. */
export const NEW_KEY: Schema<NewKey> = refined(
  object(KEY_FIELDS),
  ({ role, scopes }) => {
    const hasRole = role !== undefined && role !== null;
    const hasScopes = scopes !== undefined && scopes !== null;
    if (hasRole !== hasScopes) return [];
    return [{
      pointer: hasRole ? "/scopes" : "/role",
      code: hasRole ? "excluded" : "required",
      reason: hasRole
        ? 'Cannot take both "role" and "scopes": one of them says what the ' +
          "key may do"
        : 'Cannot do without "role" and "scopes": one of them says what the ' +
          "key may do",
    }];
  },
);

/** A key just created, with its text. */
export const MADE_KEY: Shape = named(
  "MadeApiKey",
  object({
    ...KEY_FIELDS,
    key: described(
      nullable(text({ maxLength: 80 })),
      "The key itself, shown this once; null in an answer that is given " +
        "again for an Idempotency-Key",
    ),
  }),
  {
    description: "A new key, with the key itself",
    examples: [{
      ...KEY_EXAMPLE,
      key: "dk_7Hq2mX0bYc9LpT4w_" +
        "0123456789012345678901234567890123456789012abcdef",
    }],
  },
);

const ROTATION_FIELDS = {
  overlap: withDefault(
    durationMs({ maximumMs: MAX_OVERLAP_MS }),
    "PT0S",
    "How long the old key goes on working; a week at most",
  ),
};

/** The body that rotates a key. */
export type Rotation = ObjectOf<typeof ROTATION_FIELDS>;

/** The schema of the body that rotates a key. */
export const ROTATION: Schema<Rotation> = named(
  "KeyRotation",
  object(ROTATION_FIELDS),
  {
    description: "How a key is replaced by a new one",
    examples: [{ overlap: "PT1H" }],
  },
);
