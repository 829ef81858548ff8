/**
 * Moves the rows of a data folder to another store, beside the service that
 * runs on the folder.
 *
 * The rows are copied as they stand at one moment; meanwhile the keys of what
 * the service writes are noted. The noted rows are copied again and again until
 * they are few. Then the copy is compared with the folder, row by row. At the
 * end the service is kept from writing for some seconds at most: what was
 * written since is copied and compared, and the folder is marked as moved in
 * the same transaction that lets the service go on. So each write that the
 * service has acknowledged is in the other store, and the service acknowledges
 * none later.
 *
 * @module
 */

import { type Clock, steadyMs } from "../../shared/clock.ts";
import { settle, waitAtMost } from "../../shared/settled.ts";
import { StoreFailedError } from "../../shared/store_failed.ts";
import type {
  HeldFolder,
  MovingFolder,
} from "../store/sqlite/moving_folder.ts";
import type { Store } from "../store/store.ts";
import type { StoredRows } from "../store/rows.ts";
import { changedRows, compareChanges } from "./changed_rows.ts";
import { compareRows } from "./compare_rows.ts";
import { demandAlone } from "../../shared/transfer/demand_alone.ts";
import { RowCopier } from "./row_copier.ts";
import { beginTransfer, endTransfer, findTransfer } from "./transfer_mark.ts";
import {
  countRows,
  readRows,
  RowTally,
  type TransferScope,
} from "./transfer_rows.ts";

/** How far a move is. */
export interface MoveProgress {
  /** What is done. */
  readonly step: "copying" | "comparing" | "following" | "freezing";
  /** The tasks so far, or the rows when following. */
  readonly done: number;
  /** All of them, if that is known. */
  readonly of: number | undefined;
}

/** Options of {@linkcode moveRows}. */
interface MoveRowsOptions {
  /** The folder. */
  readonly source: MovingFolder;
  /** The name of the folder, for people. */
  readonly from: string;
  /** The store. */
  readonly target: Store;
  /** The name of the store, for people; it has no password. */
  readonly to: string;
  /** The clock of the machine. */
  readonly clock: Clock;
  /** Called with each row. */
  readonly onProgress: (progress: MoveProgress) => void;
  /**
   * For how many milliseconds the service may be kept from writing.
   *
   * @default {4500}
   */
  readonly maxFreezeMs?: number;
}

/** The outcome of a move. */
export type Moving =
  | {
    readonly kind: "moved";
    /** How many tasks were copied. */
    readonly tasks: number;
    /** For how many milliseconds the service could not write. */
    readonly frozenMs: number;
  }
  /** An earlier move had come to its end, but for the mark of the store. */
  | { readonly kind: "finished" }
  | {
    /** The copy is not the same as the folder; the service goes on with it. */
    readonly kind: "differs";
    /** What differs, a sentence each. */
    readonly differences: readonly string[];
  };

/** The most noted writes that are copied together. */
const FOLLOWED = 5_000;
/** With so few noted writes the service is frozen. */
const FEW = 1_000;
/** How often freezing is tried. */
const MAX_FREEZES = 5;
const MAX_FREEZE_MS = 4_500;

/**
 * Moves the rows of a folder to a store that has none, or only what an earlier
 * move of the folder has left there.
 *
 * @throws {Error} when the store has other rows or is in use, either store
 * fails, or the service writes more than can be copied; the service goes on
 * with its folder then
 */
export async function moveRows(options: MoveRowsOptions): Promise<Moving> {
  const { source, from, target, to } = options;
  const underWay = await findTransfer(target);
  const moved = source.findMoved();
  if (moved !== undefined) {
    if (moved.to !== to || underWay === undefined) {
      throw new Error(`Cannot move ${from}: it has moved to ${moved.to}`);
    }
    await endTransfer(target);
    return { kind: "finished" };
  }
  await demandAlone(target);
  const isResumed = await begin(target, { from, underWay });
  const move = new Move(options);
  source.beginNoting();
  try {
    const tasks = await move.copy(isResumed);
    await move.follow();
    const differences = await move.compare();
    if (differences.length > 0) return { kind: "differs", differences };
    const frozen = await move.finish();
    if (frozen.differences.length > 0) return { kind: "differs", ...frozen };
    await endTransfer(target);
    return { kind: "moved", tasks, frozenMs: frozen.frozenMs };
  } finally {
    if (source.findMoved() === undefined) source.endNoting();
  }
}

/** Marks the store; returns whether rows of the folder are there already. */
async function begin(
  target: Store,
  { from, underWay }: {
    readonly from: string;
    readonly underWay: string | undefined;
  },
): Promise<boolean> {
  if (underWay === from) return true;
  if (underWay !== undefined) {
    throw new Error(
      `Cannot move ${from}: a copy of ${underWay} to that store has not ended`,
    );
  }
  const there = await target.snapshot((rows) => countRows(rows, { nowMs: 0 }));
  if (Object.values(there).some((count) => count > 0)) {
    throw new Error(
      `Cannot move ${from}: that store has rows already; name an empty one, ` +
        "or another schema with DATABASE_SCHEMA",
    );
  }
  await beginTransfer(target, from);
  return false;
}

/** One move. */
class Move {
  readonly #source: MovingFolder;
  readonly #target: Store;
  readonly #options: MoveRowsOptions;

  constructor(options: MoveRowsOptions) {
    this.#options = options;
    this.#source = options.source;
    this.#target = options.target;
  }

