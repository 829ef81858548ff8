/**
 * Everything that is asked of the database, over one connection.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import { CandidateReads } from "./candidate_reads.ts";
import { ListReads } from "./list_reads.ts";
import { Names } from "./interned_ids.ts";
import { Reader } from "./reader.ts";
import { HistoryReads, RecordReads } from "./record_reads.ts";
import { StatusReads, TaskReads } from "./task_reads.ts";
import { PayloadCache, TaskDecoder } from "./task_row.ts";

/** Characters of long payloads that are kept in memory. */
const MAX_CACHED_CHARS = 16_000_000;

/** Options of {@linkcode StoreReads}. */
export interface StoreReadsOptions {
  /**
   * Tells how long reading has gone on, in milliseconds since any instant.
   *
   * @default {performance.now}
   */
  readonly monotonicMs?: () => number;
}

/** The questions, by what they are about. */
export class StoreReads {
  /** Numbers of tenants and workers. */
  readonly names: Names;
  /** Long payloads that are in the database. */
  readonly payloads: PayloadCache = new PayloadCache(MAX_CACHED_CHARS);
  /** Tasks by ids, keys and instants. */
  readonly tasks: TaskReads;
  /** Lists. */
  readonly lists: ListReads;
  /** Proposals for claims. */
  readonly candidates: CandidateReads;
  /** Tasks by statuses. */
  readonly statuses: StatusReads;
  /** Histories. */
  readonly histories: HistoryReads;
  /** Records and what stands beside them. */
  readonly records: RecordReads;
  readonly #reader: Reader;

  /** Asks over a connection, which is closed with it. */
  constructor(
    db: DatabaseSync,
    { monotonicMs = () => performance.now() }: StoreReadsOptions = {},
  ) {
    const reader = new Reader(db);
    const names = new Names(reader);
    const decoder = new TaskDecoder(reader, this.payloads);
    const tasks = new TaskReads({ reader, names, decoder });
    const parts = { reader, names, tasks, monotonicMs };
    this.#reader = reader;
    this.names = names;
    this.tasks = tasks;
    this.lists = new ListReads(parts);
    this.candidates = new CandidateReads(parts);
    this.statuses = new StatusReads(parts);
    this.histories = new HistoryReads(parts);
    this.records = new RecordReads(parts);
  }

  /** Closes the connection. */
  close(): void {
    this.#reader.close();
  }
}
