/**
 * Changes the wrapped data keys of all tenants, for a command that may run
 * beside the service.
 *
 * @module
 */

import type { Pool } from "../../../shared/postgres/pool.ts";
import type { Runner } from "../../../shared/postgres/session.ts";
import type { WrappedKey } from "../../secrets/tenant_key.ts";

/** How many keys one transaction changes; their rows are locked meanwhile. */
const PAGE = 100;

interface KeyRow {
  readonly tenant: number;
  readonly id: string;
  readonly text: string;
}

/**
 * Calls `decide` with each wrapped key in a schema and stores the keys that it
 * returns: a key with an existing id replaces that one, another one is added,
 * and `decide` may be called with it later. Instances may use the schema: each
 * key is decided on and written in one transaction, and they take a key that
 * was wrapped again like any other record that another instance has changed.
 *
 * @throws {Error} when the database fails; keys that were written stay written
 */
export async function changeDataKeys(
  pool: Pool,
  decide: (stored: WrappedKey) => readonly WrappedKey[],
): Promise<void> {
  let after: Pick<KeyRow, "tenant" | "id"> | undefined = { tenant: -1, id: "" };
  while (after !== undefined) {
    const from: Pick<KeyRow, "tenant" | "id"> = after;
    after = await pool.transaction(async (open) => {
      const rows = await open.query<KeyRow>(
        "SELECT tenant, id, text FROM records WHERE kind = 'data_key' AND " +
          "(tenant, id) > ($1::integer, $2::text) ORDER BY tenant, id " +
          "LIMIT $3::bigint FOR UPDATE",
        [from.tenant, from.id, PAGE],
      );
      for (const { tenant, text } of rows) {
        // Only the repository of data keys writes records of this kind.
        const stored = JSON.parse(text) as WrappedKey;
        for (const next of decide(stored)) await put(open, tenant, next);
      }
      return rows.length < PAGE ? undefined : rows.at(-1);
    });
  }
}

async function put(
  open: Runner,
  tenant: number,
  next: WrappedKey,
): Promise<void> {
  const { id, version } = next;
  await open.query(
    "INSERT INTO records AS there(tenant, kind, id, version, text) VALUES(" +
      "$1::integer, 'data_key', $2::text, $3::integer, $4::text) " +
      "ON CONFLICT (tenant, kind, id) DO UPDATE " +
      "SET version = excluded.version, text = excluded.text",
    [tenant, id, version, JSON.stringify(next)],
  );
}
