/**
 * Updates users at the identity provider ("the mirror") as their marks say: at
 * once when a request asks for it, and once a minute for changes that failed or
 * were never tried. The user is sent as it is stored at that moment, so one
 * call may cover several changes. A provider that is down gets a few calls a
 * minute, however many marks there are.
 *
 * @module
 */

import { BoundedMap } from "../../../shared/bounded_map.ts";
import type {
  MirrorOutcome,
  UserMirror,
} from "../../access/identity_provider.ts";
import { SYSTEM_ACTOR } from "../../domain/records.ts";
import type { StoredRecord, Write } from "../../store/store.ts";
import { Maintainer } from "../maintainer.ts";
import { auditWrite } from "../record_writes.ts";
import type { EngineParts } from "../parts.ts";
import { REGISTRY } from "../repositories.ts";
import {
  MARK_PREFIX,
  markId,
  markOf,
  markWrite,
  type MirroredPlace,
  mirroredState,
  type MirrorMark,
  readMark,
  readSubject,
  subjectRemoval,
  subjectWrite,
} from "./mirror_mark.ts";

/** How many marks are read at a time. */
const PAGE = 100;
/** The time until failed marks are tried again, in milliseconds. */
const INTERVAL_MS = 60_000;
/** After this many failures, the rest of the marks waits for the next round. */
const MAX_FAILURES = 5;

interface MirrorWorkerOptions {
  /** Makes the changes that marks name. */
  readonly settling: Pick<MirrorSettling, "settle">;
  /** The store of the marks, the clock and the logger. */
  readonly parts: Pick<EngineParts, "store" | "clock" | "logger">;
}

/** How long a mark that the mirror refused is skipped, in milliseconds. */
const REFUSED_MS = 3_600_000;
/**
 * The most refused marks that are remembered; others are tried again in each
 * round.
 */
const MAX_REFUSED = 10_000;

type Failure = Extract<MarkOutcome, { readonly kind: "failed" }>;

/** Mirrors the changes that requests did not mirror themselves. */
export class MirrorWorker extends Maintainer {
  readonly #options: MirrorWorkerOptions;
  /**
   * The id after which the next round begins: that of the mark that failed
   * last.
   */
  #afterId = MARK_PREFIX;
  /**
   * The marks that the mirror refused, with the time until which they are
   * skipped.
   */
  readonly #refusedUntilMs = new BoundedMap<string, number>({
    maxEntries: MAX_REFUSED,
  });
  /** The reason that was logged last, so that an outage is logged once. */
  #told: string | undefined;

  /** Creates the worker without starting it. */
  constructor(options: MirrorWorkerOptions) {
    super({
      parts: options.parts,
      intervalMs: INTERVAL_MS,
      failure: "Cannot mirror users: it is tried again in a minute",
    });
    this.#options = options;
  }

  /**
   * Processes the marks once, or until too many have failed.
   *
   * @returns how many marks were done
   * @throws {Error} when the store fails
   */
  override async runOnce(): Promise<number> {
    const nowMs = this.#options.parts.clock.nowMs();
    const signal = this.stopping;
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
        // A refusal of one user does not concern the others.
        else if (failure.isRefused) {
          this.#refusedUntilMs.set(id, nowMs + REFUSED_MS);
        } else failures++;
      }
      if (signal.aborted || failures >= MAX_FAILURES) break;
      marks = await this.#next();
    }
    // The end was reached, so the next round begins at the first mark.
    if (marks.length === 0) this.#afterId = MARK_PREFIX;
    this.#tell(done, reason);
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

  /** Makes the change that a mark names; returns the failure, if it failed. */
  async #settle(mark: MirrorMark): Promise<Failure | undefined> {
    const { settling, parts: { store, clock } } = this.#options;
    const settled = await settling.settle(mark);
    if (settled.kind === "failed") return settled;
    // The request itself has made the change first.
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

  #tell(done: number, reason: string | undefined): void {
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

/** The outcome of processing a mark. */
export type MarkOutcome =
  /** The mirror has made the change, or nothing is left to change. */
  | { readonly kind: "ok" }
  /** The mirror has another user with that address, who is left alone. */
  | { readonly kind: "exists" }
  /** The user has their own account at the mirror. */
  | { readonly kind: "not_mirrored" }
  /** There was no mark. */
  | { readonly kind: "nothing" }
  | {
    /** The mirror did not make the change; the mark stays. */
    readonly kind: "failed";
    /** The reason for a log, without secrets. */
    readonly reason: string;
    /** Whether the mirror would probably refuse the change again. */
    readonly isRefused: boolean;
  };

interface MirrorSettlingOptions {
  /** The mirror that the users are sent to. */
  readonly mirror: UserMirror;
  /** The repositories and the store of users and marks. */
  readonly parts: Pick<EngineParts, "repositories" | "store">;
}

/** How often a change is tried again when other changes are written first. */
const MAX_TRIES = 30;

/**
 * Makes the changes that marks name; changes of the same user wait for each
 * other.
 */
export class MirrorSettling {
  readonly #mirror: UserMirror;
  readonly #parts: Pick<EngineParts, "repositories" | "store">;
  /**
   * The last running change of each mark, by the mark's id; these promises
   * never reject.
   */
  readonly #turns = new Map<string, Promise<unknown>>();

