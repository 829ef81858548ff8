/**
 * Mirrors users at the identity provider ("the mirror"). Each change of a user
 * is committed together with a delivery, which is a task of the service's own
 * worker: so it is retried until the mirror has made the change, also after a
 * restart. The deliveries of a user run one at a time, on any instance, and each
 * sends the user as it is stored at that moment. So the last one leaves the
 * mirror up to date, whatever became of those before it. An instance that others
 * may take for dead makes no delivery; only a call that it had just sent may
 * reach the mirror after that of another one, until the user's next change.
 *
 * The user's identity at the mirror is a record of the registry, outliving the
 * tenant until the mirror has removed the user.
 *
 * @module
 */

import { Periodic } from "../../shared/periodic.ts";
import type {
  MirroredUserChange,
  MirrorOutcome,
  UserMirror,
} from "../access/identity_provider.ts";
import { SYSTEM_ACTOR, type User } from "../domain/records.ts";
import type { Task } from "../domain/task.ts";
import type { LeaseProof, TaskEvent } from "../domain/task_event.ts";
import type { StoredRecord, Write } from "../store/store.ts";
import type { TaskChanges } from "./changes.ts";
import type { EngineParts } from "./parts.ts";
import { auditWrite, serviceWrite } from "./record_writes.ts";
import { REGISTRY } from "./repositories.ts";
import { internalTask } from "./task_writes.ts";
import { MIRROR_WORKER } from "./workers.ts";

/** The prefix of the ids of the records that hold a user's subject. */
const SUBJECT_PREFIX = "subject:";
/**
 * The prefix of the ids of the marks by which earlier versions remembered what
 * the mirror had to do.
 */
const MARK_PREFIX = "mirror:";
/** How many marks are read at a time. */
const PAGE = 100;
/** The longest wait for the first try of a delivery, in milliseconds. */
const MAX_WAIT_MS = 10_000;
/**
 * How often the store is asked meanwhile, in milliseconds, since another
 * instance may make the delivery.
 */
const LOOK_MS = 250;
/**
 * How long a delivery is put off while users are not mirrored, in milliseconds.
 */
const UNMIRRORED_PAUSE_MS = 3_600_000;

/**
 * The outcome of the first try at the mirror: `ok`; `exists` when the mirror
 * has another user with that email address, who is left alone; or `failed`, and
 * it is tried again later.
 */
export type MirrorState = "ok" | "exists" | "failed";

/** The user that a delivery is about. */
interface MirroredPlace {
  /** The tenant. */
  readonly tenantId: string;
  /** The user. */
  readonly userId: string;
}

/** A field of a user that is mirrored. */
type MirroredField = keyof MirroredUserChange;

/** The data of a delivery's task. */
interface MirrorData extends MirroredPlace {
  /** The fields that changed. */
  readonly fields: readonly MirroredField[];
}

/** How a change of a user is mirrored. */
interface MirrorPlan {
  /** Writes that belong in the transaction of the change. */
  readonly writes: readonly Write[];
  /**
   * Begins the delivery and waits for its first try; to be called once the
   * transaction is written. Undefined when there was nothing to mirror.
   */
  readonly run: () => Promise<MirrorState | undefined>;
}

/** The outcome of a delivery. */
export interface UserDelivery {
  /** What happens to its task. */
  readonly event: TaskEvent;
  /**
   * Writes to commit together with the event.
   *
   * @default none
   */
  readonly writes?: readonly Write[];
}

interface UserMirroringOptions {
  /** The mirror; nothing is mirrored when undefined. */
  readonly mirror: UserMirror | undefined;
  /** The engine's parts. */
  readonly parts: EngineParts;
  /** Tells of the ends of deliveries. */
  readonly changes: TaskChanges;
}

/** What the mirror did, and what is to be stored of it. */
interface Mirrored {
  /** `not_mirrored`: there was nothing to do, or the account is not ours. */
  readonly outcome: MirrorOutcome | { readonly kind: "not_mirrored" };
  readonly writes: readonly Write[];
}

const NOT_MIRRORED: MirrorPlan = {
  writes: [],
  run: () => Promise.resolve(undefined),
};

/** Mirrors users, where there is a mirror. */
export class UserMirroring {
  readonly #options: UserMirroringOptions;
  /** The requests that wait for the first try of a delivery, by its task. */
  readonly #waiting = new Map<
    string,
    (state: MirrorState | undefined) => void
  >();

