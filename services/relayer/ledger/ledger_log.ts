/**
 * The embedded ledger's log of all changes, in order. Each entry has a hash
 * over itself and the entry before, so that no entry can be changed or removed
 * without changing all that follow.
 *
 * @module
 */

import type { SQLInputValue } from "node:sqlite";
import { BcsWriter } from "../../../sdk/vault/bcs.ts";
import { sha256 } from "../../shared/ledger/digest.ts";
import {
  columnBytes,
  type DatabaseRecord,
  prepareAll,
  type Statements,
} from "../store/sqlite/row_columns.ts";
import type { LedgerFile } from "./ledger_file.ts";

/** An object that an entry created or changed. */
export interface ObjectChange {
  /** The object's id. */
  readonly objectId: string;
  /** The object's type. */
  readonly type: string;
  /** The object's owner: everybody, an address, or another object. */
  readonly owner:
    | { readonly kind: "shared" }
    | { readonly kind: "address" | "object"; readonly id: string };
  /** The object's version after the entry. */
  readonly version: string;
  /** The object's digest after the entry, in base58. */
  readonly digest: string;
  /**
   * The object's version before the entry; undefined when the entry created it.
   */
  readonly previousVersion: string | undefined;
}

/** An event that an entry emitted. */
export interface LoggedEvent {
  /** The event's name in the contract. */
  readonly kind: string;
  /** The event's members, as the ledger's JSON has them. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** The event's bytes in BCS, as Base64. */
  readonly bcs: string;
}

/** The outcome of an entry. */
export interface EntryOutcome {
  /** Why the contract aborted; undefined when it succeeded. */
  readonly abort:
    | {
      readonly code: number;
      /** The position of the aborting call, from 0. */
      readonly at: number;
      readonly functionName: string;
    }
    | undefined;
  /** Objects that the entry created or changed. */
  readonly changes: readonly ObjectChange[];
  /** Events that the entry emitted. */
  readonly events: readonly LoggedEvent[];
}

/** An entry before it is written. */
export interface NewEntry {
  /** A transaction that its sender signed, or a command of the operator. */
  readonly kind: "transaction" | "command";
  /** The digest of the transaction, or one over the command, 32 bytes. */
  readonly digest: Uint8Array;
  /** The address that signed; undefined for commands. */
  readonly sender: string | undefined;
  /** `SenderSignedData`, or the command as JSON. */
  readonly payload: Uint8Array;
  /** The outcome of the entry. */
  readonly outcome: EntryOutcome;
  /** The time of the entry, in milliseconds since the epoch. */
  readonly timeMs: number;
}

/** An entry of the log. */
export interface Entry extends NewEntry {
  /** The number of the entry, from 1. */
  readonly sequence: number;
  /** The hash over the previous hash and all members above, 32 bytes. */
  readonly hash: Uint8Array;
}

/** Number, hash and time of the last entry; the time of an empty log is 0. */
export type LogHead = Pick<Entry, "sequence" | "hash" | "timeMs">;

/** Selects entries of the log. */
export type EntryFilter =
  | { readonly kind: "all" }
  | { readonly kind: "sender"; readonly address: string }
  | { readonly kind: "object"; readonly objectId: string };

/** Options of a page of entries or events. */
interface PageOptions<Place> {
  /**
   * The place after which the page begins, in the page's order; undefined for
   * the first page.
   */
  readonly after: Place | undefined;
  /** Most items of the page. */
  readonly limit: number;
  /** Whether the newest come first. */
  readonly isDescending: boolean;
}

/** The place of an event in the log. */
export interface EventPlace {
  /** The number of the event's entry. */
  readonly sequence: number;
  /** The event's position within the entry, from 0. */
  readonly position: number;
}

/** The head of an empty log; no entry has its hash. */
export const EMPTY_LOG: LogHead = {
  sequence: 0,
  hash: new Uint8Array(32),
  timeMs: 0,
};

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