  /** Takes the mirror and the store. */
  constructor({ mirror, parts }: MirrorSettlingOptions) {
    this.#mirror = mirror;
    this.#parts = parts;
  }

  /**
   * Makes the change of a user's mark.
   *
   * @throws {Error} when the store fails; the mark stays
   */
  async settle(place: MirroredPlace): Promise<MarkOutcome> {
    const id = markId(place);
    const before = this.#turns.get(id) ?? Promise.resolve();
    const settled = before.then(() => this.#settle(place));
    const turn = settled.catch(() => {});
    this.#turns.set(id, turn);
    try {
      return await settled;
    } finally {
      if (this.#turns.get(id) === turn) this.#turns.delete(id);
    }
  }

  async #settle(place: MirroredPlace): Promise<MarkOutcome> {
    let last: MarkOutcome = { kind: "nothing" };
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const mark = await readMark(this.#parts.store, place);
      if (mark === undefined) return last;
      const settled = mark.work.kind === "remove"
        ? await this.#remove(mark.work.subject)
        : await this.#change(mark);
      // The stored subject of the user has changed, so the mark has to be read
      // again.
      if (settled === undefined) continue;
      if (settled.kind === "failed") return settled;
      last = settled;
      await this.#commit([markWrite(place, {
        previous: mark,
        work: undefined,
      })]);
      // If that commit conflicted, the user was changed again.
    }
    const reason = "it was changed by others time and again";
    return { kind: "failed", reason, isRefused: false };
  }

  async #remove(subject: string): Promise<MarkOutcome> {
    const outcome = await this.#mirror.remove(subject);
    return outcome.kind === "ok" || outcome.kind === "not_found"
      ? { kind: "ok" }
      : failed(outcome);
  }

  async #change(mark: MirrorMark): Promise<MarkOutcome | undefined> {
    const { repositories, store } = this.#parts;
    const known = await readSubject(store, mark);
    if (known !== undefined) return await this.#update(mark, known);
    const [user, tenant] = await Promise.all([
      repositories.users.get(mark.tenantId, mark.userId),
      repositories.tenants.get(REGISTRY, mark.tenantId),
    ]);
    // No user is added for a tenant that is being erased. A user with their own
    // account at the mirror needs no second one, which could not be used here.
    const isMissing = user === undefined || tenant === undefined ||
      tenant.status === "closing";
    if (isMissing) return { kind: "ok" };
    if (user.identity !== undefined) return { kind: "not_mirrored" };
    const { name, email, status } = user;
    const outcome = await this.#mirror.create({
      tenant: tenant.domain,
      userId: user.id,
      email,
      name: name === "" ? undefined : name,
      isBlocked: status === "disabled",
    });
    if (outcome.kind === "exists") return { kind: "exists" };
    if (outcome.kind !== "ok") return failed(outcome);
    return await this.#keep(mark, outcome.subject);
  }

  async #update(
    mark: MirrorMark,
    known: StoredRecord,
  ): Promise<MarkOutcome | undefined> {
    const { repositories } = this.#parts;
    const user = await repositories.users.get(mark.tenantId, mark.userId);
    const fields = mark.work.kind === "change" ? mark.work.fields : [];
    // When a user was removed, the removal writes another mark.
    if (user === undefined || fields.length === 0) return { kind: "ok" };
    const change = mirroredState(user, fields);
    const outcome = await this.#mirror.update(known.text, change);
    if (outcome.kind === "ok") return { kind: "ok" };
    if (outcome.kind !== "not_found") return failed(outcome);
    // The user was removed at the mirror, so it is added again, with another
    // subject.
    await this.#commit([
      subjectRemoval(known),
      markWrite(mark, { previous: mark, work: mark.work }),
    ]);
    return undefined;
  }

  /**
   * Stores the subject of a user that was added. The user's mark is written in
   * the same commit, so that a removal of the user at this moment conflicts and
   * sees it.
   */
  async #keep(
    sent: MirrorMark,
    subject: string,
  ): Promise<MarkOutcome | undefined> {
    const { repositories, store } = this.#parts;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const previous = await readMark(store, sent);
      const user = await repositories.users.get(sent.tenantId, sent.userId);
      const isNews = previous !== undefined &&
        previous.version !== sent.version;
      const writes = user === undefined
        ? [markWrite(sent, { previous, work: { kind: "remove", subject } })]
        : [
          repositories.users.assertExists(sent.tenantId, sent.userId),
          subjectWrite(sent, subject),
          markWrite(sent, {
            previous,
            work: isNews ? previous.work : { kind: "change", fields: [] },
          }),
        ];
      if (await this.#commit(writes)) return undefined;
    }
    return failed({ kind: "unavailable", reason: "others changed the user" });
  }

  async #commit(writes: readonly Write[]): Promise<boolean> {
    const [result] = await this.#parts.store.commit([{ writes }]);
    return result?.kind === "ok";
  }
}

function failed(
  outcome: Exclude<MirrorOutcome, { readonly kind: "ok" }>,
): MarkOutcome {
  const reason = "reason" in outcome ? outcome.reason : outcome.kind;
  const isRefused = outcome.kind !== "unavailable";
  return { kind: "failed", reason, isRefused };
}
