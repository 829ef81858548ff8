/**
 * Secrets and credentials of workers as the API reads and shows them.
 *
 * @module
 */

import { MAX_SIGNING } from "./signing_keys.ts";
import { asGiven, list, nullable } from "../../../shared/schema/composite.ts";
import { object } from "../../../shared/schema/object.ts";
import {
  described,
  type JsonSchema,
  named,
  said,
  type Schema,
  type Shape,
  shape,
  shownObject,
} from "../../../shared/schema/schema.ts";
import {
  boolean,
  integer,
  literal,
  text,
} from "../../../shared/schema/values.ts";
import type { SigningSecret, WorkerCredential } from "../../domain/records.ts";
import { optionalTime, utcTime } from "../../domain/instant.ts";
import { dateTime } from "../../domain/value_schemas.ts";
import type { SecretRecord } from "../../engine/repositories.ts";
import {
  MAX_LABEL_CHARS,
  MAX_SECRET_NAME_CHARS,
  MAX_SECRET_VALUE_BYTES,
  MAX_SECRETS_PER_WORKER,
} from "../../secrets/secret_rules.ts";

const SECRET_NAME: JsonSchema = {
  type: "string",
  pattern: "^[A-Z_][A-Z0-9_]*$",
  maxLength: MAX_SECRET_NAME_CHARS,
};

const SECRET_VALUE: JsonSchema = {
  type: "string",
  minLength: 1,
  maxLength: MAX_SECRET_VALUE_BYTES,
  writeOnly: true,
};

const MAKES = "What is to be made";

/** The body that adds secrets; `parseSecretsRequest` checks it. */
export const NEW_SECRETS: Schema<unknown> = named(
  "NewSecrets",
  asGiven({
    description: "Values by name, or what is to be made: a credential (also " +
      "without a body), a new signing secret",
    anyOf: [
      shownObject({
        name: said("The name in `{{secrets.NAME}}`", SECRET_NAME),
        value: said("The secret value; it is never shown", SECRET_VALUE),
      }),
      shownObject({
        secrets: {
          type: "object",
          description: "Values by name, all or none of which are kept",
          propertyNames: SECRET_NAME,
          additionalProperties: SECRET_VALUE,
          minProperties: 1,
          maxProperties: MAX_SECRETS_PER_WORKER,
        },
      }),
      {
        type: "object",
        properties: {
          type: said(MAKES, { const: "credential" }),
          name: said("The display name; none when absent", {
            type: ["string", "null"],
            maxLength: MAX_LABEL_CHARS,
          }),
          expires_at: said("When it stops working; never when absent", {
            type: ["string", "null"],
            format: "date-time",
          }),
          secrets: {
            type: ["boolean", "null"],
            default: true,
            description: "Whether leases taken with it may carry the " +
              "worker's secrets",
          },
        },
        additionalProperties: false,
      },
      shownObject({ type: said(MAKES, { const: "signing" }) }),
    ],
  }),
);

/** An example of values to add. */
export const VALUES_EXAMPLE = {
  secrets: { MAILER_KEY: "a value that is never told again" },
} as const;

const IS_VALUE = described(
  literal("value"),
  "What it is: a value that calls and leases carry",
);

const VALUE = {
  type: IS_VALUE,
  name: described(text(), "The name in `{{secrets.NAME}}`"),
  version: described(
    integer({ minimum: 1 }),
    "Grows by one each time the value is replaced",
  ),
  created_at: described(dateTime(), "When the first value was set"),
  updated_at: described(dateTime(), "When the value was set last"),
};

const CREDENTIAL = {
  type: described(
    literal("credential"),
    "What it is: what a pull worker logs in with",
  ),
  id: described(text(), "The public part (`wk_…`)"),
  name: described(nullable(text()), "What people call it; null for nothing"),
  secrets: described(
    boolean(),
    "Whether leases taken with it may carry the worker's secrets",
  ),
  created_at: described(dateTime(), "When it was created"),
  expires_at: described(
    nullable(dateTime()),
    "When it stops working; null for never",
  ),
  last_used_at: described(
    nullable(dateTime()),
    "When a worker last logged in with it; null for never",
  ),
};

