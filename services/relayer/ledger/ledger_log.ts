/**
 * The embedded ledger's log: every change, in the order it happened, each entry with
 * a hash over itself and the one before, so that none can be changed or taken out
 * without changing all that follow.
 *
 * @module
 */

import type { SQLInputValue } from "node:sqlite";
import { BcsWriter } from "../../../sdk/vault/bcs.ts";
import { sha256 } from "../../shared/ledger/digest.ts";
import {
  type DatabaseRecord,
  prepareAll,
  type Statements,
} from "../store/sqlite/row_columns.ts";
import type { LedgerFile } from "./ledger_file.ts";

/** An object that an entry made or changed. */
export interface ObjectChange {
  /** Its id. */
  readonly objectId: string;
  /** Its type. */
  readonly type: string;
  /** Whose it is. */
  readonly owner:
    | { readonly kind: "shared" }
    | { readonly kind: "address" | "object"; readonly id: string };
  /** Its version now. */
  readonly version: string;
  /** Its digest now, in base58. */
  readonly digest: string;
  /** Its version before; undefined when it was made. */
  readonly previousVersion: string | undefined;
}

/** What an entry makes known. */
export interface LoggedEvent {
  /** Its name in the contract. */
  readonly kind: string;
  /** Its members, as the ledger's JSON has them. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** Its bytes in BCS, as Base64. */
  readonly bcs: string;
}

/** What became of an entry. */
export interface EntryOutcome {
  /** Undefined when it did what it says. */
  readonly abort:
    | {
      readonly code: number;
      /** Which call it was, from 0. */
      readonly at: number;
      readonly functionName: string;
    }
    | undefined;
  /** Objects that it made or changed. */
  readonly changes: readonly ObjectChange[];
  /** What it makes known. */
  readonly events: readonly LoggedEvent[];
}

/** An entry as it is to be written. */
interface NewEntry {
  /** A transaction its sender signed, or a command of the operator. */
  readonly kind: "transaction" | "command";
  /** 32 bytes: the transaction's digest, or one over the command. */
  readonly digest: Uint8Array;
  /** Who signed; undefined for commands. */
  readonly sender: string | undefined;
  /** `SenderSignedData`, or the command as JSON. */
  readonly payload: Uint8Array;
  /** What became of it. */
  readonly outcome: EntryOutcome;
  /** When, in milliseconds since the epoch. */
  readonly timeMs: number;
}

/** An entry of the log. */
export interface Entry extends NewEntry {
  /** Its place, from 1. */
  readonly sequence: number;
  /** Over the hash before and everything above, 32 bytes. */
  readonly hash: Uint8Array;
}

/** The last entry's place and hash. */
interface LogHead {
  /** How many entries there are. */
  readonly sequence: number;
  /** The last hash, 32 bytes. */
  readonly hash: Uint8Array;
  /** When the last one was written; 0 when there is none. */
  readonly timeMs: number;
}

/** Which entries are asked for. */
export type EntryFilter =
  | { readonly kind: "all" }
  | { readonly kind: "sender"; readonly address: string }
  | { readonly kind: "object"; readonly objectId: string };

/** A part of a list. */
interface PageOptions {
  /** The place after which it begins, or before which where it goes back. */
  readonly after: number | undefined;
  /** Most that are given. */
  readonly limit: number;
  /** Whether the newest come first. */
  readonly isDescending: boolean;
}

/** Where an event is. */
export interface EventPlace {
  /** Its entry. */
  readonly sequence: number;
  /** Its place in the entry, from 0. */
  readonly position: number;
}

/** What a log begins with: no entry has it. */
export const FIRST_HASH: Uint8Array = new Uint8Array(32);

const PLACE = `sequence > :from AND sequence < :to`;
const EVENT_PLACE = `(sequence, position) > (:fromSequence, :fromPosition)
  AND (sequence, position) < (:toSequence, :toPosition)`;

