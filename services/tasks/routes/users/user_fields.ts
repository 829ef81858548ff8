/**
 * The fields of users as the API reads and shows them, and what depends on
 * users besides their record: owners are counted, and keys and identities end
 * with their user.
 *
 * @module
 */

import { nullable } from "../../../shared/schema/composite.ts";
import {
  type ChangesOf,
  object,
  type ObjectOf,
  optional,
  readOnly,
  withDefault,
} from "../../../shared/schema/object.ts";
import {
  described,
  named,
  type Schema,
} from "../../../shared/schema/schema.ts";
import {
  boolean,
  choice,
  ONE_LINE,
  text,
} from "../../../shared/schema/values.ts";
import {
  missingScope,
  ROLES,
  scopesOfKey,
  scopesOfRole,
} from "../../access/scope.ts";
import {
  MAX_EMAIL_LENGTH,
  MAX_NAME_LENGTH,
  MAX_SUBJECT_LENGTH,
} from "../../access/jwt.ts";
import { isActiveOwner } from "../../access/user_rules.ts";
import type { ApiKey, User } from "../../domain/records.ts";
import { optionalTime, utcTime } from "../../domain/instant.ts";
import { identityRecordId } from "../../engine/credential_records.ts";
import type { EngineParts } from "../../engine/parts.ts";
import { serviceWrite } from "../../engine/record_writes.ts";
import type { Write } from "../../store/store.ts";
import {
  changesSchema,
  createViewer,
  type ExampleOf,
  type FieldsOf,
  type RecordTable,
  type RecordView,
  shownId,
  shownTime,
  tableExample,
  toFields,
} from "../record_table.ts";

/**
 * What HTML accepts as an email address, with bounds on the length of the
 * parts. Only ASCII: some letters of other scripts become ASCII in lower case,
 * so that two people could have the same address here.
 */