const SIGNING = {
  type: described(
    literal("signing"),
    "What it is: what calls are signed with",
  ),
  number: described(integer({ minimum: 1 }), "The latest has the highest"),
  expires_at: described(
    nullable(dateTime()),
    "Until when it signs beside a newer one; null for the latest",
  ),
};

const SHOWN_ONCE = "Shown this once; null when the answer is given again";

const ADDED_VALUES = object({
  type: IS_VALUE,
  secrets: described(
    list(object(VALUE), { maxItems: MAX_SECRETS_PER_WORKER }),
    "Those that were set, without their values",
  ),
});

const ADDED_CREDENTIAL = object({
  ...CREDENTIAL,
  key: described(text(), "The user name: `<tenant>:<id>`"),
  secret: described(
    nullable(text()),
    `The password, and the bearer token. ${SHOWN_ONCE}`,
  ),
});

const ADDED_SIGNING = object({
  ...SIGNING,
  secret: described(nullable(text()), SHOWN_ONCE),
  replaced: described(
    list(object(SIGNING), { maxItems: MAX_SIGNING }),
    "Earlier secrets that sign alongside, and until when",
  ),
});

/** The answer after adding secrets. */
export const ADDED_SECRETS: Shape = named(
  "AddedSecrets",
  shape({
    description: "The stored or created secrets",
    anyOf: [ADDED_VALUES.json, ADDED_CREDENTIAL.json, ADDED_SIGNING.json],
    examples: [{
      type: "value",
      secrets: [{
        type: "value",
        name: "MAILER_KEY",
        version: 1,
        created_at: "2030-01-31T08:30:00.000Z",
        updated_at: "2030-01-31T08:30:00.000Z",
      }],
    }],
  }, [ADDED_VALUES, ADDED_CREDENTIAL, ADDED_SIGNING]),
);

const SECRETS = [object(VALUE), object(CREDENTIAL), object(SIGNING)];

/** The schema of a worker's list of secrets. */
export const SECRET_LIST: Shape = named(
  "SecretList",
  shape({
    ...shownObject({
      data: {
        type: "array",
        description: "All of them: values, credentials, signing secrets",
        items: { anyOf: SECRETS.map(({ json }) => json) },
      },
      next: said("Always null: there is one page", { type: "null" }),
    }),
    description: "A worker's secrets, without their values",
    examples: [{
      data: [{ type: "signing", number: 1, expires_at: null }],
      next: null,
    }],
  }, SECRETS),
);

/** A secret as the API shows it. */
type SecretView = Readonly<Record<string, unknown>>;

/** A stored value as the API shows it, without the value itself. */
export function viewValue(
  secret: Omit<SecretRecord, "sealed">,
): SecretView {
  return {
    type: "value",
    name: secret.name,
    version: secret.version,
    created_at: utcTime(secret.createdAtMs),
    updated_at: utcTime(secret.updatedAtMs),
  };
}

/** A worker's credential as the API shows it, without its secret part. */
export function viewCredential(credential: WorkerCredential): SecretView {
  return {
    type: "credential",
    id: credential.id,
    name: credential.name === "" ? null : credential.name,
    secrets: credential.secrets,
    created_at: utcTime(credential.createdAtMs),
    expires_at: optionalTime(credential.expiresAtMs),
    last_used_at: optionalTime(credential.lastUsedAtMs),
  };
}

/** A signing secret as the API shows it: by its number. */
export function viewSigning(secret: SigningSecret): SecretView {
  return {
    type: "signing",
    number: secret.number,
    expires_at: optionalTime(secret.expiresAtMs),
  };
}
