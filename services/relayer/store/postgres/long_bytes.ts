/**
 * Reads long values of bytes as they are. In text each byte has two characters,
 * which the server writes and this thread reads again.
 *
 * @module
 */

import type { Pool } from "../../../shared/postgres/pool.ts";
import type { Row } from "../../../shared/postgres/session.ts";
import type { Statement } from "../../../shared/postgres/transaction.ts";

/**
 * Returns the value of the only column of the first row, a `bytea`; undefined
 * when there is no row. Short values come quicker with `query`, which takes no
 * transaction.
 *
 * @throws {StoreFailedError} when the outcome is unknown
 * @throws {Error} when the server refuses the statement
 */
export async function readBytes(
  pool: Pick<Pool, "batch">,
  { sql, ...rest }: Statement,
): Promise<Uint8Array | undefined> {
  // The npm client asks for text always; a binary cursor takes no notice where
  // its rows are fetched without parameters (PostgreSQL, "DECLARE").
  const [, rows] = await pool.batch([
    { sql: `DECLARE long_bytes BINARY CURSOR FOR ${sql}`, ...rest },
    { sql: "FETCH 1 FROM long_bytes", isRaw: true },
  ]);
  const [values] = (rows ?? []) as readonly Row[];
  const bytes: unknown = values?.[0];
  if (!(bytes instanceof Uint8Array)) return undefined;
  // The client's own kind of array has other methods by the same names.
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
}
