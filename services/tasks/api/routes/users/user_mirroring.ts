/**
 * Keeps users in step at the identity provider. What is stored here is done
 * first and counts; what the provider says of it changes nothing here, it is
 * logged, kept in the audit log and told in the header `user-mirror`. The next
 * change of the user tries again.
 *
 * @module
 */

import type { Logger } from "../../../../shared/logger.ts";
import type {
  MirroredUserChange,
  MirrorOutcome,
  UserMirror,
} from "../../../access/user_mirror.ts";
import { SYSTEM_ACTOR } from "../../../domain/actor.ts";
import type { User } from "../../../domain/tenant.ts";
import type { EngineParts } from "../../../engine/parts.ts";
import type { StoredRecord } from "../../../store/record.ts";
import type { Write } from "../../../store/store.ts";
import type { Answer } from "../../http/answer.ts";
import { auditWrite } from "../../records/audit_write.ts";

/**
 * What came of it at the provider: `ok`, `exists` when somebody else made a user
 * of that address there, which is left alone, or `failed`.
 */
export type MirrorState = "ok" | "exists" | "failed";

/** The header that tells the {@linkcode MirrorState}. */
export const MIRROR_HEADER = "user-mirror";

/** What the header says, for the document. */
export const MIRROR_HEADERS: Readonly<Record<string, string>> = {
  "User-Mirror": "Where users are mirrored at an identity provider: `ok`, " +
    "`exists` (it had one of that address, which is left alone) or `failed` " +
    "(the change holds here; the next change of the user tries again)",
};

/** Options of {@linkcode UserMirroring}. */
export interface UserMirroringOptions {
  /** Where users are mirrored; nowhere when absent. */
  readonly mirror: UserMirror | undefined;
  /** Where it is kept who was added there. */
  readonly parts: Pick<EngineParts, "store" | "clock" | "logger">;
}

/** Mirrors users, where there is a mirror. */
export class UserMirroring {
  readonly #mirror: UserMirror | undefined;
  readonly #parts: Pick<EngineParts, "store" | "clock"> & {
    readonly logger: Logger;
  };

  /** Mirroring that has not called anybody. */
  constructor({ mirror, parts }: UserMirroringOptions) {
    this.#mirror = mirror;
    this.#parts = parts;
  }

  /** Adds a user who was stored; `domain` is the tenant's. */
  async added(user: User, domain: string): Promise<MirrorState | undefined> {
    return this.#mirror && await this.#create(this.#mirror, { user, domain });
  }

  /** Changes a user; one that the mirror never got is added to it. */
  async changed(
    previous: User,
    user: User,
    domain: string,
  ): Promise<MirrorState | undefined> {
    const mirror = this.#mirror;
    if (mirror === undefined) return undefined;
    const record = await this.#record(user);
    if (record === undefined) {
      return await this.#create(mirror, { user, domain });
    }
    const change = changeOf(previous, user);
    if (Object.keys(change).length === 0) return "ok";
    const outcome = await mirror.update(record.text, change);
    if (outcome.kind === "ok") return "ok";
    if (outcome.kind !== "not_found") return await this.#failed(user, outcome);
    // Somebody removed it there; it is added again under another subject.
    await this.#commit([recordWrite(user, { previous: record })]);
    return await this.#create(mirror, { user, domain });
  }

  /**
   * What is to be known of a user before it is removed: the write that goes into
   * the same unit, and what removes it from the mirror afterwards.
   */
  async removal(user: User): Promise<{
    readonly writes: readonly Write[];
    readonly run: () => Promise<MirrorState | undefined>;
  }> {
    const mirror = this.#mirror;
    const record = await this.#record(user);
    if (record === undefined) {
      return { writes: [], run: () => Promise.resolve(undefined) };
    }
    return {
      writes: [recordWrite(user, { previous: record })],
      run: async () => {
        if (mirror === undefined) return undefined;
        const outcome = await mirror.remove(record.text);
        return outcome.kind === "ok" || outcome.kind === "not_found"
          ? "ok"
          : await this.#failed(user, outcome);
      },
    };
  }

  async #create(
    mirror: UserMirror,
    { user, domain }: { readonly user: User; readonly domain: string },
  ): Promise<MirrorState> {
    const outcome = await mirror.create({
      tenant: domain,
      userId: user.id,
      email: user.email,
      ...(user.name === "" ? {} : { name: user.name }),
      isBlocked: user.status === "disabled",
    });
    if (outcome.kind === "exists") return "exists";
    if (outcome.kind !== "ok") return await this.#failed(user, outcome);
    const isKept = await this.#commit([
      {
        kind: "require",
        recordKind: "user",
        tenantId: user.tenantId,
        id: user.id,
      },
      recordWrite(user, { subject: outcome.subject }),
    ]);
    // It was removed here, or added by somebody else, in the meantime.
    if (!isKept) await mirror.remove(outcome.subject);
    return "ok";
  }

  async #failed(
    user: User,
    outcome: Exclude<MirrorOutcome, { readonly kind: "ok" }>,
  ): Promise<"failed"> {
    const reason = "reason" in outcome ? outcome.reason : outcome.kind;
    const { clock, logger } = this.#parts;
    logger.warn("Cannot mirror user: the identity provider did not do it", {
      tenant: user.tenantId,
      user: user.id,
      reason,
    });
    await this.#commit([
      auditWrite(user.tenantId, {
        atMs: clock.nowMs(),
        action: "user.mirror_failed",
        actor: SYSTEM_ACTOR,
        target: user.id,
        detail: { reason },
      }),
    ]);
    return "failed";
  }

  #record({ tenantId, id }: User): Promise<StoredRecord | undefined> {
    return this.#parts.store.record("service", tenantId, recordId(id));
  }

  async #commit(writes: readonly Write[]): Promise<boolean> {
    const [result] = await this.#parts.store.commit([{ writes }]);
    return result?.kind === "ok";
  }
}

/** The same answer with what came of it at the mirror. */
export function withMirrorState<A extends Exclude<Answer, { kind: "problem" }>>(
  answer: A,
  state: MirrorState | undefined,
): A {
  if (state === undefined) return answer;
  return { ...answer, headers: { ...answer.headers, [MIRROR_HEADER]: state } };
}

function recordId(userId: string): string {
  return `mirror:${userId}`;
}

/** The write that keeps, or without a subject removes, who a user is there. */
function recordWrite(
  { tenantId, id }: User,
  to: { readonly subject: string } | { readonly previous: StoredRecord },
): Write {
  const place = {
    kind: "record",
    recordKind: "service",
    tenantId,
    id: recordId(id),
  } as const;
  if ("previous" in to) {
    return { ...place, expectedVersion: to.previous.version, next: undefined };
  }
  return {
    ...place,
    expectedVersion: 0,
    next: {
      kind: "service",
      tenantId,
      id: place.id,
      version: 1,
      text: to.subject,
    },
  };
}

function changeOf(previous: User, user: User): MirroredUserChange {
  const isBlocked = user.status === "disabled";
  return {
    ...(user.email === previous.email ? {} : { email: user.email }),
    ...(user.name === previous.name ? {} : { name: user.name }),
    ...(isBlocked === (previous.status === "disabled") ? {} : { isBlocked }),
  };
}
