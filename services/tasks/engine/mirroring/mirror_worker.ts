/**
 * Makes up for what the mirror of users did not do when it was asked, or was
 * never asked since the service died: looks for marks once a minute. A mirror
 * that is away gets a few calls a minute, whatever there is to do.
 *
 * @module
 */

import { BoundedMap } from "../../../shared/bounded_map.ts";
import { Periodic } from "../../../shared/periodic.ts";
import { SYSTEM_ACTOR } from "../../domain/records.ts";
import { REGISTRY } from "../repositories.ts";
import type { EngineParts } from "../parts.ts";
import { auditWrite } from "../audit_write.ts";
import { MARK_PREFIX, markId, markOf, type MirrorMark } from "./mirror_mark.ts";
import type { MirrorSettling, Settled } from "./mirror_settling.ts";

/** Marks that are read at a time. */
const PAGE = 100;
/** How soon what failed is tried again. */
const INTERVAL_MS = 60_000;
/** After so many failures the rest waits for the next round. */
const MAX_FAILURES = 5;

/** Options of {@linkcode MirrorWorker}. */
export interface MirrorWorkerOptions {
  /** Does what marks say. */
  readonly settling: Pick<MirrorSettling, "settle">;
  /** Where marks are kept, and what is told of them. */
  readonly parts: Pick<EngineParts, "store" | "clock" | "logger">;
}

/** How long a mark is left alone that the mirror refused. */
const REFUSED_MS = 3_600_000;
/** Most such marks that are remembered; others are tried again with each round. */
const MAX_REFUSED = 10_000;

type Failure = Extract<Settled, { readonly kind: "failed" }>;

/** Makes up for what was not mirrored. */
export class MirrorWorker {
  readonly #options: MirrorWorkerOptions;
  readonly #periodic: Periodic;
  /** Where the next round begins: behind what failed last. */
  #afterId = MARK_PREFIX;
  /** Marks that the mirror refused, and until when they are left alone. */
  readonly #refusedUntilMs = new BoundedMap<string, number>({
    maxEntries: MAX_REFUSED,
  });
  /** What was logged, so that an outage is told once. */
  #told: string | undefined;

  /** A worker that does not run yet. */
  constructor(options: MirrorWorkerOptions) {
    this.#options = options;
    const { clock, logger } = options.parts;
    this.#periodic = new Periodic({
      clock,
      intervalMs: INTERVAL_MS,
      run: () => this.runOnce(),
      onError: (error) => {
        logger.error("Cannot mirror users: it is tried again in a minute", {
          error: String(error),
        });
      },
    });
  }

  /** Starts with what an earlier start left. */
  start(): void {
    this.#periodic.start();
    this.#periodic.wake();
  }

  /** Looks at once whether there is something to do. */
  wake(): void {
    this.#periodic.wake();
  }

  /** Ends after the call under way; the rest waits for the next start. */
  async stop(): Promise<void> {
    await this.#periodic.stop();
  }

  /**
   * Goes through the marks once, or until too much has failed.
   *
   * @returns how many were done
   * @throws {Error} when the store fails
   */
  async runOnce(): Promise<number> {
    const nowMs = this.#options.parts.clock.nowMs();
    const { signal } = this.#periodic;
    let done = 0;
    let failures = 0;
    let reason: string | undefined;
    let marks = await this.#next();
    while (marks.length > 0) {
      for (const mark of marks) {
        if (signal.aborted || failures >= MAX_FAILURES) break;
        const id = markId(mark);
        this.#afterId = id;
        if (nowMs < (this.#refusedUntilMs.get(id) ?? 0)) continue;
        const failure = await this.#settle(mark);
        reason = failure?.reason ?? reason;
        if (failure === undefined) done++;
        // That one user is refused says nothing of others.
        else if (failure.isRefused) {
          this.#refusedUntilMs.set(id, nowMs + REFUSED_MS);
        } else failures++;
      }
      if (signal.aborted || failures >= MAX_FAILURES) break;
      marks = await this.#next();
    }
    // The end was reached, so the next round begins at the first mark.
    if (marks.length === 0) this.#afterId = MARK_PREFIX;
    this.#tell({ done, reason });
    return done;
  }

  async #next(): Promise<readonly MirrorMark[]> {
    const { records } = await this.#options.parts.store.records({
      kind: "service",
      tenantId: REGISTRY,
      limit: PAGE,
      afterId: this.#afterId,
    });
    return records.filter(({ id }) => id.startsWith(MARK_PREFIX)).map(markOf);
  }

  /** Does what a mark says; tells why it was not done. */
  async #settle(mark: MirrorMark): Promise<Failure | undefined> {
    const { settling, parts: { store, clock } } = this.#options;
    const settled = await settling.settle(mark);
    if (settled.kind === "failed") return settled;
    // The request itself was faster.
    if (settled.kind === "nothing") return undefined;
    await store.commit([{
      writes: [auditWrite(mark.tenantId, {
        atMs: clock.nowMs(),
        action: "user.mirrored",
        actor: SYSTEM_ACTOR,
        target: mark.userId,
        detail: { outcome: settled.kind },
      })],
    }]);
    return undefined;
  }

  #tell(
    { done, reason }: {
      readonly done: number;
      readonly reason: string | undefined;
    },
  ): void {
    const { logger } = this.#options.parts;
    if (done > 0) {
      logger.info("Made up for what was not mirrored", { users: done });
    }
    if (reason === this.#told) return;
    this.#told = reason;
    if (reason === undefined) return;
    logger.warn(
      "Cannot mirror users: the identity provider does not do it, it is " +
        "tried again each minute",
      { reason },
    );
  }
}