  /** Takes the mirror; it does nothing by itself. */
  constructor(options: UserMirroringOptions) {
    this.#options = options;
    options.changes.onChange(({ next }) => this.#heard(next), ["internal"]);
  }

  /** Mirrors a new user. */
  insert(user: User): MirrorPlan {
    return this.#plan({ tenantId: user.tenantId, userId: user.id }, []);
  }

  /** Mirrors a change of a user; one that the mirror lacks is added to it. */
  update(previous: User, next: User): MirrorPlan {
    const before = mirroredState(previous);
    const after = mirroredState(next);
    return this.#plan(
      { tenantId: next.tenantId, userId: next.id },
      MIRRORED_FIELDS.filter((field) => before[field] !== after[field]),
    );
  }

  /**
   * Mirrors the removal of a user. Where nothing is mirrored, the
   * subject is forgotten.
   */
  async remove(place: MirroredPlace): Promise<MirrorPlan> {
    if (this.#options.mirror !== undefined) return this.#plan(place, []);
    return {
      ...NOT_MIRRORED,
      writes: buildRemoval(await this.#subject(place)),
    };
  }

  /**
   * Makes deliveries of what an earlier version has marked as still to be
   * mirrored. Instances that start together make each once: a mark is removed in
   * the commit of its delivery.
   *
   * @throws {Error} when the store fails
   */
  async carryOver(): Promise<void> {
    const { mirror, parts: { store } } = this.#options;
    while (mirror !== undefined) {
      const { records } = await store.records({
        kind: "service",
        tenantId: REGISTRY,
        limit: PAGE,
        afterId: MARK_PREFIX,
      });
      const marks = records.filter(({ id }) => id.startsWith(MARK_PREFIX));
      if (marks.length === 0) return;
      await store.commit(marks.map((mark) => {
        const [, tenantId = "", userId = ""] = mark.id.split(":");
        // Only the earlier version wrote such records.
        const { fields = [] } = JSON.parse(mark.text) as Partial<MirrorData>;
        const { writes } = this.#plan({ tenantId, userId }, fields);
        return { writes: [...buildRemoval(mark), ...writes] };
      }));
    }
  }

  #plan(
    place: MirroredPlace,
    fields: readonly MirroredField[],
  ): MirrorPlan {
    const { mirror, parts } = this.#options;
    if (mirror === undefined) return NOT_MIRRORED;
    const data: MirrorData = { ...place, fields };
    const { task, write } = internalTask({
      workerId: MIRROR_WORKER.id,
      job: "mirror",
      group: place.userId,
      dataJson: JSON.stringify(data),
    }, { tenantId: MIRROR_WORKER.tenantId, parts });
    return { writes: [write], run: () => this.#firstTry(task) };
  }

  async #firstTry(task: Task): Promise<MirrorState | undefined> {
    const { changes, parts: { clock } } = this.#options;
    const first = Promise.withResolvers<MirrorState | undefined>();
    const timer = clock.setTimer(() => first.resolve("failed"), MAX_WAIT_MS);
    this.#waiting.set(task.id, first.resolve);
    changes.announce(undefined, task);
    const looks = this.#looksAt(task);
    looks.start();
    try {
      return await first.promise;
    } finally {
      timer.cancel();
      this.#waiting.delete(task.id);
      await looks.stop();
    }
  }

  /** Asks the store for a delivery that another instance may make. */
  #looksAt({ tenantId, id }: Task): Periodic {
    const { clock, notices, store, logger } = this.#options.parts;
    return new Periodic({
      clock,
      intervalMs: LOOK_MS,
      run: async () => {
        if (notices.areNeeded) this.#heard(await store.task(tenantId, id));
      },
      onError: (error) =>
        logger.warn("Cannot look for the delivery of a user", {
          error: String(error),
        }),
    });
  }

