/**
 * The parts that the routes of a test talk to; each keeps what it was asked and
 * answers what the test says.
 *
 * @module
 */

import type { Authenticator, Caller } from "../../auth/authenticate.ts";
import type { RateLimits } from "../../auth/rate_limits.ts";
import { refusal } from "../../auth/refusal.ts";
import type { EmbedOutcome } from "../../embed/embedder.ts";
import type { AcceptOutcome } from "../../jobs/job_intake.ts";
import type { AcceptOptions, NewText } from "../../jobs/job_sealer.ts";
import type { AccountOutcome } from "../../ledger/ledger.ts";
import type { IndexedMemory } from "../../recall/memory_index.ts";
import type {
  RecalledMemory,
  RecallOutcome,
  RecallRequest,
} from "../../recall/recall_request.ts";
import type { RestoreService } from "../../recall/restore_service.ts";
import type { RelayerParts } from "../parts.ts";

type AuthOutcome = Awaited<ReturnType<Authenticator["authenticate"]>>;

type AuthRequest = Parameters<Authenticator["authenticate"]>[0];

type RestoreOutcome = Awaited<ReturnType<RestoreService["restore"]>>;

type RefusalCode = Parameters<typeof refusal>[0];

type RateOutcome = ReturnType<RateLimits["take"]>;

/** Two owners, each with a delegate. */
export const ANN: Caller = {
  accountId: `0x${"a1".repeat(32)}`,
  owner: `0x${"a2".repeat(32)}`,
  publicKey: "a3".repeat(32),
};

/** The other one. */
export const BEN: Caller = {
  accountId: `0x${"b1".repeat(32)}`,
  owner: `0x${"b2".repeat(32)}`,
  publicKey: "b3".repeat(32),
};

const CALLERS: ReadonlyMap<string, Caller> = new Map([
  ["ann", ANN],
  ["ben", BEN],
]);

/** How wide the vectors of tests are. */
export const WIDTH = 4;

/**
 * Lets in whom the header `x-test-caller` names, and keeps out for the reason in
 * `x-test-refusal`.
 */
export class TestAuthenticator {
  /** Lets in, or keeps out. */
  async authenticate(request: AuthRequest): Promise<AuthOutcome> {
    const code = request.headers.get("x-test-refusal");
    if (code !== undefined) return refusal(code as RefusalCode, "told so");
    const caller = CALLERS.get(request.headers.get("x-test-caller") ?? "");
    if (caller === undefined) return refusal("ERR_MISSING_HEADERS");
    const body = await request.body(request.maxBodyBytes);
    return body.kind === "ok"
      ? { kind: "ok", caller, body: body.bytes }
      : { kind: "no_body", body };
  }
}

/** Accepts texts, or answers what the test says. */
export class TestIntake {
  /** What was accepted. */
  readonly accepted: {
    readonly caller: Caller;
    readonly texts: readonly NewText[];
    readonly options: AcceptOptions;
  }[] = [];
  /** What comes of the next ones. */
  outcome: AcceptOutcome | undefined;

  /** Accepts. */
  accept(
    caller: Caller,
    texts: readonly NewText[],
    options: AcceptOptions,
  ): Promise<AcceptOutcome> {
    const { pausing: _pausing, ...told } = options;
    this.accepted.push({ caller, texts, options: told });
    return Promise.resolve(
      this.outcome ?? {
        kind: "accepted",
        jobIds: texts.map((_, place) => `job-${place + 1}`),
        isRepeated: false,
      },
    );
  }
}

/** A recall that finds some memories. */
export function recallOf(
  memories: readonly RecalledMemory[],
  parts: Partial<Extract<RecallOutcome, { kind: "ok" }>> = {},
): RecallOutcome {
  return {
    kind: "ok",
    memories,
    dropped: 0,
    omittedIds: [],
    readBytes: 0,
    ...parts,
  };
}

/** Answers recalls with what the test says. */
export class TestRecall {
  /** What was asked. */
  readonly requests: RecallRequest[] = [];
  /** What comes of it. */
  outcome: RecallOutcome = recallOf([]);

  /** Answers. */
  recall(request: RecallRequest): Promise<RecallOutcome> {
    this.requests.push(request);
    return Promise.resolve(this.outcome);
  }

  /** Answers the same. */
  find(request: RecallRequest): Promise<RecallOutcome> {
    return this.recall(request);
  }
}

/** Keeps what is in the index. */
export class TestIndex {
  /** Memories by id. */
  readonly memories = new Map<string, IndexedMemory>();

  /** How many there are. */
  get size(): number {
    return this.memories.size;
  }

  /** Adds a memory. */
  add(memory: IndexedMemory): void {
    this.memories.set(memory.id, memory);
  }

  /** Whether there is such a memory. */
  has(owner: string, id: string): boolean {
    return this.memories.get(id)?.owner === owner;
  }

  /** Removes a memory. */
  remove(owner: string, id: string): void {
    if (this.memories.get(id)?.owner === owner) this.memories.delete(id);
  }

  /** Removes a namespace. */
  removeNamespace(owner: string, namespace: string): void {
    for (const memory of [...this.memories.values()]) {
      if (memory.owner === owner && memory.namespace === namespace) {
        this.memories.delete(memory.id);
      }
    }
  }

  /** Is never called. */
  searchSteps(): never {
    throw new TypeError("Cannot answer: no route searches by itself");
  }
}

/** What models answer; a test changes it. */
export interface TestModels {
  /** What embedding comes to. */
  embedded: EmbedOutcome;
  /** What finding facts comes to. */
  extracted: Awaited<ReturnType<RelayerParts["extractor"]["extract"]>>;
  /** What answering comes to. */
  answered: Awaited<ReturnType<RelayerParts["answerer"]["answer"]>>;
  /** What restoring comes to. */
  restored: RestoreOutcome;
  /** What reading an account comes to. */
  account: AccountOutcome;
  /** What spending points comes to. */
  rate: RateOutcome;
}

/** Answers of parts that have nothing against anything. */
export function goodModels(): TestModels {
  return {
    embedded: { kind: "ok", vectors: [Float32Array.of(1, 0, 0, 0)] },
    extracted: { kind: "ok", facts: [] },
    answered: { kind: "ok", answer: "42", used: [] },
    restored: {
      unreadable: [],
      kind: "ok",
      restoredIds: ["m1"],
      skipped: 2,
      failed: 3,
      missing: 1,
      total: 7,
      isTruncated: false,
      readBytes: 0,
    },
    account: {
      kind: "ok",
      account: {
        accountId: ANN.accountId,
        owner: ANN.owner,
        isActive: true,
        delegateKeys: [{
          publicKey: ANN.publicKey,
          address: `0x${"a4".repeat(32)}`,
          label: "laptop",
        }],
      },
    },
    rate: { kind: "ok" },
  };
}
