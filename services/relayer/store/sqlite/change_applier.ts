/**
 * Applies a commit's changes within a transaction: all or none.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import type { Change, CommitOutcome } from "../changes.ts";
import type { JobRows } from "./job_rows.ts";
import type { ChangeCounter, MemoryFeed } from "./memory_reads.ts";
import type { MemoryWrites } from "./memory_writes.ts";
import { prepareAll, type Statements } from "./row_columns.ts";
import type { SideRows } from "./side_rows.ts";
import type { SnapshotRows } from "./snapshot_rows.ts";

/** Options of {@linkcode ChangeApplier}. */
interface ChangeApplierOptions {
  /** The jobs. */
  readonly jobs: JobRows;
  /** The index's rows. */
  readonly memories: MemoryWrites;
  /** The small tables: clients' keys, nonces, rate windows and bad blobs. */
  readonly sides: SideRows;
  /** Snapshots of the index. */
  readonly snapshots: SnapshotRows;
  /** Tells what an index lacks. */
  readonly feed: Pick<MemoryFeed, "lacksRemoval">;
  /** Numbers changes. */
  readonly counter: Pick<ChangeCounter, "last">;
  /** The time, in milliseconds since the epoch. */
  readonly nowMs: () => number;
}

/**
 * The limit of removals in a commit of several changes: all of them or none.
 */
const ALL_ROWS = Number.MAX_SAFE_INTEGER;

const STATEMENTS = {
  savepoint: "SAVEPOINT changes",
  undo: "ROLLBACK TO changes",
  release: "RELEASE changes",
};

/** Applies commits. */
export class ChangeApplier {
  readonly #options: ChangeApplierOptions;
  readonly #statements: Statements<typeof STATEMENTS>;

  /** Prepares statements; `apply` must be called within a transaction. */
  constructor(db: DatabaseSync, options: ChangeApplierOptions) {
    this.#options = options;
    this.#statements = prepareAll(db, STATEMENTS);
  }

  /** Applies changes in order; at the first conflict it undoes all of them. */
  apply(changes: readonly Change[]): CommitOutcome {
    const nowMs = this.#options.nowMs();
    // A change that conflicts writes nothing, so only a conflict after the
    // first change has anything to undo.
    const needsUndoing = changes.slice(1).some(mayConflict);
    if (needsUndoing) this.#statements.savepoint.run();
    const { jobs } = this.#options;
    // A commit that failed before left nothing.
    jobs.settleCommit(false);
    const conflict = changes.findIndex((change) => !this.#fits(change, nowMs));
    jobs.settleCommit(conflict === -1);
    if (needsUndoing) {
      if (conflict !== -1) this.#statements.undo.run();
      this.#statements.release.run();
    }
    return conflict === -1
      ? { kind: "ok" }
      : { kind: "conflict", change: conflict };
  }

  /** Applies a change, or returns false and has written nothing. */
  #fits(change: Change, nowMs: number): boolean {
    const { jobs, memories, sides, snapshots } = this.#options;
    switch (change.kind) {
      case "new_job":
        return jobs.add(change.job, nowMs);
      case "claim_key":
        return sides.claim(change.claim, nowMs);
      case "job":
        return jobs.change(change, nowMs);
      case "new_memory":
        memories.add(change.memory, nowMs);
        return true;
      case "supersede":
        memories.supersede(change, nowMs);
        return true;
      case "reindex":
        memories.reindex(change);
        return true;
      case "move_blob":
        memories.moveBlob(change, nowMs);
        return true;
      case "remove_memory":
        memories.remove(change.owner, change.id, nowMs);
        return true;
      case "remove_namespace":
        memories.removeNamespace(change, { nowMs, limit: ALL_ROWS });
        return true;
      case "bad_blob":
        sides.addBadBlob(change.owner, change.blobId);
        return true;
      case "nonce":
        return sides.addNonce(change.nonce, change.expiresAtMs);
      case "rate":
        sides.addPoints(change.window);
        return true;
      case "begin_snapshot":
        this.#beginSnapshot(change);
        return true;
      case "snapshot_part":
        snapshots.addPart(change.part);
        return true;
      case "end_snapshot":
        snapshots.end(change.owner, change.name, change.parts);
        return true;
    }
  }

  #beginSnapshot(
    { owner, name, change }: Extract<
      Change,
      { readonly kind: "begin_snapshot" }
    >,
  ): void {
    const { snapshots, feed, counter } = this.#options;
    if (change === undefined) snapshots.begin(owner, name, counter.last);
    else if (!feed.lacksRemoval(owner, change)) {
      snapshots.begin(owner, name, change);
    }
  }
}

function mayConflict({ kind }: Change): boolean {
  return kind === "job" || kind === "claim_key" || kind === "new_job" ||
    kind === "nonce";
}