  #heard(task: Task | undefined): void {
    const tell = task && this.#waiting.get(task.id);
    if (tell === undefined) return;
    if (task?.status === "retry") tell("failed");
    if (task?.status !== "complete") return;
    const state = JSON.parse(task.resultJson ?? "null");
    tell(state === "not_mirrored" ? undefined : state);
  }

  /**
   * Makes a delivery.
   *
   * @throws {Error} when the store fails
   */
  async deliver(
    { dataJson, retries }: Task,
    lease: LeaseProof,
  ): Promise<UserDelivery> {
    const { mirror, parts: { clock, logger } } = this.#options;
    if (mirror === undefined) {
      const reason = "users are not mirrored";
      const delayMs = UNMIRRORED_PAUSE_MS;
      return { event: { kind: "release", lease, delayMs, reason } };
    }
    // Only `#plan()` creates tasks of that worker.
    const data = JSON.parse(dataJson) as MirrorData;
    const { tenantId, userId } = data;
    const { outcome, writes } = await this.#mirror(mirror, data);
    const audit = (action: string, detail: Record<string, string>): Write =>
      auditWrite(tenantId, {
        atMs: clock.nowMs(),
        action,
        actor: SYSTEM_ACTOR,
        target: userId,
        detail,
      });
    switch (outcome.kind) {
      case "ok":
      case "exists":
      case "not_mirrored":
        return {
          event: {
            kind: "complete",
            lease,
            resultJson: JSON.stringify(outcome.kind),
          },
          writes: retries === 0
            ? writes
            : [...writes, audit("user.mirrored", { outcome: outcome.kind })],
        };
    }
    const reason = "reason" in outcome ? outcome.reason : outcome.kind;
    const failed: TaskEvent = {
      kind: "fail",
      lease,
      failure: { code: outcome.kind },
      message: reason,
      retryAfterMs: outcome.kind === "unavailable"
        ? outcome.retryAfterMs
        : undefined,
    };
    // The later tries would say the same.
    if (retries > 0) return { event: failed };
    logger.warn("Cannot mirror user: the identity provider failed", {
      tenant: tenantId,
      user: userId,
      reason,
    });
    return { event: failed, writes: [audit("user.mirror_failed", { reason })] };
  }

  /** Sends the user as it is stored. */
  async #mirror(mirror: UserMirror, data: MirrorData): Promise<Mirrored> {
    const { repositories } = this.#options.parts;
    const { tenantId, userId, fields } = data;
    const [user, tenant, known] = await Promise.all([
      repositories.users.get(tenantId, userId),
      repositories.tenants.get(REGISTRY, tenantId),
      this.#subject(data),
    ]);
    // The users of a tenant that is closing are about to be erased.
    const isGone = user === undefined || tenant === undefined ||
      tenant.status === "closing";
    if (known !== undefined && isGone) {
      const outcome = await mirror.remove(known.text);
      return outcome.kind === "ok" || outcome.kind === "not_found"
        ? { outcome: { kind: "ok", subject: "" }, writes: buildRemoval(known) }
        : { outcome, writes: [] };
    }
    if (known !== undefined && !isGone) {
      const outcome = fields.length === 0
        ? { kind: "ok", subject: known.text } as const
        : await mirror.update(known.text, mirroredState(user, fields));
      // A user that was removed at the mirror is added again.
      if (outcome.kind !== "not_found") return { outcome, writes: [] };
    }
    // A user with their own account at the mirror needs no second one, which
    // could not be used here.
    if (isGone || user.identity !== undefined) {
      return { outcome: { kind: "not_mirrored" }, writes: buildRemoval(known) };
    }
    const outcome = await mirror.create({
      tenant: tenant.domain,
      userId,
      email: user.email,
      name: user.name === "" ? undefined : user.name,
      isBlocked: user.status === "disabled",
    });
    const writes = outcome.kind === "ok"
      ? [serviceWrite(subjectPlace(data), outcome.subject, known?.version)]
      : outcome.kind === "exists"
      ? buildRemoval(known)
      : [];
    return { outcome, writes };
  }

  #subject(place: MirroredPlace): Promise<StoredRecord | undefined> {
    const { id } = subjectPlace(place);
    return this.#options.parts.store.record("service", REGISTRY, id);
  }
}

/** Where a user's subject is stored; ids of tenants and users hold no colon. */
function subjectPlace(
  { tenantId, userId }: MirroredPlace,
): Pick<StoredRecord, "tenantId" | "id"> {
  return { tenantId: REGISTRY, id: `${SUBJECT_PREFIX}${tenantId}:${userId}` };
}

/** The write that removes a record of the service, if there is one. */
function buildRemoval(record: StoredRecord | undefined): readonly Write[] {
  return record === undefined
    ? []
    : [serviceWrite(record, undefined, record.version)];
}

/** All fields of a user that are mirrored. */
const MIRRORED_FIELDS: readonly MirroredField[] = [
  "email",
  "name",
  "isBlocked",
];

/** The values of these fields of a user for the mirror. */
function mirroredState(
  { email, name, status }: User,
  fields = MIRRORED_FIELDS,
): MirroredUserChange {
  return {
    email: fields.includes("email") ? email : undefined,
    name: fields.includes("name") ? name : undefined,
    isBlocked: fields.includes("isBlocked") ? status === "disabled" : undefined,
  };
}
