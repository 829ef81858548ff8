/**
 * Claims nonces in groups. Claims that come while a statement is under way go
 * with the next one, which says of each whether it is new. So no request waits
 * for a transaction of its own.
 *
 * The commit waits for no disk and no standby. A request's writes are committed
 * after its nonce, and the database's log is in that order. So a crash or a
 * failover that leaves a write leaves its nonce as well. A request that only
 * reads leaves nothing, and may be answered again after a crash of the database.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import { UNAWAITED } from "../../../shared/postgres/pool.ts";
import type { Runner } from "../../../shared/postgres/session.ts";
import type { CommitOutcome } from "../changes.ts";
import { StoreBusyError } from "../store.ts";
import type { ChangeOf } from "./commit_steps.ts";

/** Options of {@linkcode NonceClaims}. */
interface NonceClaimsOptions {
  /** The connections to use. */
  readonly runner: Runner;
  /** The time by which nonces expire, in milliseconds since the epoch. */
  readonly nowMs: () => number;
  /** Most claims that wait; more are refused. */
  readonly maxWaiting: number;
}

/** A claim that waits for its answer. */
interface WaitingClaim {
  readonly change: ChangeOf<"nonce">;
  readonly settled: PromiseWithResolvers<CommitOutcome>;
}

/** Most nonces of a statement. */
const MAX_TOGETHER = 1_000;
/** Most statements under way: the others gather meanwhile. */
const MAX_UNDER_WAY = 2;
/** A claim takes a fraction of a millisecond, so the queue is soon empty. */
const BUSY_RETRY_MS = 1_000;

const TAKEN: CommitOutcome = { kind: "conflict", change: 0 };

const CLAIM = "INSERT INTO nonces AS there(nonce, expires_ms) " +
  "SELECT of.nonce, of.expires_ms " +
  "FROM unnest($1::text[], $2::bigint[]) AS of(nonce, expires_ms) " +
  // In the same order everywhere, so that replays do not wait in a circle.
  `WHERE ${UNAWAITED} ORDER BY nonce ` +
  "ON CONFLICT (nonce) DO UPDATE SET expires_ms = excluded.expires_ms " +
  "WHERE there.expires_ms <= $3::bigint RETURNING nonce";

/** Claims nonces in statements of their own. */
export class NonceClaims {
  readonly #options: NonceClaimsOptions;
  #waiting: WaitingClaim[] = [];
  #isPlanned = false;
  readonly #underWay = new Set<Promise<void>>();

  /** Nothing waits. */
  constructor(options: NonceClaimsOptions) {
    this.#options = options;
  }

  /**
   * Claims a nonce; conflicts when it is there and has not expired.
   *
   * @throws {StoreBusyError} when too many claims wait
   */
  claim(change: ChangeOf<"nonce">): Promise<CommitOutcome> {
    if (this.#waiting.length >= this.#options.maxWaiting) {
      return Promise.reject(new StoreBusyError(BUSY_RETRY_MS));
    }
    const settled = Promise.withResolvers<CommitOutcome>();
    this.#waiting.push({ change, settled });
    this.#plan();
    return settled.promise;
  }

  /** Resolves when no claim waits or is under way. */
  async idle(): Promise<void> {
    while (this.#isPlanned || this.#underWay.size > 0) {
      await Promise.all(this.#underWay);
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }

  #plan(): void {
    const isFull = this.#underWay.size >= MAX_UNDER_WAY;
    if (this.#isPlanned || isFull || this.#waiting.length === 0) return;
    this.#isPlanned = true;
    // Those of this turn of the event loop go together.
    setImmediate(() => {
      this.#isPlanned = false;
      const claims = this.#takeWaiting();
      const work = this.#claimAll(claims).finally(() => {
        this.#underWay.delete(work);
        this.#plan();
      });
      this.#underWay.add(work);
      this.#plan();
    });
  }

  /** Takes claims of different nonces: a statement can add each once. */
  #takeWaiting(): readonly WaitingClaim[] {
    const taken = new Map<string, WaitingClaim>();
    const left: WaitingClaim[] = [];
    for (const claim of this.#waiting) {
      const { nonce } = claim.change;
      const fits = taken.size < MAX_TOGETHER && !taken.has(nonce);
      if (fits) taken.set(nonce, claim);
      else left.push(claim);
    }
    this.#waiting = left;
    return [...taken.values()];
  }

  async #claimAll(claims: readonly WaitingClaim[]): Promise<void> {
    const { runner, nowMs } = this.#options;
    try {
      const rows = await runner.query(CLAIM, [
        claims.map(({ change }) => change.nonce),
        claims.map(({ change }) => change.expiresAtMs),
        nowMs(),
      ]);
      const added = new Set(rows.map((row) => row["nonce"]));
      for (const { change, settled } of claims) {
        settled.resolve(added.has(change.nonce) ? { kind: "ok" } : TAKEN);
      }
    } catch (error) {
      for (const { settled } of claims) settled.reject(error);
    }
  }
}
