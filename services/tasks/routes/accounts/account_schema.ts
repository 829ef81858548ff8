/**
 * Schemas of making and operating tenants.
 *
 * @module
 */

import { PLAN_ID } from "../service/plan_schema.ts";
import { TENANT_EXAMPLE, TENANT_FIELDS } from "./tenant_schema.ts";
import { nullable } from "../../../shared/schema/composite.ts";
import {
  described,
  named,
  type Schema,
  type Shape,
} from "../../../shared/schema/schema.ts";
import { choice, text } from "../../../shared/schema/values.ts";
import {
  type ChangesOf,
  changesOf,
  object,
  type ObjectOf,
  optional,
} from "../../../shared/schema/object.ts";

/** What somebody says who wants a tenant. */
export interface SignupWish {
  /** The domain as it is wished for. */
  readonly domain: string;
}

/** A wish for a tenant. */
export const SIGNUP: Schema<SignupWish> = named(
  "Signup",
  described(
    object({
      domain: described(
        text({ minLength: 1, maxLength: 253 }),
        "The label of the host name: letters a to z, digits and hyphens",
      ),
    }),
    { examples: [{ domain: "acme" }] },
  ),
);

/** A tenant just made. */
export const MADE_TENANT: Shape = named(
  "MadeTenant",
  described(
    object({
      ...TENANT_FIELDS,
      owner_key: described(
        nullable(text({ maxLength: 80 })),
        "A key that may do everything, shown this once; null where a person " +
          "became the owner, and in an answer that is given again for an " +
          "Idempotency-Key",
      ),
    }),
    {
      examples: [{
        ...TENANT_EXAMPLE,
        owner_key: "dk_7Hq2mX0bYc9LpT4w_" +
          "0123456789012345678901234567890123456789012abcdef",
      }],
    },
  ),
);

/** The members of a tenant as the operator sees them. */
export const OPERATED_FIELDS = {
  ...TENANT_FIELDS,
  status: optional(described(
    choice(["active", "suspended", "closing"]),
    "`suspended` is answered nothing; `closing` is what DELETE leads to and " +
      "cannot be set",
  )),
  plan: optional(described(PLAN_ID, "The id of its plan")),
};

/** What is to be changed of a tenant: null resets. */
export type OperatedChanges = ObjectOf<ChangesOf<typeof OPERATED_FIELDS>>;

/** What the operator changes of a tenant. */
export const OPERATED_CHANGES: Schema<OperatedChanges> = named(
  "OperatedTenantChanges",
  described(object(changesOf(OPERATED_FIELDS)), {
    description: "What is given is changed, what is not given stays, and " +
      "null resets to the default",
    examples: [{ status: "suspended" }],
  }),
);
