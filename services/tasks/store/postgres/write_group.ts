/**
 * Splits the writes of transactions into groups, each of which one statement
 * applies. The order within a group has no meaning for the database, so a group
 * ends where it would have one.
 *
 * @module
 */

import type { Write } from "../store.ts";
import type { PreparedTransaction, PreparedWrite } from "./prepared_write.ts";
import type { TaskChange, TaskRemoval } from "./task_change.ts";

type WriteOf<Kind extends Write["kind"]> = Extract<
  Write,
  { readonly kind: Kind }
>;

/** Writes that one statement applies. */
export interface GroupedWrites {
  /** Tasks that are inserted. */
  readonly creations: readonly TaskChange[];
  /** Tasks that are changed and keep their worker and their key. */
  readonly updates: readonly TaskChange[];
  /** Tasks that may get another worker or key. */
  readonly moves: readonly TaskChange[];
  /** Tasks that are removed. */
  readonly removals: readonly TaskRemoval[];
  /** Answers for keys that must be free. */
  readonly answers: readonly WriteOf<"idempotency">[];
  /** Answers that replace others. */
  readonly replacingAnswers: readonly WriteOf<"idempotency">[];
  /** Records that must be there, each once. */
  readonly required: ReadonlyMap<string, WriteOf<"require">>;
  /** What plans must have room for, by tenant. */
  readonly quotas: ReadonlyMap<string, Quota>;
  /** What is added to usage counts. */
  readonly usage: readonly WriteOf<"usage">[];
  /** Starts that are counted for rates. */
  readonly starts: readonly WriteOf<"start">[];
  /** Activity that is added. */
  readonly activity: readonly WriteOf<"activity">[];
  /** Requests that are removed from the inbox. */
  readonly requests: readonly WriteOf<"request">[];
}

/** The room that writes of a group need in a tenant's plan, all together. */
export interface Quota {
  /** How many tasks become live. */
  readonly adds: number;
  /** The lowest limit. */
  readonly limit: number;
}

/** A write that is applied by a statement of its own. */
export type SingleWrite =
  | WriteOf<"record">
  | WriteOf<"audit">
  | WriteOf<"listen">
  | WriteOf<"event">
  | TaskRemoval;

/** A part of what has to be applied, in its order. */
export type Step =
  | { readonly kind: "group"; readonly writes: GroupedWrites }
  | { readonly kind: "single"; readonly write: SingleWrite };

/** Splits the writes of transactions into steps. */
export function toSteps(
  transactions: readonly PreparedTransaction[],
): readonly Step[] {
  const steps: Step[] = [];
  let group = new OpenGroup();
  function endGroup(): void {
    if (!group.isEmpty) steps.push({ kind: "group", writes: group });
    group = new OpenGroup();
  }
  for (const writes of transactions) {
    for (const write of writes) {
      if (isSingle(write)) {
        endGroup();
        steps.push({ kind: "single", write });
      } else {
        if (!group.mayTake(write)) endGroup();
        group.add(write);
      }
    }
  }
  endGroup();
  return steps;
}

/**
 * The form of a write in which its refusal has no other reason than its own: a
 * change may then take another key.
 */
export function asAlone(write: PreparedWrite): PreparedWrite {
  return write.kind === "update"
    ? { ...write, kind: "move", links: write.links ?? [] }
    : write;
}

function isSingle(write: PreparedWrite): write is SingleWrite {
  return write.kind === "record" || write.kind === "audit" ||
    write.kind === "listen" || write.kind === "event" ||
    write.kind === "remove" && write.expectedVersion === 0;
}

type GroupedWrite = Exclude<
  PreparedWrite,
  WriteOf<"record"> | WriteOf<"audit"> | WriteOf<"listen"> | WriteOf<"event">
>;

/** Most rows of a group, apart from those of a single write. */
const MAX_WRITES = 5_000;

class OpenGroup implements GroupedWrites {
  readonly creations: TaskChange[] = [];
  readonly updates: TaskChange[] = [];
  readonly moves: TaskChange[] = [];
  readonly removals: TaskRemoval[] = [];
  readonly answers: WriteOf<"idempotency">[] = [];
  readonly replacingAnswers: WriteOf<"idempotency">[] = [];
  readonly required = new Map<string, WriteOf<"require">>();
  readonly quotas = new Map<string, Quota>();
  readonly usage: WriteOf<"usage">[] = [];
  readonly starts: WriteOf<"start">[] = [];
  readonly activity: WriteOf<"activity">[] = [];
  readonly requests: WriteOf<"request">[] = [];
  readonly #ids = new Set<string>();
  readonly #answerKeys = new Set<string>();
  /** Keys that a creation takes, or that an end gives back. */
  readonly #keys = new Set<string>();
  #takesKeys = false;
  #size = 0;

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  /** Whether the order of a write and of those before it has no meaning. */
  mayTake(write: GroupedWrite): boolean {
    if (this.#size >= MAX_WRITES) return false;
    switch (write.kind) {
      case "create":
        // Names that a removal gives back are not known here.
        return !this.#ids.has(write.id) && this.moves.length === 0 &&
          (write.key === undefined ||
            this.removals.length === 0 && !this.#keys.has(keyOf(write)));
      case "update":
        return !this.#ids.has(write.id) && this.moves.length === 0 &&
          (write.key === undefined || !this.#keys.has(keyOf(write)));
      case "move":
        // It may take a key or give one back, known or not.
        return this.isEmpty;
      case "remove":
        return !this.#ids.has(write.id) && this.moves.length === 0 &&
          !this.#takesKeys;
      case "idempotency":
        return !this.#answerKeys.has(answerKey(write));
      case "require":
      case "quota":
      case "usage":
      case "start":
      case "activity":
      case "request":
        return true;
    }
  }

  add(write: GroupedWrite): void {
    this.#size++;
    switch (write.kind) {
      case "create":
        this.creations.push(write);
        this.#ids.add(write.id);
        if (write.key === undefined) return;
        this.#keys.add(keyOf(write));
        this.#takesKeys = true;
        return;
      case "update":
        this.updates.push(write);
        this.#ids.add(write.id);
        if (write.key !== undefined && write.isFinal) {
          this.#keys.add(keyOf(write));
        }
        return;
      case "move":
        this.moves.push(write);
        this.#ids.add(write.id);
        return;
      case "remove":
        this.removals.push(write);
        this.#ids.add(write.id);
        return;
      case "idempotency":
        this.#answerKeys.add(answerKey(write));
        if (write.replaces === true) this.replacingAnswers.push(write);
        else this.answers.push(write);
        return;
      case "require":
        this.required.set(
          JSON.stringify([write.tenantId, write.recordKind, write.id]),
          write,
        );
        return;
      case "quota": {
        // What ends in the group only makes more room. Where all of it together
        // does not fit, the transactions are applied one by one.
        const before = this.quotas.get(write.tenantId);
        this.quotas.set(write.tenantId, {
          adds: write.adds + (before?.adds ?? 0),
          limit: Math.min(write.limit, before?.limit ?? Infinity),
        });
        return;
      }
      case "usage":
        this.usage.push(write);
        return;
      case "start":
        this.starts.push(write);
        return;
      case "activity":
        this.activity.push(write);
        return;
      case "request":
        this.requests.push(write);
    }
  }
}

function keyOf(
  { tenantId, workerId, key }: Pick<
    TaskChange,
    "tenantId" | "workerId" | "key"
  >,
): string {
  return JSON.stringify([tenantId, workerId, key]);
}

function answerKey({ tenantId, key }: WriteOf<"idempotency">): string {
  return JSON.stringify([tenantId, key]);
}
