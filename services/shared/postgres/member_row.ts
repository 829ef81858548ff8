/**
 * Keeps the instances and their duties in one row, which is compared and set:
 * no lock is held while an instance thinks, so one that is stopped in between
 * holds no other one up.
 *
 * No commit of it waits for the disk or a standby: an instance has to live
 * while no standby is there. A beat that a failover loses is followed by another
 * one; a member that is lost joins again under another id; a duty that is lost
 * may be done twice, as it may be at any time.
 *
 * @module
 */

import {
  applyBeat,
  type Beat,
  type BeatAnswer,
  type MemberState,
  NO_MEMBERS,
  removeMember,
} from "../members.ts";
import {
  IDENTITY_COLUMNS,
  LEAST_IDENTITY_COLUMNS,
  readIdentity,
  type ServerIdentity,
} from "./server_watch.ts";
import { UNAWAITED } from "./pool.ts";
import type { Runner } from "./session.ts";
import { StoreFailedError } from "../store_failed.ts";

/** How often a beat is tried again because another one came first. */
const MAX_TRIES = 100;

/** What a beat begins with. */
interface Read {
  /** The version of the row; 0 when there is none. */
  readonly version: number;
  readonly state: MemberState;
  readonly nowMs: number;
  readonly server: string;
}

/** The row of the instances. */
export class MemberRow {
  readonly #runner: Runner;
  #columns = IDENTITY_COLUMNS;

  /** Takes the connections to read and write over. */
  constructor(runner: Runner) {
    this.#runner = runner;
  }

  /** Notes that an instance lives. */
  beat(beat: Beat): Promise<BeatAnswer> {
    return this.#change(({ state, nowMs, server }) =>
      applyBeat(state, beat, { nowMs, server })
    );
  }

  /** Removes an instance that stops. */
  async leave(id: string): Promise<void> {
    await this.#change(({ state }) => ({
      state: removeMember(state, id),
      answer: undefined,
    }));
  }

  async #change<Answer>(
    apply: (
      read: Read,
    ) => { readonly state: MemberState; readonly answer: Answer },
  ): Promise<Answer> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const read = await this.#read();
      const { state, answer } = apply(read);
      // A beat that expired changes nothing.
      if (state === read.state) return answer;
      const text = JSON.stringify(state);
      const { length } = read.version === 0
        ? await this.#runner.query(
          `INSERT INTO members(version, state) SELECT 1, $1::text ` +
            `WHERE ${UNAWAITED} ON CONFLICT DO NOTHING RETURNING 1`,
          [text],
        )
        : await this.#runner.query(
          "UPDATE members SET version = version + 1, state = $1::text " +
            `WHERE version = $2::bigint AND ${UNAWAITED} RETURNING 1`,
          [text, read.version],
        );
      if (length === 1) return answer;
    }
    throw new StoreFailedError(
      `Cannot beat: ${MAX_TRIES} times another instance came first`,
    );
  }

  /** Reads the row, the time and the server whose time it is, all at once. */
  async #read(): Promise<Read> {
    let row;
    try {
      [row] = await this.#runner.query(
        `SELECT ${this.#columns}, now_ms() AS now_ms, there.version, ` +
          "there.state FROM (SELECT true AS one) AS always " +
          "LEFT JOIN members AS there ON there.one = always.one",
      );
    } catch (error) {
      const isRefused = !(error instanceof StoreFailedError) &&
        this.#columns === IDENTITY_COLUMNS;
      if (!isRefused) throw error;
      this.#columns = LEAST_IDENTITY_COLUMNS;
      return await this.#read();
    }
    const { version, state } = row ?? {};
    return {
      version: Number(version ?? 0),
      state: typeof state === "string" ? JSON.parse(state) : NO_MEMBERS,
      nowMs: Number(row?.["now_ms"]),
      server: nameServer(readIdentity(row)),
    };
  }
}

function nameServer({ system, timeline, started }: ServerIdentity): string {
  return `${system ?? ""} ${timeline ?? ""} ${started}`;
}
