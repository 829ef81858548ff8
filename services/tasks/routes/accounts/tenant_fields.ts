/**
 * The fields of tenants, as the API reads and shows them, and those of a
 * signup.
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
  type Shape,
} from "../../../shared/schema/schema.ts";
import { choice, text } from "../../../shared/schema/values.ts";
import type { Tenant } from "../../domain/records.ts";
import { utcTime } from "../../domain/instant.ts";
import { timeZone } from "../../domain/value_schemas.ts";
import { PLAN_ID } from "../service/plan_fields.ts";
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
 * Most characters of the domain of a tenant, which is a label (RFC 1123, 2.1 and
 * RFC 1035, 2.3.4).
 */
export const MAX_DOMAIN_CHARS = 63;

/** The fields of a tenant that its owner reads and changes. */
export const TENANT_TABLE = {
  id: {
    field: readOnly(shownId("ten")),
    key: "id",
    example: "ten_06f1cdq1s5n0q2v4x7z9b3d5f8",
  },
  domain: {
    field: readOnly(
      text({ maxLength: MAX_DOMAIN_CHARS }),
      "The label of its host name; its id once it is deleted and the domain " +
        "is another tenant's",
    ),
    key: "domain",
    example: "acme",
  },
  url: {
    field: readOnly(
      nullable(text({ maxLength: 400, format: "uri" })),
      "Where it is; null once it is deleted",
    ),
    show: ({ status, domain }: Tenant, place: TenantPlace) =>
      status === "closing" ? null : tenantUrl(domain, place),
    example: "https://acme.tasks.example.com",
  },
  status: {
    field: readOnly(
      choice(["active", "suspended", "closing"]),
      "`suspended` is answered nothing; `closing` was deleted and is being " +
        "removed",
    ),
    key: "status",
    example: "active",
  },
  plan: {
    field: readOnly(
      text({ maxLength: MAX_DOMAIN_CHARS }),
      "The id of its plan, which the operator decides",
    ),
    key: "plan",
    example: "free",
  },
  timezone: {
    field: withDefault(
      timeZone(),
      "UTC",
      "The IANA time zone of tasks that have none",
    ),
    key: "timezone",
    example: "Europe/Stockholm",
  },
  created_at: {
    field: readOnly(shownTime("When it was created")),
    show: (tenant: Tenant) => utcTime(tenant.createdAtMs),
    example: "2027-01-15T08:00:00.000Z",
  },
  updated_at: {
    field: readOnly(shownTime("The last change")),
    show: (tenant: Tenant) => utcTime(tenant.updatedAtMs),
    example: "2027-01-15T08:00:00.000Z",
  },
} as const satisfies RecordTable<Tenant, TenantPlace>;

/** The schemas of the fields. */
export const TENANT_FIELDS: FieldsOf<typeof TENANT_TABLE> = toFields(
  TENANT_TABLE,
);

/** An example of a tenant, for the document. */
export const TENANT_EXAMPLE: ExampleOf<typeof TENANT_TABLE> = tableExample(
  TENANT_TABLE,
);

/** A tenant as the API shows it. */
export const viewTenant: (tenant: Tenant, place: TenantPlace) => RecordView =
  createViewer(TENANT_TABLE);

/** The schema of a tenant. */
export const TENANT: Schema<ObjectOf<typeof TENANT_FIELDS>> = named(
  "Tenant",
  object(TENANT_FIELDS),
  {
    description: "An account with a host name of its own",
    examples: [TENANT_EXAMPLE],
  },
);

/** The body of a signup. */
export const SIGNUP: Schema<{ readonly domain: string }> = named(
  "Signup",
  object({
    domain: described(
      text({ minLength: 1, maxLength: 253 }),
      "The label of the host name: letters a to z, digits and hyphens",
    ),
  }),
  {
    description: "The name of a new tenant",
    examples: [{ domain: "acme" }],
  },
);

/** A tenant just created, with the key of its owner. */
export const MADE_TENANT: Shape = named(
  "MadeTenant",
  object({
    ...TENANT_FIELDS,
    owner_key: described(
      nullable(text({ maxLength: 80 })),
      "A key that may do everything, shown this once. Null where a " +
        "person became the owner, and in an answer that is given " +
        "again for an Idempotency-Key",
    ),
  }),
  {
    description: "A new tenant, with its first key",
    examples: [{
      ...TENANT_EXAMPLE,
      owner_key: "dk_7Hq2mX0bYc9LpT4w_" +
        "0123456789012345678901234567890123456789012abcdef",
    }],
  },
);

/** The fields of a tenant that the operator reads and changes. */
export const OPERATED_TABLE = {
  ...TENANT_TABLE,
  status: {
    ...TENANT_TABLE.status,
    field: optional(
      choice(["active", "suspended", "closing"]),
      "`suspended` is answered nothing; `closing` is what DELETE leads to and " +
        "cannot be set",
    ),
    key: "status",
  },
  plan: {
    ...TENANT_TABLE.plan,
    field: optional(PLAN_ID, "The id of its plan"),
    key: "plan",
  },
} as const satisfies RecordTable<Tenant, TenantPlace>;

/** The schemas of the operator's fields. */
export const OPERATED_FIELDS: FieldsOf<typeof OPERATED_TABLE> = toFields(
  OPERATED_TABLE,
);

/** The changes that the operator sends; null resets a field. */
export type OperatedChanges = ObjectOf<ChangesOf<typeof OPERATED_FIELDS>>;

/** The body of a change by the operator. */
export const OPERATED_CHANGES: Schema<OperatedChanges> = changesSchema(
  "OperatedTenantChanges",
  OPERATED_FIELDS,
  { status: "suspended" },
);

/** Where tenants are, as clients see it. */
interface TenantPlace {
  /**
   * The URL that the request was sent to; all links have its scheme and port.
   */
  readonly baseUrl: string;
  /** The host whose subdomains are the tenants, without a port. */
  readonly serviceHost: string;
}

/** The URL of a tenant. */
export function tenantUrl(
  domain: string,
  { baseUrl, serviceHost }: TenantPlace,
): string {
  const scheme = baseUrl.startsWith("https:") ? "https" : "http";
  return `${scheme}://${domain}.${shownHost({ baseUrl, serviceHost })}`;
}

/**
 * The service's host, with the port that the client asked for: behind a proxy,
 * the client's port is another one than the service's.
 */
export function shownHost({ baseUrl, serviceHost }: TenantPlace): string {
  const port = URL.parse(baseUrl)?.port ?? "";
  return port === "" ? serviceHost : `${serviceHost}:${port}`;
}
