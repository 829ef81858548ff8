/**
 * Creating and removing tenants.
 *
 * @module
 */

import { actorOf } from "../../access/caller.ts";
import { mintToken } from "../../access/credential_token.ts";
import type { TokenSubject } from "../../access/jwt.ts";
import { parseTenantDomain } from "../../access/tenant_domain.ts";
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
import { type CallContext, callerOf } from "../../http/call.ts";
import { commitPlan } from "../../http/commit_plan.ts";
import { etagOf } from "../../http/etag.ts";
import {
  invalidRequest,
  problem,
  type ProblemAnswer,
} from "../../http/problem_answer.ts";
import type { Write } from "../../store/store.ts";
import type { ApiParts } from "../api_parts.ts";
import type { Planned } from "../record_resource.ts";
import { tenantUrl, viewTenant } from "./tenant_fields.ts";

/** Who is to own a tenant. */
export type NewOwner =
  /** The bearer of the key that is made and shown once. */
  | { readonly kind: "key" }
  /** The person of a token, whose address was verified. */
  | {
    readonly kind: "user";
    readonly subject: TokenSubject;
    readonly email: string;
  };

/** A tenant to be made. */
interface NewTenant {
  /** The domain as it was wished for. */
  readonly domain: string;
  /**
   * What else the operator says of it.
   * @default it is active, of the plan of new tenants, in UTC
   */
  readonly given?: {
    readonly [Name in "status" | "plan" | "timezone"]: Tenant[Name] | undefined;
  };
  /** Who owns it. */
  readonly owner: NewOwner;
  /**
   * Who makes it.
   * @default the owner
   */
  readonly actor?: Actor;
}

/** What of a call counts for making a tenant. */
type TenantCall = Pick<CallContext, "baseUrl" | "nowMs" | "extraWrites">;

/** Makes a tenant. */
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
  const owner = ownerOf(tenant, wanted.owner, engine.parts);
  const place = { baseUrl: call.baseUrl, serviceHost: accounts.serviceHost };
  const answerWith = (ownerKey: string | null): JsonAnswer =>
    json({ ...viewTenant(tenant, place), owner_key: ownerKey }, {
      status: 201,
      headers: {
        location: `${tenantUrl(tenant.domain, place)}/api/v1/account`,
        etag: etagOf(tenant.version),
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
        // What is kept for a repeated request never holds a secret, above all
        // not where every client may send it.
        ...call.extraWrites(answerWith(null)),
      ],
      onConflict: ({ reason }) =>
        reason === "alias" ? domainTaken(tenant.domain) : undefined,
    };
  });
}

/**
 * Looks whether a domain can be had. A deleted tenant keeps its domain for as
 * long as it is reserved; the first signup afterwards gets it, and the
 * deleted tenant has its own id for a domain from then on, which is no label.
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

function ownerOf(
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
 * Plans the removal; the plan is an answer when the tenant is being removed
 * already.
 *
 * @throws {Error} when the store fails
 */
export async function planTenantRemoval(
  call: CallContext,
  tenant: Tenant,
  { repositories, onRemoved }: Pick<EngineParts, "repositories"> & {
    /** Called after the commit, so that the rest of it is erased. */
    readonly onRemoved: (() => void) | undefined;
  },
): Promise<Planned> {
  if (tenant.status === "closing") return empty();
  return {
    kind: "plan",
    answer: empty(),
    writes: await removalWrites({ repositories }, tenant, {
      nowMs: call.nowMs,
      actor: actorOf(callerOf(call)),
    }),
    afterwards: () => onRemoved?.(),
  };
}
