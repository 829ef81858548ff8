/**
 * What the relayer has answered for, and what was sent without an answer.
 *
 * @module
 */

/** What becomes of a memory; `deleting` and `replacing` have no answer yet. */
export type Fate =
  | "kept"
  | "deleting"
  | "deleted"
  | "replacing"
  | "superseded";

/** A memory whose job was accepted. */
export interface KnownMemory {
  /** Its id. */
  readonly id: string;
  /** Its text, which no other has. */
  readonly text: string;
  /** Where it belongs. */
  readonly namespace: string;
  /** The memory whose place it takes; undefined for none. */
  readonly supersedes: string | undefined;
  /** After how many crashes it was accepted. */
  readonly round: number;
  /** What becomes of it. */
  fate: Fate;
  /** The memory that takes its place, once that is accepted. */
  supersededBy: string | undefined;
  /** Whether its job was seen at its end. */
  isSettled: boolean;
}

/** A text as it is sent. */
export interface SentText {
  /** The text. */
  readonly text: string;
  /** Where it belongs. */
  readonly namespace: string;
  /** What is said of it. */
  readonly metadata: Readonly<Record<string, string | number>>;
  /** The memory whose place it takes. */
  readonly supersedes?: string;
}

/** A request under an idempotency key; sent again it is the same one. */
export interface KeyedRequest {
  /** The key. */
  readonly key: string;
  /** The texts; more than one go as a bulk. */
  readonly texts: readonly SentText[];
}

/** All of it. */
export class KnownMemories {
  /** Memories whose jobs were accepted, by id. */
  readonly memories = new Map<string, KnownMemory>();
  /** Requests that have no answer. */
  readonly open = new Set<KeyedRequest>();
  /** Ids of what was to be deleted, without an answer. */
  readonly openDeletes = new Set<string>();
  /** Requests that were answered, and the ids. */
  readonly answered: {
    readonly request: KeyedRequest;
    readonly ids: readonly string[];
  }[] = [];
  /** Everything that nobody may be able to read. */
  readonly secrets: string[] = [];
  /** What was against the promises. */
  readonly faults: string[] = [];
  /** Crashes so far. */
  round = 0;

  /** Notes that a promise is broken. */
  fault(what: string): void {
    this.faults.push(`after crash ${this.round}: ${what}`);
  }

  /** Takes the answer to a request in. */
  accept(request: KeyedRequest, ids: readonly string[]): void {
    this.open.delete(request);
    if (ids.length !== request.texts.length) {
      this.fault(`${request.key} has ${ids.length} jobs`);
    }
    this.answered.push({ request, ids });
    request.texts.forEach(({ text, namespace, supersedes }, index) => {
      const id = ids[index] ?? "";
      if (this.memories.has(id)) this.fault(`job ${id} was given twice`);
      this.memories.set(id, {
        id,
        text,
        namespace,
        supersedes,
        round: this.round,
        fate: "kept",
        supersededBy: undefined,
        isSettled: false,
      });
      const old = this.memories.get(supersedes ?? "");
      if (old === undefined) return;
      old.fate = "superseded";
      old.supersededBy = id;
    });
  }
}
