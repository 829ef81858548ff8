/**
 * Schemas of tenants.
 *
 * @module
 */

import { nullable } from "../../../shared/schema/composite.ts";
import {
  described,
  named,
  type Schema,
} from "../../../shared/schema/schema.ts";
import { choice, text } from "../../../shared/schema/values.ts";
import { timeZone } from "../../domain/value_schemas.ts";
import {
  object,
  type ObjectOf,
  readOnly,
  withDefault,
} from "../../../shared/schema/object.ts";
import { shownId, shownTime } from "../shown_kinds.ts";

/** A good tenant. */
export const TENANT_EXAMPLE = {
  id: "ten_06f1cdq1s5n0q2v4x7z9b3d5f8",
  domain: "acme",
  url: "https://acme.tasks.example.com",
  status: "active",
  plan: "free",
  timezone: "Europe/Stockholm",
  created_at: "2027-01-15T08:00:00.000Z",
  updated_at: "2027-01-15T08:00:00.000Z",
} as const;

/** The members of a tenant as its owner sees them. */
export const TENANT_FIELDS = {
  id: readOnly(shownId("ten")),
  domain: readOnly(described(
    text({ maxLength: 63 }),
    "The label of its host name; its id once it is deleted and the domain " +
      "is somebody else's",
  )),
  url: readOnly(described(
    nullable(text({ maxLength: 400, format: "uri" })),
    "Where it is; null once it is deleted",
  )),
  status: readOnly(choice(["active", "suspended", "closing"])),
  plan: readOnly(described(
    text({ maxLength: 63 }),
    "The id of its plan, which the operator decides",
  )),
  timezone: withDefault(
    described(timeZone(), "The IANA time zone of tasks that have none"),
    "UTC",
  ),
  created_at: readOnly(shownTime("When it was made")),
  updated_at: readOnly(shownTime("The last change")),
};

/** A tenant. */
export const TENANT: Schema<ObjectOf<typeof TENANT_FIELDS>> = named(
  "Tenant",
  described(object(TENANT_FIELDS), {
    description: "An account with a host name of its own",
    examples: [TENANT_EXAMPLE],
  }),
);
