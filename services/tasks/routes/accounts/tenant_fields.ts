/**
 * Tenants as the API reads and shows them, with their first owner.
 *
 * @module
 */

import { nullable } from "../../../shared/schema/composite.ts";
import {
  type ChangesOf,
  changesOf,
  object,
  type ObjectOf,
  optional,
  readOnly,
  withDefault,
} from "../../../shared/schema/object.ts";
import {
  described,
  type JsonObject,
  named,
  type Schema,
  type Shape,
} from "../../../shared/schema/schema.ts";
import { choice, text } from "../../../shared/schema/values.ts";
import type { Tenant } from "../../domain/records.ts";
import { utcTime } from "../../domain/utc_time.ts";
import { timeZone } from "../../domain/value_schemas.ts";
import { PLAN_ID } from "../service/plan_fields.ts";
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

/** Where tenants are, as clients see it. */
export interface TenantPlace {
  /** The address the request came to; scheme and port are those of all links. */
  readonly baseUrl: string;
  /** The host whose subdomains are the tenants, without a port. */
  readonly serviceHost: string;
}

/** Returns a tenant as the API shows it. */
export function viewTenant(tenant: Tenant, place: TenantPlace): JsonObject {
  return {
    id: tenant.id,
    domain: tenant.domain,
    url: tenant.status === "closing" ? null : tenantUrl(tenant.domain, place),
    status: tenant.status,
    plan: tenant.plan,
    timezone: tenant.timezone,
    created_at: utcTime(tenant.createdAtMs),
    updated_at: utcTime(tenant.updatedAtMs),
  };
}

/** The address of a tenant. */
export function tenantUrl(
  domain: string,
  { baseUrl, serviceHost }: TenantPlace,
): string {
  const scheme = baseUrl.startsWith("https:") ? "https" : "http";
  return `${scheme}://${domain}.${shownHost({ baseUrl, serviceHost })}`;
}

/**
 * The service's host with the port that the client asked for: behind a proxy
 * that is another one than that which the service listens on.
 */
export function shownHost({ baseUrl, serviceHost }: TenantPlace): string {
  const port = URL.parse(baseUrl)?.port ?? "";
  return port === "" ? serviceHost : `${serviceHost}:${port}`;
}
