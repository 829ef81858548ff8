/**
 * Schemas of users.
 *
 * @module
 */

import { ROLES } from "../../access/scope.ts";
import { shownId, shownTime } from "../shown_kinds.ts";
import { nullable } from "../../../shared/schema/composite.ts";
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
  type ChangesOf,
  changesOf,
  object,
  type ObjectOf,
  optional,
  readOnly,
  withDefault,
} from "../../../shared/schema/object.ts";

/**
 * What HTML takes for an address, but for the length of the parts. ASCII alone:
 * letters of other scripts become ASCII ones in lower case, so two people could
 * have addresses that are the same here.
 */
const EMAIL =
  /^[A-Za-z0-9.!#$%&'*+\/=?^_`{|}~\-]{1,64}@[A-Za-z0-9\-]{1,63}(?:\.[A-Za-z0-9\-]{1,63})*$/;

/** An address of a person. */
export function email(): Schema<string> {
  return text({
    minLength: 3,
    maxLength: 254,
    pattern: EMAIL,
    mustBe: "an address such as ada@example.com, in ASCII",
    format: "email",
  });
}

/** A good user. */
export const USER_EXAMPLE = {
  id: "usr_06f1cdq1s5n0q2v4x7z9b3d5f8",
  email: "ada@example.com",
  name: "Ada",
  role: "admin",
  status: "active",
  payloads: true,
  idp_subject: "auth0|5f7c8ec7c33c6c004bbafe82",
  created_at: "2027-01-15T08:00:00.000Z",
  updated_at: "2027-01-15T08:00:00.000Z",
  last_seen_at: "2027-01-20T09:41:00.000Z",
} as const;

/** The members of a user. */
export const USER_FIELDS = {
  id: readOnly(shownId("usr")),
  email: described(
    email(),
    "The address; unique in the tenant whatever the case of its letters",
  ),
  name: withDefault(
    described(
      text({
        maxLength: 200,
        pattern: ONE_LINE,
        mustBe: "one line of text",
      }),
      "The person's name",
    ),
    "",
  ),
  role: withDefault(
    described(
      choice(ROLES),
      "What the person may do: each role may all that those before it may",
    ),
    "viewer",
  ),
  status: withDefault(
    described(
      choice(["invited", "active", "disabled"]),
      "`invited` becomes `active` when the person next logs in; `disabled` " +
        "is let in no more",
    ),
    "invited",
  ),
  payloads: optional(described(
    boolean(),
    "Whether the person sees the data and results of tasks; as you do " +
      "unless given",
  )),
  idp_subject: readOnly(described(
    nullable(text({ maxLength: 255 })),
    "Who the person is at the identity provider, once that is known",
  )),
  created_at: readOnly(shownTime("When the person was added")),
  updated_at: readOnly(shownTime("The last change")),
  last_seen_at: readOnly(
    nullable(shownTime("When the person last acted, to the minute")),
  ),
};

/** A user as it is added. */
export type NewUser = ObjectOf<typeof USER_FIELDS>;

/** What is to be changed of a user: null resets. */
export type UserChanges = ObjectOf<ChangesOf<typeof USER_FIELDS>>;

/** A user. */
export const USER: Schema<NewUser> = named(
  "User",
  described(object(USER_FIELDS), {
    description: "A person who acts for the tenant",
    examples: [USER_EXAMPLE],
  }),
);

/** Changes of a user. */
export const USER_CHANGES: Schema<UserChanges> = named(
  "UserChanges",
  described(object(changesOf(USER_FIELDS)), {
    description: "What is given is changed, what is not given stays, and " +
      "null resets to the default",
    examples: [{ role: "member" }],
  }),
);
