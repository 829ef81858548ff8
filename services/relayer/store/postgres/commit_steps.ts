/**
 * Splits the changes of commits into steps, each of which one statement applies.
 * The order within a group has no meaning for the database, so a group ends
 * where it would have one.
 *
 * Changes that get a number know how far it is from the last one that is given
 * to their owner in the transaction, whose row all of them update first.
 *
 * @module
 */

import type { Change } from "../changes.ts";

/** A change of a kind. */
export type ChangeOf<Kind extends Change["kind"]> = Extract<
  Change,
  { readonly kind: Kind }
>;

/** A change and its number. */
export interface Numbered<Of> {
  /** The change. */
  readonly change: Of;
  /**
   * How many numbers of the owner are given after it in the transaction. For a
   * removal of many it is that of the number before its first one.
   */
  readonly back: number;
}

/** Changes that one statement applies. */
export interface GroupedChanges {
  /** Jobs that are added. */
  readonly jobs: readonly ChangeOf<"new_job">[];
  /** Changes of jobs. */
  readonly patches: readonly ChangeOf<"job">[];
  /** Keys of clients. */
  readonly claims: readonly ChangeOf<"claim_key">[];
  /** Nonces. */
  readonly nonces: readonly ChangeOf<"nonce">[];
  /** Points that are added to windows. */
  readonly points: readonly ChangeOf<"rate">[];
  /** Blobs that cannot be restored. */
  readonly badBlobs: readonly ChangeOf<"bad_blob">[];
  /** Rows that are added. */
  readonly memories: readonly Numbered<ChangeOf<"new_memory">>[];
  /** Rows that are marked as replaced. */
  readonly marks: readonly Numbered<ChangeOf<"supersede">>[];
}

/** A change that is applied by a statement of its own. */
export type SingleChange = ChangeOf<
  | "reindex"
  | "move_blob"
  | "remove_memory"
  | "remove_namespace"
  | "begin_snapshot"
  | "snapshot_part"
  | "end_snapshot"
>;

/** A part of what has to be applied, in its order. */
export type Step =
  | { readonly kind: "group"; readonly changes: GroupedChanges }
  | ({ readonly kind: "single" } & Numbered<SingleChange>);

/** What has to be applied. */
export interface Steps {
  /** How many numbers each owner gives; the rows of these are locked first. */
  readonly owners: ReadonlyMap<string, number>;
  /** The steps. */
  readonly steps: readonly Step[];
}

/** Most rows of a namespace that one transaction removes, if it does only that. */
export const REMOVAL_ROWS = 1_000;
/** More rows than an owner has: numbers are not scarce. */
const ALL_ROWS = 10_000_000;

/** Splits changes into steps. */
export function toSteps(
  changes: readonly Change[],
  { isBite = false }: {
    /** Whether a namespace is removed bite by bite. @default {false} */
    readonly isBite?: boolean;
  } = {},
): Steps {
  const owners = new Map<string, number>();
  const places = changes.map((change) => {
    const owner = findNumbering(change);
    if (owner === undefined) return 0;
    const before = owners.get(owner) ?? 0;
    const count = countNumbers(change, isBite);
    owners.set(owner, before + count);
    return change.kind === "remove_namespace" ? before : before + count;
  });
  const steps: Step[] = [];
  let group = new OpenGroup();
  function endGroup(): void {
    if (!group.isEmpty) steps.push({ kind: "group", changes: group });
    group = new OpenGroup();
  }
  for (const [index, change] of changes.entries()) {
    const total = owners.get(findNumbering(change) ?? "") ?? 0;
    const back = total - (places[index] ?? 0);
    if (isSingle(change)) {
      endGroup();
      steps.push({ kind: "single", change, back });
    } else {
      if (!group.mayTake(change)) endGroup();
      group.add(change, back);
    }
  }
  endGroup();
  return { owners, steps };
}

/** The owner whose row a change locks. */
function findNumbering(change: Change): string | undefined {
  switch (change.kind) {
    case "new_memory":
      return change.memory.owner;
    case "supersede":
    case "reindex":
    case "move_blob":
    case "remove_memory":
    case "remove_namespace":
    case "begin_snapshot":
      return change.owner;
    default:
      return undefined;
  }
}

/** How many numbers a change takes at most. */
function countNumbers(change: Change, isBite: boolean): number {
  switch (change.kind) {
    case "new_memory":
    case "supersede":
    case "reindex":
    case "move_blob":
    case "remove_memory":
      return 1;
    case "remove_namespace":
      return isBite ? REMOVAL_ROWS : ALL_ROWS;
    default:
      return 0;
  }
}

function isSingle(change: Change): change is SingleChange {
  switch (change.kind) {
    case "reindex":
    case "move_blob":
    case "remove_memory":
    case "remove_namespace":
    case "begin_snapshot":
    case "snapshot_part":
    case "end_snapshot":
      return true;
    default:
      return false;
  }
}

class OpenGroup implements GroupedChanges {
  readonly jobs: ChangeOf<"new_job">[] = [];
  readonly patches: ChangeOf<"job">[] = [];
  readonly claims: ChangeOf<"claim_key">[] = [];
  readonly nonces: ChangeOf<"nonce">[] = [];
  readonly points: ChangeOf<"rate">[] = [];
  readonly badBlobs: ChangeOf<"bad_blob">[] = [];
  readonly memories: Numbered<ChangeOf<"new_memory">>[] = [];
  readonly marks: Numbered<ChangeOf<"supersede">>[] = [];
  /** What the group changes, each of which it may change once. */
  readonly #names = new Set<string>();
  #size = 0;

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  /** Whether the order of a change and of those before it has no meaning. */
  mayTake(change: Exclude<Change, SingleChange>): boolean {
    const name = nameOf(change);
    return name === undefined || !this.#names.has(name);
  }

  add(change: Exclude<Change, SingleChange>, back: number): void {
    this.#size++;
    const name = nameOf(change);
    if (name !== undefined) this.#names.add(name);
    switch (change.kind) {
      case "new_job":
        return void this.jobs.push(change);
      case "job":
        return void this.patches.push(change);
      case "claim_key":
        return void this.claims.push(change);
      case "nonce":
        return void this.nonces.push(change);
      case "rate":
        return void this.points.push(change);
      case "bad_blob":
        return void this.badBlobs.push(change);
      case "new_memory":
        return void this.memories.push({ change, back });
      case "supersede":
        return void this.marks.push({ change, back });
    }
  }
}

/** Names the row that a change is about, where its order has a meaning. */
function nameOf(change: Exclude<Change, SingleChange>): string | undefined {
  switch (change.kind) {
    case "new_job":
      return JSON.stringify(["job", change.job.owner, change.job.id]);
    case "job":
      return JSON.stringify(["job", change.owner, change.id]);
    case "claim_key":
      return JSON.stringify(["claim", change.claim.owner, change.claim.key]);
    case "nonce":
      return JSON.stringify(["nonce", change.nonce]);
    case "new_memory":
      return JSON.stringify(["memory", change.memory.owner, change.memory.id]);
    case "supersede":
      return JSON.stringify(["memory", change.owner, change.id]);
    case "rate":
    case "bad_blob":
      return undefined;
  }
}
