/**
 * Creates and removes tenants, and checks their domains, which are labels of a
 * host name.
 *
 * @module
 */

import { quote } from "../../../shared/quote.ts";
import { toActor } from "../../access/caller.ts";
import { mintToken } from "../../access/credential_token.ts";
import { isLabel } from "../../access/host.ts";
import type { TokenSubject } from "../../access/jwt.ts";
import type { Actor, ApiKey, Tenant, User } from "../../domain/records.ts";
import { auditWrite, serviceWrite } from "../../engine/record_writes.ts";
import { identityRecordId } from "../../engine/credential_records.ts";
import type { EngineParts } from "../../engine/parts.ts";
import { REGISTRY } from "../../engine/repositories.ts";
import { removalWrites } from "../../engine/tenant_removal.ts";
import {
  type Answer,
  empty,
  json,
  type JsonAnswer,
} from "../../http/answer.ts";
import { type CallContext, getCaller } from "../../http/call.ts";
import { formatEtag } from "../../http/etag.ts";
import {
  invalidRequest,
  problem,
  type ProblemAnswer,
} from "../../http/problem_answer.ts";
import type { Write } from "../../store/store.ts";
import type { ApiParts } from "../api_parts.ts";
import { commitPlan } from "../record_plan.ts";
import type { Planned } from "../record_resource.ts";
import { MAX_DOMAIN_CHARS, tenantUrl, viewTenant } from "./tenant_fields.ts";

/** The outcome of reading a tenant's domain. */
type TenantDomainOutcome =
  | {
    readonly kind: "ok";
    /** The domain as it is stored: in lower case. */
    readonly domain: string;
  }
  | {
    /** The domain is not a label, or no tenant may have it. */
    readonly kind: "invalid" | "reserved";
    /** What is wrong, as a message for the client. */
    readonly reason: string;
  };

/**
 * Names that are the service's own, that mail and name servers have by
 * convention, or that people would take for the operator's.
 */
const RESERVED: ReadonlySet<string> = new Set([
  // Names of the service's own hosts and paths, now or some day.
  ...["account", "accounts", "admin", "api", "app", "assets", "auth"],
  ...["billing", "blog", "cdn", "console", "dashboard", "docs", "health"],
  ...["healthz", "help", "internal", "invalid", "livez", "login", "metrics"],
  ...["news", "oauth", "openapi", "plans", "prices", "private", "problems"],
  ...["public", "ready", "readyz", "signup", "sso", "static", "status"],
  ...["support", "system", "test", "v1", "www"],
  // Names that networks, mail and name servers look up.
  ...["autoconfig", "autodiscover", "ftp", "hostmaster", "imap", "isatap"],
  ...["local", "localdomain", "localhost", "mail", "mx", "ns", "ns1", "ns2"],
  ...["ns3", "ns4", "pop", "postmaster", "smtp", "ssl", "webmail", "wpad"],
  // Names that people would take for the operator's.
  ...["abuse", "administrator", "operator", "root", "security", "webmaster"],
]);

/**
 * Reads the domain that a tenant asks for. Upper case becomes lower case;
 * labels of internationalised names (`xn--`, RFC 5890) are refused, since they
 * can look like another tenant's.
 */
export function parseTenantDomain(input: string): TenantDomainOutcome {
  // Only ASCII is lowered: some other letters become ASCII in lower case.
  const domain = input.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  if (!isLabel(domain)) {
    return {
      kind: "invalid",
      reason: `Cannot use domain ${quote(input)}: ${describeFault(domain)}`,
    };
  }
  if (domain.startsWith("xn--")) {
    return {
      kind: "invalid",
      reason: `Cannot use domain ${quote(domain)}: names in punycode ` +
        '("xn--") are not accepted',
    };
  }
  if (RESERVED.has(domain)) {
    return {
      kind: "reserved",
      reason: `Cannot use domain ${quote(domain)}: it is reserved`,
    };
  }
  return { kind: "ok", domain };
}

function describeFault(domain: string): string {
  if (domain === "") return "it is empty";
  if (domain.length > MAX_DOMAIN_CHARS) {
    return `it has ${domain.length} characters, ${MAX_DOMAIN_CHARS} are the most`;
  }
  if (domain.includes(".")) return "it is one label, without dots";
  return /^-|-$/.test(domain)
    ? "it begins or ends with a hyphen"
    : "letters a to z, digits and hyphens are all it may have";
}

/** The owner of a new tenant. */
export type NewOwner =
  /** The bearer of a key, which is made with the tenant and shown once. */
  | { readonly kind: "key" }
  /** The person whom a token names, with a verified email address. */
  | {
    readonly kind: "user";
    readonly subject: TokenSubject;
    readonly email: string;
  };

/** A tenant to be created. */
interface NewTenant {
  /** The domain as it was requested. */
  readonly domain: string;
  /**
   * What the operator sets.
   * @default the tenant is active, has the plan of new tenants, and is in UTC
   */
  readonly given?: {
    readonly [Name in "status" | "plan" | "timezone"]: Tenant[Name] | undefined;
  };
  /** The owner. */
  readonly owner: NewOwner;
  /**
   * Who creates the tenant, for the audit log.
   * @default the owner
   */
  readonly actor?: Actor;
}

/** The parts of a call that creating a tenant needs. */
type TenantCall = Pick<CallContext, "baseUrl" | "nowMs" | "extraWrites">;

