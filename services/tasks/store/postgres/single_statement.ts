/**
 * Builds the statements of writes that are applied one by one: records, entries
 * of the audit log, listeners, events, and the demand that a task does not exist.
 *
 * @module
 */

import type { Statement } from "../../../shared/postgres/transaction.ts";
import type { InternedNames } from "./interned_names.ts";
import type { SingleWrite } from "./write_group.ts";

type RecordWrite = Extract<SingleWrite, { readonly kind: "record" }>;

/**
 * Makes or prolongs a listener. The log of a restored copy, whose transactions
 * have not been here yet, is given up.
 */
const LISTEN =
  "INSERT INTO listeners AS there SELECT $1::integer, $2::bigint, " +
  "replace(gen_random_uuid()::text, '-', ''), " +
  "pg_current_xact_id()::text::bigint, 0, 0 ON CONFLICT (tenant) DO UPDATE SET " +
  "until_ms = greatest(there.until_ms, excluded.until_ms), " +
  "log = CASE WHEN there.xact > excluded.xact THEN excluded.log " +
  "ELSE there.log END, xact = least(there.xact, excluded.xact)";

/** Builds the statement of a write; it fails where the write is refused. */
export function singleStatement(
  write: SingleWrite,
  names: InternedNames,
): Statement {
  const tenant = names.tenantNumber(write.tenantId);
  switch (write.kind) {
    case "record":
      return recordStatement(write, tenant);
    case "audit": {
      const { atMs, action, text } = write.entry;
      return {
        // The tenant's row orders the numbers, and is locked until the commit.
        sql: "WITH next AS (UPDATE tenants SET audits = " +
          "greatest(audits, coalesce($5::bigint, audits + 1)) " +
          "WHERE tenant = $1::integer RETURNING audits) " +
          "INSERT INTO audit SELECT $1::integer, " +
          "coalesce($5::bigint, audits), $2::bigint, $3::text, $4::text " +
          "FROM next ON CONFLICT DO NOTHING",
        parameters: [tenant, atMs, action, text, write.number ?? null],
      };
    }
    case "listen":
      return write.untilMs === 0
        ? {
          sql: "DELETE FROM listeners WHERE tenant = $1::integer",
          parameters: [tenant],
        }
        : { sql: LISTEN, parameters: [tenant, write.untilMs] };
    case "event":
      return {
        sql: "INSERT INTO events(tenant, source, type, at_ms, text) " +
          "SELECT tenant, 2, $2::text, $3::bigint, $4::text FROM listeners " +
          "WHERE tenant = $1::integer",
        parameters: [tenant, write.type, write.atMs, write.text],
      };
    case "remove":
      return {
        sql: "SELECT demand(NOT EXISTS(SELECT 1 FROM task_state " +
          "WHERE id = $1::text))",
        parameters: [write.id],
      };
  }
}

function recordStatement(
  { recordKind, id, expectedVersion, next }: RecordWrite,
  tenant: number,
): Statement {
  if (next === undefined) {
    return expectedVersion === 0
      ? {
        sql: "SELECT demand(NOT EXISTS(SELECT 1 FROM records WHERE " +
          "tenant = $1::integer AND kind = $2::text AND id = $3::text))",
        parameters: [tenant, recordKind, id],
      }
      : demandOne(
        "DELETE FROM records WHERE tenant = $1::integer AND " +
          "kind = $2::text AND id = $3::text AND version = $4::integer",
        [tenant, recordKind, id, expectedVersion],
      );
  }
  const content = [
    tenant,
    recordKind,
    id,
    next.version,
    next.alias ?? null,
    next.parentId ?? null,
    next.text,
  ];
  return expectedVersion === 0
    ? {
      sql: "INSERT INTO records(tenant, kind, id, version, alias, parent, " +
        "text) VALUES($1::integer, $2::text, $3::text, $4::integer, " +
        "$5::text, $6::text, $7::text)",
      parameters: content,
    }
    : demandOne(
      "UPDATE records SET version = $4::integer, alias = $5::text, " +
        "parent = $6::text, text = $7::text WHERE tenant = $1::integer AND " +
        "kind = $2::text AND id = $3::text AND version = $8::integer",
      [...content, expectedVersion],
    );
}

function demandOne(
  sql: string,
  parameters: NonNullable<Statement["parameters"]>,
): Statement {
  return {
    sql: `WITH done AS (${sql} RETURNING 1) ` +
      "SELECT demand((SELECT count(*) FROM done) = 1)",
    parameters,
  };
}