const EMAIL =
  /^[A-Za-z0-9.!#$%&'*+\/=?^_`{|}~\-]{1,64}@[A-Za-z0-9\-]{1,63}(?:\.[A-Za-z0-9\-]{1,63})*$/;

/** The schema of an email address. */
export function email(): Schema<string> {
  return text({
    minLength: 3,
    maxLength: MAX_EMAIL_LENGTH,
    pattern: EMAIL,
    mustBe: "an address such as ada@example.com, in ASCII",
    format: "email",
  });
}

/** The table of the fields of a user. */
export const USER_TABLE = {
  id: {
    field: readOnly(shownId("usr")),
    key: "id",
    example: "usr_06f1cdq1s5n0q2v4x7z9b3d5f8",
  },
  email: {
    field: described(
      email(),
      "The address; unique in the tenant whatever the case of its letters",
    ),
    key: "email",
    example: "ada@example.com",
  },
  name: {
    field: withDefault(
      text({
        maxLength: MAX_NAME_LENGTH,
        pattern: ONE_LINE,
        mustBe: "one line of text",
      }),
      "",
      "The person's name",
    ),
    key: "name",
    example: "Ada",
  },
  role: {
    field: withDefault(
      choice(ROLES),
      "viewer",
      "What the person may do: each role may all that those before it may",
    ),
    key: "role",
    example: "admin",
  },
  status: {
    field: withDefault(
      choice(["invited", "active", "disabled"]),
      "invited",
      "`invited` becomes `active` when the person next logs in; `disabled` " +
        "is let in no more",
    ),
    key: "status",
    example: "active",
  },
  payloads: {
    field: optional(
      boolean(),
      "Whether the person sees the data and results of tasks; as you do " +
        "unless given",
    ),
    key: "payloads",
    example: true,
  },
  idp_subject: {
    field: readOnly(
      nullable(text({ maxLength: MAX_SUBJECT_LENGTH })),
      "Who the person is at the identity provider, once that is known",
    ),
    show: (user: User) => user.identity?.subject ?? null,
    example: "auth0|5f7c8ec7c33c6c004bbafe82",
  },
  created_at: {
    field: readOnly(shownTime("When the person was added")),
    show: (user: User) => utcTime(user.createdAtMs),
    example: "2027-01-15T08:00:00.000Z",
  },
  updated_at: {
    field: readOnly(shownTime("The last change")),
    show: (user: User) => utcTime(user.updatedAtMs),
    example: "2027-01-15T08:00:00.000Z",
  },
  last_seen_at: {
    field: readOnly(
      nullable(shownTime("When the person last acted, to the minute")),
    ),
    show: (user: User) => optionalTime(user.lastSeenAtMs),
    example: "2027-01-20T09:41:00.000Z",
  },
} as const satisfies RecordTable<User>;

/** The schemas of the fields. */
export const USER_FIELDS: FieldsOf<typeof USER_TABLE> = toFields(USER_TABLE);

/** An example of a user, for the document. */
export const USER_EXAMPLE: ExampleOf<typeof USER_TABLE> = tableExample(
  USER_TABLE,
);

/** A user as the API shows it. */
export const viewUser: (user: User) => RecordView = createViewer(USER_TABLE);

/** The body that adds a user. */
export type NewUser = ObjectOf<typeof USER_FIELDS>;

/** The body that changes a user; null resets a field. */
export type UserChanges = ObjectOf<ChangesOf<typeof USER_FIELDS>>;

/** The schema of a user. */
export const USER: Schema<NewUser> = named("User", object(USER_FIELDS), {
  description: "A person who acts for the tenant",
  examples: [USER_EXAMPLE],
});

/** The schema of a body that changes a user. */
export const USER_CHANGES: Schema<UserChanges> = changesSchema(
  "UserChanges",
  USER_FIELDS,
  { role: "member" },
);

/** Counting stops here: more owners make no difference. */
const ENOUGH_OWNERS = 2;
const PAGE = 1_000;

/**
 * How many active owners a tenant has; counting stops at two. With an issuer,
 * only owners who have logged in with a token of that issuer count. The number
 * still holds at the commit if the guard of users was read before and is
 * written with it.
 */
export async function countActiveOwners(
  { repositories }: Pick<EngineParts, "repositories">,
  tenantId: string,
  issuer?: string,
): Promise<number> {
  let count = 0;
  for await (const users of repositories.users.pages(tenantId, PAGE)) {
    count += users.filter((user) =>
      isActiveOwner(user) &&
      (issuer === undefined || user.identity?.issuer === issuer)
    ).length;
    if (count >= ENOUGH_OWNERS) break;
  }
  return Math.min(count, ENOUGH_OWNERS);
}

/**
 * The keys that a user made and that end with a change of the user: all keys
 * when the user is removed or disabled; when the user's role or sight of
 * payloads is reduced, the keys with rights that the user lost.
 */
export async function keysThatEnd(
  { repositories }: Pick<EngineParts, "repositories">,
  user: User,
  next: User | undefined,
): Promise<readonly ApiKey[]> {
  const keys = await repositories.keys.all(user.tenantId);
  const own = keys.filter(({ madeBy }) => madeBy === user.id);
  if (next === undefined || next.status === "disabled") return own;
  const left = scopesOfRole(next.role);
  return own.filter((key) =>
    missingScope(left, scopesOfKey(key)) !== undefined ||
    (key.payloads && !next.payloads)
  );
}

/**
 * The writes that remove the stored link between a user and their identity at
 * the identity provider.
 */
export async function identityRemovals(
  { store }: Pick<EngineParts, "store">,
  { tenantId, id, identity }: User,
): Promise<readonly Write[]> {
  if (identity === undefined) return [];
  const recordId = identityRecordId(identity.issuer, identity.subject);
  const record = await store.record("service", tenantId, recordId);
  if (record?.text !== id) return [];
  return [serviceWrite(record, undefined, record.version)];
}