/** Creates a tenant and answers with it. */
export async function createTenant(
  call: TenantCall,
  wanted: NewTenant,
  { engine, plans, accounts }: ApiParts,
): Promise<Answer> {
  const parsed = parseTenantDomain(wanted.domain);
  if (parsed.kind !== "ok") {
    return invalidRequest([{
      pointer: "/domain",
      code: parsed.kind === "reserved" ? "reserved_domain" : "bad_domain",
      detail: parsed.reason,
    }]);
  }
  const { store, repositories, newId } = engine.parts;
  const tenant: Tenant = {
    id: newId("ten"),
    version: 1,
    domain: parsed.domain,
    status: wanted.given?.status ?? "active",
    plan: wanted.given?.plan ?? plans.defaultPlan.id,
    timezone: wanted.given?.timezone ?? "UTC",
    createdAtMs: call.nowMs,
    updatedAtMs: call.nowMs,
  };
  const owner = createOwner(tenant, wanted.owner, engine.parts);
  const place = { baseUrl: call.baseUrl, serviceHost: accounts.serviceHost };
  const answerWith = (ownerKey: string | null): JsonAnswer =>
    json({ ...viewTenant(tenant, place), owner_key: ownerKey }, {
      status: 201,
      headers: {
        location: `${tenantUrl(tenant.domain, place)}/api/v1/account`,
        etag: formatEtag(tenant.version),
      },
    });
  return await commitPlan(store, async () => {
    const freed = await freeDomain(engine.parts, tenant.domain, call.nowMs);
    if ("code" in freed) return freed;
    return {
      kind: "plan",
      answer: answerWith(owner.text),
      writes: [
        ...freed.writes,
        repositories.tenants.insert(tenant),
        ...owner.writes,
        auditWrite(tenant.id, {
          atMs: call.nowMs,
          action: "tenant.created",
          actor: wanted.actor ?? owner.actor,
          target: tenant.id,
          detail: { domain: tenant.domain, plan: tenant.plan },
        }),
        // The answer that is kept for a repeated request never has a secret,
        // above all not here, where every client may send the request.
        ...call.extraWrites(answerWith(null)),
      ],
      onConflict: ({ reason }) =>
        reason === "alias" ? domainTaken(tenant.domain) : undefined,
    };
  });
}

/**
 * Checks whether a domain is free. A deleted tenant keeps its domain for as
 * long as it is reserved. The first signup afterwards gets the domain, and the
 * deleted tenant has its own id, which is not a label, as its domain from then
 * on.
 */
async function freeDomain(
  { repositories }: Pick<EngineParts, "repositories">,
  domain: string,
  nowMs: number,
): Promise<{ readonly writes: readonly Write[] } | ProblemAnswer> {
  const [holder, reserved] = await Promise.all([
    repositories.tenants.byAlias(REGISTRY, domain),
    repositories.reservedDomains.get(REGISTRY, domain),
  ]);
  const isHeld = holder !== undefined && holder.status !== "closing";
  const isReserved = reserved !== undefined && reserved.untilMs > nowMs;
  if (isHeld || isReserved) return domainTaken(domain);
  return {
    writes: [
      ...(holder === undefined ? [] : [repositories.tenants.update(holder, {
        ...holder,
        version: holder.version + 1,
        domain: holder.id,
      })]),
      ...(reserved === undefined
        ? []
        : [repositories.reservedDomains.remove(reserved)]),
    ],
  };
}

function domainTaken(domain: string): ProblemAnswer {
  return problem("domain_taken", {
    detail: `Cannot create tenant: the domain "${domain}" is taken`,
  });
}

interface MadeOwner {
  readonly writes: readonly Write[];
  readonly actor: Actor;
  /** The key, to be shown once; null when the owner is a person. */
  readonly text: string | null;
}

function createOwner(
  tenant: Tenant,
  owner: NewOwner,
  parts: Pick<EngineParts, "repositories" | "newId">,
): MadeOwner {
  const { repositories } = parts;
  if (owner.kind === "key") {
    const { id, text, digest } = mintToken("dk");
    const key: ApiKey = {
      tenantId: tenant.id,
      id,
      version: 1,
      name: "owner",
      digest,
      role: "owner",
      payloads: true,
      createdAtMs: tenant.createdAtMs,
    };
    return {
      writes: [repositories.keys.insert(key)],
      actor: { type: "key", id },
      text,
    };
  }
  const { issuer, subject, name = "" } = owner.subject;
  const user: User = {
    tenantId: tenant.id,
    id: parts.newId("usr"),
    version: 1,
    email: owner.email,
    name,
    role: "owner",
    status: "active",
    payloads: true,
    identity: { issuer, subject },
    createdAtMs: tenant.createdAtMs,
    updatedAtMs: tenant.createdAtMs,
  };
  const id = identityRecordId(issuer, subject);
  return {
    writes: [
      repositories.users.insert(user),
      serviceWrite({ tenantId: tenant.id, id }, user.id),
    ],
    actor: { type: "user", id: user.id },
    text: null,
  };
}

/**
 * Plans the removal of a tenant; an empty answer when the tenant is being
 * removed already.
 *
 * @throws {Error} when the store fails
 */
export async function planTenantRemoval(
  call: CallContext,
  tenant: Tenant,
  { repositories, onRemoved }: Pick<EngineParts, "repositories"> & {
    /** Called after the commit, so that the tenant's data is erased. */
    readonly onRemoved: (() => void) | undefined;
  },
): Promise<Planned> {
  if (tenant.status === "closing") return empty();
  return {
    kind: "plan",
    answer: empty(),
    writes: await removalWrites({ repositories }, tenant, {
      nowMs: call.nowMs,
      actor: toActor(getCaller(call)),
    }),
    afterwards: () => onRemoved?.(),
  };
}
