/**
 * Counts over all relayers of a database how many transactions of a day came
 * from each network address. The counts are read and written in the turn in
 * which the transactions enter the log, so together they are exact.
 *
 * @module
 */

import type { Runner } from "../../shared/postgres/session.ts";
import type { Statement } from "../../shared/postgres/transaction.ts";
import { sha256 } from "../../shared/ledger/digest.ts";
import type { AddressCounts } from "./transaction_limits.ts";

const DAY_MS = 86_400_000;
/**
 * Bytes of an address's hash that name it: so few that hundreds of addresses
 * have the same name, and no address can be read from the database.
 */
const NAME_BYTES = 3;

const READ = "SELECT name, taken FROM ledger_shares " +
  "WHERE day = $1::bigint AND name = ANY($2::bytea[])";
const ADD = "INSERT INTO ledger_shares AS there(day, name, taken) " +
  "SELECT $1::bigint, name, taken FROM unnest($2::bytea[], $3::integer[]) " +
  "AS of(name, taken) ON CONFLICT (day, name) " +
  "DO UPDATE SET taken = there.taken + excluded.taken";
const REMOVE = "DELETE FROM ledger_shares WHERE day < $1::bigint";

/** Counts of addresses, from when they were read until they are written. */
export class AddressShares implements AddressCounts {
  #day = 0;
  #there: ReadonlyMap<string, number> = new Map();
  #added = new Map<string, number>();

  /**
   * Reads the counts of some addresses on the day of an instant, and forgets
   * what was counted and not written.
   */
  async read(
    runner: Runner,
    { addresses, nowMs }: {
      readonly addresses: readonly string[];
      readonly nowMs: number;
    },
  ): Promise<void> {
    this.#day = Math.floor(nowMs / DAY_MS);
    this.#there = new Map();
    this.#added = new Map();
    if (addresses.length === 0) return;
    const names = new Set(addresses.map((from) => this.#name(from)));
    const rows = await runner.query<{ name: Uint8Array; taken: number }>(READ, [
      this.#day,
      [...names].map((name) => Uint8Array.fromHex(name)),
    ]);
    this.#there = new Map(rows.map(({ name, taken }) => [name.toHex(), taken]));
  }

  /** The transactions of an address, with those that were counted since. */
  of(address: string): number {
    const name = this.#name(address);
    return (this.#there.get(name) ?? 0) + (this.#added.get(name) ?? 0);
  }

  /** Counts a transaction each time: what it counted before was forgotten. */
  counter(address: string): () => void {
    return () => {
      const name = this.#name(address);
      this.#added.set(name, (this.#added.get(name) ?? 0) + 1);
    };
  }

  /** The statements that write what was counted, and remove earlier days. */
  statements(): readonly Statement[] {
    if (this.#added.size === 0) return [];
    const names = [...this.#added.keys()].map((name) =>
      Uint8Array.fromHex(name)
    );
    return [
      { sql: ADD, parameters: [this.#day, names, [...this.#added.values()]] },
      { sql: REMOVE, parameters: [this.#day] },
    ];
  }

  #name(address: string): string {
    const text = new TextEncoder().encode(`${this.#day} ${address}`);
    return sha256(text).subarray(0, NAME_BYTES).toHex();
  }
}