  /** Copies all rows; returns how many tasks. */
  async copy(isResumed: boolean): Promise<number> {
    const scope = { nowMs: this.#nowMs() };
    const { tasks, through } = await this.#source.hold(
      async ({ rows, through }) => {
        const { tasks: of } = await countRows(rows, scope);
        const tally = new RowTally();
        const copier = new RowCopier(this.#target);
        for await (const row of readRows(rows, scope)) {
          await copier.put(row);
          tally.note(row);
          this.#tell("copying", tally.tasks, of);
        }
        await copier.end();
        if (isResumed) await this.#removeSurplus(rows, scope);
        return { tasks: tally.tasks, through };
      },
    );
    this.#source.forget(through);
    return tasks;
  }

  /** Copies what was written meanwhile until that is little. */
  async follow(): Promise<void> {
    let done = 0;
    while (true) {
      const { count, through } = await this.#source.hold(
        async (held) => ({
          count: await this.#copyChanges(held),
          through: held.through,
        }),
        { maxWrites: FOLLOWED },
      );
      this.#source.forget(through);
      done += count;
      this.#tell("following", done, undefined);
      if (count < FEW) return;
    }
  }

  /** Compares all rows; returns what differs. */
  async compare(): Promise<readonly string[]> {
    const scope = { nowMs: this.#nowMs() };
    return await this.#source.hold(async (held) => {
      await this.#copyChanges(held);
      const { tasks: of } = await countRows(held.rows, scope);
      const tally = new RowTally();
      const { differences } = await this.#target.snapshot((copied) =>
        compareRows(readRows(held.rows, scope), readRows(copied, scope), {
          onRow: (row) => {
            tally.note(row);
            this.#tell("comparing", tally.tasks, of);
          },
          // The service removes them as they get old; the copy does so later.
          onSurplus: ({ kind }) => kind === "answer" || kind === "audit",
        })
      );
      return differences;
    });
  }

  /** Ends the service's writing. */
  async finish(): Promise<Frozen> {
    const { maxFreezeMs = MAX_FREEZE_MS } = this.#options;
    for (let tries = 0; tries < MAX_FREEZES; tries++) {
      await this.follow();
      const frozen = await this.#freeze(maxFreezeMs);
      if (frozen !== undefined) return frozen;
    }
    throw new Error(
      `Cannot move ${this.#options.from}: what the service writes could not ` +
        `be copied within ${maxFreezeMs} ms; run the command again when the ` +
        "service has less to do",
    );
  }

  /** Freezes the service; undefined when it took too long. */
  async #freeze(maxFreezeMs: number): Promise<Frozen | undefined> {
    const { clock, to } = this.#options;
    let startedMs = 0;
    let work: Promise<readonly string[]> = Promise.resolve([]);
    let outcome: readonly string[] | "late" = "late";
    await this.#source.freeze({ to }, async (held) => {
      startedMs = this.#monotonicMs();
      this.#tell("freezing", held.changes.length, undefined);
      work = this.#copyLast(held);
      outcome = await waitAtMost(work, { clock, timeoutMs: maxFreezeMs });
      return outcome.length === 0;
    });
    if (outcome !== "late") {
      const frozenMs = this.#monotonicMs() - startedMs;
      return { differences: outcome, frozenMs };
    }
    // What it writes too late is copied again, but not at the same time. What
    // it reads too late fails, as the state is no longer held.
    const worked = await settle(() => work);
    const isOfTarget = worked.kind === "failed" &&
      worked.error instanceof StoreFailedError;
    if (isOfTarget) throw worked.error;
    return undefined;
  }

  /** Copies and compares the last changes; everything else was compared. */
  async #copyLast(held: HeldFolder): Promise<readonly string[]> {
    await this.#copyChanges(held);
    return await compareChanges(held, this.#target, this.#nowMs());
  }

  async #copyChanges(held: HeldFolder): Promise<number> {
    const copier = new RowCopier(this.#target);
    try {
      for await (const row of changedRows(held, this.#nowMs())) {
        await copier.put(row);
      }
      await copier.end();
    } finally {
      await copier.idle();
    }
    return held.changes.length;
  }

  /** Removes what the folder no longer has since an earlier move. */
  async #removeSurplus(rows: StoredRows, scope: TransferScope): Promise<void> {
    const copier = new RowCopier(this.#target);
    await this.#target.snapshot((copied) =>
      compareRows(readRows(rows, scope), readRows(copied, scope), {
        onSurplus: async (row) => {
          const { tenantId } = row;
          if (row.kind === "record") {
            const { record } = row;
            await copier.put({ kind: "no_record", tenantId, record });
          } else if (row.kind === "task") {
            const { id } = row.task;
            await copier.put({ kind: "no_task", tenantId, id });
          }
          return true;
        },
      })
    );
    await copier.end();
  }

  #tell(step: MoveProgress["step"], done: number, of: number | undefined) {
    this.#options.onProgress({ step, done, of });
  }

  #nowMs(): number {
    return this.#options.clock.nowMs();
  }

  #monotonicMs(): number {
    return steadyMs(this.#options.clock);
  }
}

/** How the service's writing ended. */
interface Frozen {
  /** For how many milliseconds it could not write. */
  readonly frozenMs: number;
  /** What differs after the last copy; then the service goes on. */
  readonly differences: readonly string[];
}
