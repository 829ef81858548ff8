/**
 * Does at the mirror what marks say is to be done. What is sent is the user as
 * it is stored at that moment, so several changes may be made up for at once,
 * and the last one counts.
 *
 * @module
 */

import type {
  MirrorOutcome,
  UserMirror,
} from "../../access/identity_provider.ts";
import { REGISTRY } from "../repositories.ts";
import type { EngineParts } from "../parts.ts";
import type { StoredRecord } from "../../store/record.ts";
import type { Write } from "../../store/store.ts";
import {
  markId,
  markWrite,
  MIRRORED_FIELDS,
  type MirroredPlace,
  mirroredState,
  type MirrorMark,
  readMark,
  readSubject,
  subjectRemoval,
  subjectWrite,
} from "./mirror_mark.ts";

/** What came of a mark. */
export type Settled =
  /** The mirror has done it, or there is nothing left to do of it. */
  | { readonly kind: "ok" }
  /** Somebody else made a user of that address there, which is left alone. */
  | { readonly kind: "exists" }
  /** The user has an account of their own there. */
  | { readonly kind: "not_mirrored" }
  /** There was no mark. */
  | { readonly kind: "nothing" }
  | {
    /** The mirror did not do it; the mark stays. */
    readonly kind: "failed";
    /** Why, for a log; holds nothing secret. */
    readonly reason: string;
    /** Whether the mirror would say the same again, as far as is known. */
    readonly isRefused: boolean;
  };

/** Options of {@linkcode MirrorSettling}. */
export interface MirrorSettlingOptions {
  /** Where users are mirrored. */
  readonly mirror: UserMirror;
  /** Where users and marks are kept. */
  readonly parts: Pick<EngineParts, "repositories" | "store">;
}

/** How often others may change what is looked at. */
const MAX_TRIES = 30;

/** Does what marks say, for each user one thing after the other. */
export class MirrorSettling {
  readonly #mirror: UserMirror;
  readonly #parts: Pick<EngineParts, "repositories" | "store">;
  /** The ends of what is under way, by the ids of marks; they never reject. */
  readonly #turns = new Map<string, Promise<unknown>>();

  /** Settling over a mirror that has not been called. */
  constructor({ mirror, parts }: MirrorSettlingOptions) {
    this.#mirror = mirror;
    this.#parts = parts;
  }

  /**
   * Does what is to be done of a user.
   *
   * @throws {Error} when the store fails; the mark stays
   */
  async settle(place: MirroredPlace): Promise<Settled> {
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

  async #settle(place: MirroredPlace): Promise<Settled> {
    let last: Settled = { kind: "nothing" };
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const mark = await readMark(this.#parts.store, place);
      if (mark === undefined) return last;
      const settled = mark.work.kind === "remove"
        ? await this.#remove(mark.work.subject)
        : await this.#change(mark);
      // What is known of the user is another now, so the mark has to be looked
      // at again.
      if (settled === undefined) continue;
      if (settled.kind === "failed") return settled;
      last = settled;
      await this.#commit([markWrite(place, {
        previous: mark,
        work: undefined,
      })]);
      // If that did not fit, the user was changed again meanwhile.
    }
    const reason = "it was changed by others time and again";
    return { kind: "failed", reason, isRefused: false };
  }

  async #remove(subject: string): Promise<Settled> {
    const outcome = await this.#mirror.remove(subject);
    return outcome.kind === "ok" || outcome.kind === "not_found"
      ? { kind: "ok" }
      : failed(outcome);
  }

  async #change(mark: MirrorMark): Promise<Settled | undefined> {
    const { repositories, store } = this.#parts;
    const known = await readSubject(store, mark);
    if (known !== undefined) return await this.#update(mark, known);
    const [user, tenant] = await Promise.all([
      repositories.users.get(mark.tenantId, mark.userId),
      repositories.tenants.get(REGISTRY, mark.tenantId),
    ]);
    // Nobody is added for a tenant that is being erased, and who has an account
    // there needs no second one, which could not be used here.
    const isMissing = user === undefined || tenant === undefined ||
      tenant.status === "closing";
    if (isMissing) return { kind: "ok" };
    if (user.identity !== undefined) return { kind: "not_mirrored" };
    const { name, email, isBlocked } = mirroredState(user, MIRRORED_FIELDS);
    const outcome = await this.#mirror.create({
      tenant: tenant.domain,
      userId: user.id,
      email: email ?? user.email,
      ...(name === "" || name === undefined ? {} : { name }),
      isBlocked: isBlocked === true,
    });
    if (outcome.kind === "exists") return { kind: "exists" };
    if (outcome.kind !== "ok") return failed(outcome);
    return await this.#keep(mark, outcome.subject);
  }

  async #update(
    mark: MirrorMark,
    known: StoredRecord,
  ): Promise<Settled | undefined> {
    const { repositories } = this.#parts;
    const user = await repositories.users.get(mark.tenantId, mark.userId);
    const fields = mark.work.kind === "change" ? mark.work.fields : [];
    // Of a user that is gone, its removal writes another mark.
    if (user === undefined || fields.length === 0) return { kind: "ok" };
    const change = mirroredState(user, fields);
    const outcome = await this.#mirror.update(known.text, change);
    if (outcome.kind === "ok") return { kind: "ok" };
    if (outcome.kind !== "not_found") return failed(outcome);
    // Somebody removed it there; it is added again under another subject.
    await this.#commit([
      subjectRemoval(known),
      markWrite(mark, { previous: mark, work: mark.work }),
    ]);
    return undefined;
  }

  /**
   * Keeps who a user is that was added. Its mark is written along, so that who
   * removes the user at this moment hears of it.
   */
  async #keep(sent: MirrorMark, subject: string): Promise<Settled | undefined> {
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
): Settled {
  const reason = "reason" in outcome ? outcome.reason : outcome.kind;
  const isRefused = outcome.kind !== "unavailable";
  return { kind: "failed", reason, isRefused };
}