/** Queries that list transactions. */
const LISTS = bothWays({
  all: `SELECT * FROM entries WHERE sender IS NOT NULL AND ${PLACE}
    ORDER BY sequence`,
  sender: `SELECT * FROM entries WHERE sender = :key AND ${PLACE}
    ORDER BY sequence`,
  object: `SELECT * FROM entries WHERE sequence IN (
      SELECT sequence FROM changes WHERE object_id = :key AND ${PLACE})
    AND sender IS NOT NULL ORDER BY sequence`,
});

/** Queries that list events. */
const EVENT_LISTS = bothWays({
  events: `SELECT sequence, position FROM events WHERE ${EVENT_PLACE}
    ORDER BY sequence`,
  eventsOf: `SELECT sequence, position FROM events
    WHERE kind = :key AND ${EVENT_PLACE} ORDER BY sequence`,
}, ", position");

/** Makes two variants of each query: ascending and descending. */
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

/** An upper bound: every entry's number and position is below it. */
const LAST = Number.MAX_SAFE_INTEGER;

/** Reads and writes the log in the ledger's file. */
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

  /** Returns the number, hash and time of the last entry. */
  head(): LogHead {
    const row = this.#file.errors.run(() => this.#statements.head.get());
    return row === undefined ? EMPTY_LOG : {
      sequence: Number(row["sequence"]),
      hash: columnBytes(row["hash"]),
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
    const hash = hashEntry(entry, { sequence, previous: head.hash });
    const appended = { ...entry, sequence, hash };
    this.insert(appended);
    return appended;
  }

  /**
   * Inserts an entry that was checked to follow the last one; runs within a
   * transaction of the file.
   */
  insert(entry: Entry): void {
    const { insert, insertChange, insertEvent } = this.#statements;
    const { sequence, outcome } = entry;
    insert.run(...entryColumns(entry));
    const ids = new Set(outcome.changes.map(({ objectId }) => objectId));
    for (const objectId of ids) insertChange.run(objectId, sequence);
    for (const [position, { kind: name }] of outcome.events.entries()) {
      insertEvent.run(sequence, position, name);
    }
  }

  /** The entry of a digest. */
  byDigest(digest: Uint8Array): Entry | undefined {
    const { byDigest } = this.#statements;
    const row = this.#file.errors.run(() => byDigest.get(digest));
    return row && readEntry(row);
  }

  /** Returns the entry of a number. */
  at(sequence: number): Entry | undefined {
    const { bySequence } = this.#statements;
    const row = this.#file.errors.run(() => bySequence.get(sequence));
    return row && readEntry(row);
  }

  /** Counts the transactions after a time. */
  transactionsSince(timeMs: number): number {
    const { since } = this.#statements;
    const row = this.#file.errors.run(() => since.get(timeMs));
    return Number(row?.["entries"] ?? 0);
  }

  /** Transactions, in their order or the newest first. */
  transactions(
    filter: EntryFilter,
    { after, limit, isDescending }: PageOptions<number>,
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
    return rows.map(readEntry);
  }

  /** Lists a page of the places of events, of one kind or of all. */
  events(
    kind: string | undefined,
    { after, limit, isDescending }: PageOptions<EventPlace>,
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
export function hashEntry(
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

/** The text of an outcome, which the hash of its entry covers. */
export function outcomeText(outcome: EntryOutcome): string {
  return JSON.stringify(outcome);
}

/** The columns of an entry in a table of the log, in their order. */
export function entryColumns(
  { sequence, kind, digest, sender, payload, outcome, timeMs, hash }: Entry,
): readonly (number | string | Uint8Array | null)[] {
  return [
    ...[sequence, kind, digest, sender ?? null, payload],
    ...[outcomeText(outcome), timeMs, hash],
  ];
}

/** Reads an entry from its columns, by their names. */
export function readEntry(row: DatabaseRecord): Entry {
  const { sender } = row;
  return {
    sequence: Number(row["sequence"]),
    kind: row["kind"] === "command" ? "command" : "transaction",
    digest: columnBytes(row["digest"]),
    sender: typeof sender === "string" ? sender : undefined,
    payload: columnBytes(row["payload"]),
    outcome: JSON.parse(String(row["outcome"])),
    timeMs: Number(row["time_ms"]),
    hash: columnBytes(row["hash"]),
  };
}