const STATEMENTS = {
  head: `SELECT sequence, hash, time_ms FROM entries
    ORDER BY sequence DESC LIMIT 1`,
  insert: "INSERT INTO entries VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
  insertChange: "INSERT INTO changes VALUES(?, ?)",
  insertEvent: "INSERT INTO events VALUES(?, ?, ?)",
  byDigest: "SELECT * FROM entries WHERE digest = ?",
  bySequence: "SELECT * FROM entries WHERE sequence = ?",
  since: `SELECT count(*) AS entries FROM entries
    WHERE sender IS NOT NULL AND time_ms > ?`,
};

/** Listings of transactions. */
const LISTS = bothWays({
  all: `SELECT * FROM entries WHERE sender IS NOT NULL AND ${PLACE}
    ORDER BY sequence`,
  sender: `SELECT * FROM entries WHERE sender = :key AND ${PLACE}
    ORDER BY sequence`,
  object: `SELECT * FROM entries WHERE sequence IN (
      SELECT sequence FROM changes WHERE object_id = :key AND ${PLACE})
    AND sender IS NOT NULL ORDER BY sequence`,
});

/** Listings of events. */
const EVENT_LISTS = bothWays({
  events: `SELECT sequence, position FROM events WHERE ${EVENT_PLACE}
    ORDER BY sequence`,
  eventsOf: `SELECT sequence, position FROM events
    WHERE kind = :key AND ${EVENT_PLACE} ORDER BY sequence`,
}, ", position");

/** Each listing, in its order and the other way round. */
function bothWays(
  texts: Readonly<Record<string, string>>,
  second = "",
): Readonly<Record<string, string>> {
  const down = second === "" ? "" : `${second} DESC`;
  return Object.fromEntries(
    Object.entries(texts).flatMap(([name, text]) => [
      [`${name} up`, `${text}${second} LIMIT :limit`],
      [`${name} down`, `${text} DESC${down} LIMIT :limit`],
    ]),
  );
}

/** Beyond every place. */
const LAST = Number.MAX_SAFE_INTEGER;

/** Writes and reads the log in a file. */
export class LedgerLog {
  readonly #file: LedgerFile;
  readonly #statements: Statements<typeof STATEMENTS>;
  readonly #lists: Statements<typeof LISTS>;

  /** The log in an open file. */
  constructor(file: LedgerFile) {
    this.#file = file;
    this.#statements = prepareAll(file.db, STATEMENTS);
    this.#lists = prepareAll(file.db, { ...LISTS, ...EVENT_LISTS });
  }

  /** The last entry's place and hash. */
  head(): LogHead {
    const row = this.#file.errors.run(() => this.#statements.head.get());
    return row === undefined ? { sequence: 0, hash: FIRST_HASH, timeMs: 0 } : {
      sequence: Number(row["sequence"]),
      hash: bytesOf(row["hash"]),
      timeMs: Number(row["time_ms"]),
    };
  }

