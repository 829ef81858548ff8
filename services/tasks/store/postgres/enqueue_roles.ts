/**
 * Says which roles of the database may enqueue, and for which tenant. The roles
 * themselves are the operator's: they are neither made nor dropped here.
 *
 * @module
 */

import { sqlState } from "../../../shared/postgres/failure.ts";
import type { Pool } from "../../../shared/postgres/pool.ts";
import { quote } from "../../../shared/quote.ts";
import {
  ENQUEUE_SIGNATURE,
  enqueueGrants,
  enqueueRevokes,
} from "./inbox_tables.ts";

/** A role that may enqueue. */
export interface EnqueueRole {
  /** The role. */
  readonly role: string;
  /** The domain of its tenant. */
  readonly domain: string;
}

/** What remains to be done after a role was mapped, or is no longer. */
export interface RightsLeft {
  /**
   * Statements for the owner of the tables, as this role may not run them; empty
   * when they were run.
   */
  readonly sql: readonly string[];
}

const NO_RIGHTS = "42501";

/** The roles that may enqueue, by name. */
export async function listEnqueueRoles(
  pool: Pool,
): Promise<readonly EnqueueRole[]> {
  return await pool.query<{ role: string; domain: string }>(
    "SELECT there.role, tenant.alias AS domain FROM enqueue_roles AS there " +
      "JOIN tenants AS of ON of.tenant = there.tenant " +
      "JOIN tenants AS registry ON registry.id = '' " +
      "JOIN records AS tenant ON tenant.tenant = registry.tenant AND " +
      "tenant.kind = 'tenant' AND tenant.id = of.id ORDER BY there.role",
  );
}

/**
 * Lets a role enqueue tasks of a tenant, and nothing else.
 *
 * @throws {Error} when there is no such role or tenant, or the role is mapped to
 * another one; nothing was changed
 */
export async function addEnqueueRole(
  pool: Pool,
  { schema, role, domain }: EnqueueRole & {
    /** The schema of the tables. */
    readonly schema: string;
  },
): Promise<RightsLeft> {
  const fail = (reason: string): Error =>
    new Error(`Cannot let ${quote(role)} enqueue: ${reason}`);
  const [found] = await pool.query<
    { is_role: boolean; is_own: boolean; tenant_id: string | null }
  >(
    "SELECT EXISTS(SELECT FROM pg_roles WHERE rolname = $1::text) AS is_role, " +
      "current_user = $1::text AS is_own, (SELECT id FROM records " +
      "WHERE tenant = (SELECT tenant FROM tenants WHERE id = '') AND " +
      "kind = 'tenant' AND alias = $2::text) AS tenant_id",
    [role, domain.toLowerCase()],
  );
  if (found?.is_role !== true) {
    throw fail("the database has no such role; make it with CREATE ROLE");
  }
  if (found.is_own) {
    throw fail("it is the role of the service; use one that may do less");
  }
  if (found.tenant_id === null) {
    throw fail(`there is no tenant with the domain ${quote(domain)}`);
  }
  const [mapped] = await pool.query<{ is_same: boolean }>(
    "INSERT INTO enqueue_roles AS there SELECT $1::text, tenant " +
      "FROM tenants WHERE id = $2::text ON CONFLICT (role) DO UPDATE " +
      "SET role = there.role RETURNING there.tenant = " +
      "(SELECT tenant FROM tenants WHERE id = $2::text) AS is_same",
    [role, found.tenant_id],
  );
  if (mapped?.is_same !== true) {
    throw fail("it does so for another tenant; remove it there first");
  }
  const statements = enqueueGrants(schema, role);
  const isDone = await runIfAllowed(pool, statements) &&
    await mayEnqueue(pool, { schema, role });
  return { sql: isDone ? [] : statements };
}

/**
 * Ends a role's right to enqueue. Requests that it has enqueued before are still
 * taken over.
 *
 * @throws {Error} when the role may not enqueue
 */
export async function removeEnqueueRole(
  pool: Pool,
  { schema, role }: { readonly schema: string; readonly role: string },
): Promise<RightsLeft> {
  const { count } = await pool.query(
    "DELETE FROM enqueue_roles WHERE role = $1::text",
    [role],
  );
  if (count === 0) {
    throw new Error(`Cannot remove ${quote(role)}: it may not enqueue`);
  }
  const [there] = await pool.query(
    "SELECT FROM pg_roles WHERE rolname = $1::text",
    [role],
  );
  if (there === undefined) return { sql: [] };
  const statements = enqueueRevokes(schema, role);
  const isDone = await runIfAllowed(pool, statements) &&
    !await mayEnqueue(pool, { schema, role });
  return { sql: isDone ? [] : statements };
}

/** Runs statements that only the owner of the tables may run. */
async function runIfAllowed(
  pool: Pool,
  statements: readonly string[],
): Promise<boolean> {
  try {
    await pool.batch(statements.map((sql) => ({ sql })));
    return true;
  } catch (error) {
    if (sqlState(error) !== NO_RIGHTS) throw error;
    return false;
  }
}

/** Whether a role has the rights. A GRANT that did nothing only warns. */
async function mayEnqueue(
  pool: Pool,
  { schema, role }: { readonly schema: string; readonly role: string },
): Promise<boolean> {
  const [row] = await pool.query<{ may: boolean }>(
    "SELECT has_function_privilege($1::text, $2::text, 'EXECUTE') AND " +
      "has_schema_privilege($1::text, $3::text, 'USAGE') AS may",
    [role, `"${schema}".${ENQUEUE_SIGNATURE}`, schema],
  );
  return row?.may === true;
}
