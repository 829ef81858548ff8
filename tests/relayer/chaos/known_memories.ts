/**
 * Records what the relayer has acknowledged, and which requests got no
 * response.
 *
 * @module
 */

/**
 * The state of a memory; `deleting`, `replacing` and `forgetting` mean that a
 * request is not answered yet, `held` that one client alone uses it.
 */
export type Fate =
  | "kept"
  | "held"
  | "forgetting"
  | "forgotten"
  | "deleting"
  | "deleted"
  | "replacing"
  | "superseded";

/** A memory whose job the relayer has accepted. */
export interface KnownMemory {
  /** The id of the memory. */
  readonly id: string;
  /** The text, which no other memory has. */
  readonly text: string;
  /** The namespace of the memory. */
  readonly namespace: string;
  /** The id of the memory that this one supersedes; `undefined` for none. */
  readonly supersedes: string | undefined;
  /** The number of crashes before the memory was accepted. */
  readonly round: number;
  /** The state of the memory. */
  fate: Fate;
  /** The id of the memory that supersedes this one, once that is accepted. */
  supersededBy: string | undefined;
  /** The id of the blob, once the job was looked at. */
  blobId: string | undefined;
  /** Whether the job has reached its final status, or was reported as stuck. */
  isSettled: boolean;
}

/** A text to remember, as the request contains it. */
export interface SentText {
  /** The text itself. */
  readonly text: string;
  /** The namespace of the memory. */
  readonly namespace: string;
  /** The metadata of the memory. */
  readonly metadata: Readonly<Record<string, string | number>>;
  /** The id of the memory that this one supersedes. */
  readonly supersedes?: string;
}

/**
 * A request with an idempotency key; sent again, it counts as the same request.
 */
export interface KeyedRequest {
  /** The idempotency key. */
  readonly key: string;
  /** The texts; more than one are sent as a bulk request. */
  readonly texts: readonly SentText[];
}

/** All memories and requests of a crash test. */
export class KnownMemories {
  /** The memories whose jobs were accepted, by id. */
  readonly memories = new Map<string, KnownMemory>();
  /** The requests that got no response. */
  readonly open = new Set<KeyedRequest>();
  /** The ids of memories whose deletion was requested and got no response. */
  readonly openDeletes = new Set<string>();
  /** The namespaces whose forgetting was requested and got no response. */
  readonly openForgets = new Set<string>();
  /** The requests that were answered, with the ids in the response. */
  readonly answered: {
    readonly request: KeyedRequest;
    readonly ids: readonly string[];
  }[] = [];
  /** Words that must not be readable in any file. */
  readonly secrets: string[] = [];
  /** Violations of the relayer's promises. */
  readonly faults: string[] = [];
  /** Number of crashes so far. */
  round = 0;

  /** Records a violation of a promise. */
  fault(what: string): void {
    this.faults.push(`after crash ${this.round}: ${what}`);
  }

  /** Records that a namespace is forgotten. */
  forget(namespace: string): void {
    this.openForgets.delete(namespace);
    for (const memory of this.memories.values()) {
      if (memory.namespace === namespace && memory.fate === "forgetting") {
        memory.fate = "forgotten";
      }
    }
  }

  /** Records the response to a request. */
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
        blobId: undefined,
        isSettled: false,
      });
      const old = this.memories.get(supersedes ?? "");
      if (old === undefined) return;
      old.fate = "superseded";
      old.supersededBy = id;
    });
  }
}
