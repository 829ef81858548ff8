/**
 * Mirrors users to the identity provider. A change is committed here first, and
 * holds whatever the provider says: the provider's outcome is logged, kept in
 * the audit log and shown in the header `user-mirror`. With each change a mark
 * is stored that says what the provider has to do; the mark stays until that is
 * done, see {@linkcode MirrorWorker}.
 *
 * @module
 */

import { SYSTEM_ACTOR, type User } from "../../domain/records.ts";
import type { EngineParts } from "../../engine/parts.ts";
import type { Write } from "../../store/store.ts";
import type { Answer } from "../../http/answer.ts";
import {
  markWrite,
  MIRRORED_FIELDS,
  mirroredChanges,
  type MirroredPlace,
  readMark,
  readSubject,
  subjectRemoval,
} from "../../engine/mirroring/mirror_mark.ts";
import type {
  MarkOutcome,
  MirrorSettling,
} from "../../engine/mirroring/mirror_worker.ts";
import { auditWrite } from "../../engine/record_writes.ts";

/**
 * The outcome at the provider: `ok`; `exists` when the provider has another
 * user with that email address, who is left alone; or `failed`.
 */
type MirrorState = "ok" | "exists" | "failed";

/** The header that shows the {@linkcode MirrorState}. */
const MIRROR_HEADER = "user-mirror";

/** The description of the header, for the document. */
export const MIRROR_HEADERS: Readonly<Record<string, string>> = {
  "User-Mirror": "Where users are mirrored at an identity provider: `ok`, " +
    "`exists` (it had one of that address, which is left alone) or `failed` " +
    "(the change holds here; the provider is asked again each minute, and " +
    "with the next change of the user)",
};

/** How a change of a user is mirrored. */
interface MirrorPlan {
  /** Writes that belong in the transaction of the change. */
  readonly writes: readonly Write[];
  /** Calls the provider; run it once the transaction is written. */
  readonly run: () => Promise<MirrorState | undefined>;
}

/** Mirrors users, where a mirror is configured. */
export class UserMirroring {
  readonly #settling: MirrorSettling | undefined;
  readonly #parts: Pick<EngineParts, "store" | "clock" | "logger">;

  /**
   * Mirrors users by `settling`, which calls the provider; without it, mirrors
   * nothing.
   */
  constructor(
    settling: MirrorSettling | undefined,
    parts: Pick<EngineParts, "store" | "clock" | "logger">,
  ) {
    this.#settling = settling;
    this.#parts = parts;
  }

  /** Mirrors a new user. */
  insert(user: User): MirrorPlan {
    const place = placeOf(user);
    return this.#plan(place, [markWrite(place, {
      previous: undefined,
      work: { kind: "change", fields: MIRRORED_FIELDS },
    })]);
  }

  /**
   * Mirrors a change of a user. A user that the mirror never got is added to
   * it, unless the person has an account of their own there.
   */
  async update(previous: User, next: User): Promise<MirrorPlan> {
    const place = placeOf(next);
    if (this.#settling === undefined) return this.#plan(place, []);
    const { store } = this.#parts;
    const [mark, known] = await Promise.all([
      readMark(store, place),
      readSubject(store, place),
    ]);
    const fields = mirroredChanges(previous, next);
    if (known === undefined) {
      const isOwn = next.identity !== undefined && mark === undefined;
      if (isOwn) return NOT_MIRRORED;
    } else if (fields.length === 0) {
      return this.#plan(place, []);
    }
    // Fields that an earlier change has not sent yet are sent with this one.
    const before = mark?.work.kind === "change" ? mark.work.fields : [];
    return this.#plan(place, [markWrite(place, {
      previous: mark,
      work: { kind: "change", fields: [...new Set([...before, ...fields])] },
    })]);
  }

  /**
   * Does what earlier changes of a user have left to do at the provider;
   * changes nothing here.
   */
  async again(user: User): Promise<MirrorPlan> {
    const place = placeOf(user);
    const mark = this.#settling && await readMark(this.#parts.store, place);
    return mark === undefined ? NOT_MIRRORED : this.#plan(place, []);
  }

  /** Mirrors the removal of a user. */
  async remove(user: User): Promise<MirrorPlan> {
    const { store } = this.#parts;
    const place = placeOf(user);
    const known = await readSubject(store, place);
    if (this.#settling === undefined) {
      return { ...NOT_MIRRORED, writes: known ? [subjectRemoval(known)] : [] };
    }
    const previous = await readMark(store, place);
    if (known === undefined) {
      if (previous === undefined) return NOT_MIRRORED;
      // An addition under way will find that the user is gone, and remove it
      // there.
      const write = markWrite(place, { previous, work: undefined });
      return { ...NOT_MIRRORED, writes: [write] };
    }
    return this.#plan(place, [
      subjectRemoval(known),
      markWrite(place, {
        previous,
        work: { kind: "remove", subject: known.text },
      }),
    ]);
  }

  #plan(place: MirroredPlace, writes: readonly Write[]): MirrorPlan {
    const settling = this.#settling;
    if (settling === undefined) return NOT_MIRRORED;
    return {
      writes,
      run: async () => await this.#told(place, await settling.settle(place)),
    };
  }

  async #told(
    { tenantId, userId }: MirroredPlace,
    settled: MarkOutcome,
  ): Promise<MirrorState | undefined> {
    switch (settled.kind) {
      case "ok":
      case "exists":
        return settled.kind;
      case "nothing":
        // There was nothing to do, or the background work has done it already.
        return "ok";
      case "not_mirrored":
        return undefined;
    }
    const { store, clock, logger } = this.#parts;
    const { reason } = settled;
    logger.warn("Cannot mirror user: the identity provider did not do it", {
      tenant: tenantId,
      user: userId,
      reason,
    });
    await store.commit([{
      writes: [auditWrite(tenantId, {
        atMs: clock.nowMs(),
        action: "user.mirror_failed",
        actor: SYSTEM_ACTOR,
        target: userId,
        detail: { reason },
      })],
    }]);
    return "failed";
  }
}

const NOT_MIRRORED: MirrorPlan = {
  writes: [],
  run: () => Promise.resolve(undefined),
};

/** The answer with a header that shows the outcome at the mirror. */
export function withMirrorState<A extends Exclude<Answer, { kind: "problem" }>>(
  answer: A,
  state: MirrorState | undefined,
): A {
  if (state === undefined) return answer;
  return { ...answer, headers: { ...answer.headers, [MIRROR_HEADER]: state } };
}

function placeOf({ tenantId, id: userId }: User): MirroredPlace {
  return { tenantId, userId };
}