  /**
   * The time for a new entry: it never goes back, even when the clock does.
   */
  nextTimeMs(): number {
    return Math.max(this.head().timeMs, this.#file.clock.nowMs());
  }

  /** Appends an entry; runs within a transaction of the file. */
  append(entry: NewEntry): Entry {
    const head = this.head();
    const sequence = head.sequence + 1;
    const hash = hashOf(entry, { sequence, previous: head.hash });
    const { insert, insertChange, insertEvent } = this.#statements;
    const { kind, digest, sender, payload, outcome, timeMs } = entry;
    insert.run(
      ...[sequence, kind, digest, sender ?? null, payload],
      ...[outcomeText(outcome), timeMs, hash],
    );
    const ids = new Set(outcome.changes.map(({ objectId }) => objectId));
    for (const objectId of ids) insertChange.run(objectId, sequence);
    for (const [position, { kind: name }] of outcome.events.entries()) {
      insertEvent.run(sequence, position, name);
    }
    return { ...entry, sequence, hash };
  }

  /** The entry of a digest. */
  byDigest(digest: Uint8Array): Entry | undefined {
    const { byDigest } = this.#statements;
    const row = this.#file.errors.run(() => byDigest.get(digest));
    return row && entryOf(row);
  }

  /** The entry at a place. */
  at(sequence: number): Entry | undefined {
    const { bySequence } = this.#statements;
    const row = this.#file.errors.run(() => bySequence.get(sequence));
    return row && entryOf(row);
  }

  /** How many transactions were written after a time. */
  transactionsSince(timeMs: number): number {
    const { since } = this.#statements;
    const row = this.#file.errors.run(() => since.get(timeMs));
    return Number(row?.["entries"] ?? 0);
  }

  /** Transactions, in their order or the newest first. */
  transactions(
    filter: EntryFilter,
    { after, limit, isDescending }: PageOptions,
  ): readonly Entry[] {
    const list = this.#lists[`${filter.kind} ${isDescending ? "down" : "up"}`];
    const values: Record<string, SQLInputValue> = {
      from: isDescending ? 0 : after ?? 0,
      to: isDescending ? after ?? LAST : LAST,
      limit,
    };
    if (filter.kind === "sender") values["key"] = filter.address;
    if (filter.kind === "object") values["key"] = filter.objectId;
    const rows = this.#file.errors.run(() => list?.all(values) ?? []);
    return rows.map(entryOf);
  }

  /** Where events are, of one kind or of all. */
  events(
    kind: string | undefined,
    { after, limit, isDescending }: Omit<PageOptions, "after"> & {
      readonly after: EventPlace | undefined;
    },
  ): readonly EventPlace[] {
    const name = kind === undefined ? "events" : "eventsOf";
    const list = this.#lists[`${name} ${isDescending ? "down" : "up"}`];
    const values: Record<string, SQLInputValue> = {
      fromSequence: isDescending ? -1 : after?.sequence ?? -1,
      fromPosition: isDescending ? -1 : after?.position ?? -1,
      toSequence: isDescending ? after?.sequence ?? LAST : LAST,
      toPosition: isDescending ? after?.position ?? LAST : LAST,
      limit,
    };
    if (kind !== undefined) values["key"] = kind;
    const rows = this.#file.errors.run(() => list?.all(values) ?? []);
    return rows.map((row) => ({
      sequence: Number(row["sequence"]),
      position: Number(row["position"]),
    }));
  }
}

/** The hash of an entry: SHA-256 over the hash before and the entry in BCS. */
export function hashOf(
  { kind, digest, sender, payload, outcome, timeMs }: NewEntry,
  { sequence, previous }: {
    readonly sequence: number;
    readonly previous: Uint8Array;
  },
): Uint8Array {
  const bytes = new BcsWriter().bytes(previous)
    .u64(BigInt(sequence))
    .string(kind)
    .bytes(digest)
    .option(sender, (writer, address) => writer.address(address))
    .byteVector(payload)
    .string(outcomeText(outcome))
    .u64(BigInt(timeMs))
    .toBytes();
  return sha256(bytes);
}

function outcomeText(outcome: EntryOutcome): string {
  return JSON.stringify(outcome);
}

function entryOf(row: DatabaseRecord): Entry {
  const { sender } = row;
  return {
    sequence: Number(row["sequence"]),
    kind: row["kind"] === "command" ? "command" : "transaction",
    digest: bytesOf(row["digest"]),
    sender: typeof sender === "string" ? sender : undefined,
    payload: bytesOf(row["payload"]),
    outcome: JSON.parse(String(row["outcome"])),
    timeMs: Number(row["time_ms"]),
    hash: bytesOf(row["hash"]),
  };
}

function bytesOf(value: unknown): Uint8Array {
  return value instanceof Uint8Array ? value : new Uint8Array(0);
}
