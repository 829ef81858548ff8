/**
 * The client that embeds and encrypts for itself: the relayer gets vectors and bytes
 * that it cannot read.
 *
 * @module
 */

import { type CallOptions, Life } from "../memory/life.ts";
import { omitUndefined } from "../memory/answer_reader.ts";
import { requireName, requireText } from "../memory/arguments.ts";
import { runWithin } from "../memory/client_clock.ts";
import {
  type ClientParts,
  clientParts,
  partsUntil,
} from "../memory/client_parts.ts";
import { MemDestroyedError, MemRequestTimeout } from "../memory/errors.ts";
import { HttpExchange } from "../memory/http_exchange.ts";
import {
  listMemories,
  type ListMemoriesOptions,
  listNamespaces,
  type ListNamespacesOptions,
  type MemoriesResult,
  type NamespacesResult,
} from "../memory/listings.ts";
import {
  recallManual,
  type RecallManualHit,
  rememberManual,
  type RememberManualResult,
} from "../memory/manual.ts";
import {
  deleteMemory,
  type DeleteMemoryResult,
  forget,
  type ForgetResult,
  restore,
  type RestoreResult,
} from "../memory/namespaces.ts";
import { health, type HealthResult } from "../memory/service.ts";
import { type BlobRead, readBlob } from "./blob_reader.ts";
import { embedText } from "./embedding.ts";
import {
  type MemManualConfig,
  type ResolvedManualConfig,
  resolveManualConfig,
} from "./manual_config.ts";
import {
  type DroppedMemory,
  readRecallManualArguments,
  type RecallManualMemory,
  type RecallManualMemoryResult,
  type RecallManualOptions,
} from "./manual_results.ts";
import { MemoryVault } from "./memory_vault.ts";

/**
 * Longest text that can be remembered, in bytes; the relayer has the same
 * limit.
 */
const MAX_TEXT_BYTES = 1_048_576;
/** The most blobs that are read at the same time. */
const MAX_READS = 10;
/** The most memories of one recall; the relayer has the same limit. */
const MAX_HITS = 100;
/**
 * Largest answer of the relayer that is read. A blob in Base64, or a page of a
 * listing, is smaller.
 */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/**
 * Remembers texts and finds them again, without showing them to the relayer:
 * texts are embedded and encrypted here, and decrypted here with keys that a
 * threshold of key servers gives to those whom the account names on the ledger.
 * The relayer sees vectors, which tell something of what a text is about, and
 * also sizes, times and namespaces.
 *
 * @example Remember and recall
 * ```ts
 * import { MemManual } from "@tercet/sdk/manual";
 *
 * await using mem = MemManual.create({
 *   key: "07".repeat(32), // the delegate's private key
 *   accountId: "0xa11ce",
 *   ledgerNetwork: "localnet",
 *   keyServers: ["0xb0b", "0xca1", "0xda2"], // as their operators tell them
 *   embeddingApiKey: "sk-…",
 * });
 * await mem.rememberManual("Ada drinks tea");
 * const { results } = await mem.recallManual("What does Ada drink?");
 * console.log(results[0]?.text); // Ada drinks tea
 * ```
 */
export class MemManual {
  /**
   * Whether a connected wallet signs requests for the keys of memories, rather
   * than a private key that this client holds.
   */
  readonly isWalletMode: boolean;
  readonly #config: ResolvedManualConfig;
  readonly #exchange: HttpExchange;
  readonly #parts: ClientParts;
  readonly #vault: MemoryVault;
  readonly #life = new Life();

  private constructor(config: MemManualConfig) {
    const resolved = resolveManualConfig(config);
    this.#config = resolved;
    this.isWalletMode = resolved.signer.kind === "wallet";
    this.#exchange = new HttpExchange(resolved.base, MAX_ANSWER_BYTES);
    this.#parts = clientParts(
      this.#exchange,
      resolved.base,
      this.#life,
    );
    this.#vault = new MemoryVault(resolved, this.#parts);
  }

  /**
   * Creates a client. No request is sent before the first call.
   *
   * @throws {TypeError} When something of the configuration is missing, contradicts
   * something else, or is not what it must be.
   */
  static create(config: MemManualConfig): MemManual {
    return new MemManual(config);
  }

  /**
   * Embeds and encrypts a text, and stores it at the relayer. When this
   * returns, recall can find the memory.
   *
   * @param namespace the memory's namespace, the client's when not given
   * @throws {TypeError} When an argument is not what it must be.
   * @throws {MemEmbeddingError} When the text cannot be embedded.
   * @throws {MemLedgerError} When the ledger cannot be reached, or does not
   * have what the configuration names.
   * @throws {MemError} When the relayer cannot be reached or refuses.
   */
  async rememberManual(
    text: string,
    namespace?: string,
    { signal }: CallOptions = {},
  ): Promise<RememberManualResult> {
    const parts = this.#use(signal);
    const content = textToStore(text);
    const place = requireName(namespace ?? parts.namespace, "namespace");
    const [vector, encryptedData] = await this.#alive(
      both(this.#embed(content), this.#vault.seal(content, place)),
      parts,
    );
    return await rememberManual(parts, {
      encryptedData,
      vector,
      namespace: place,
    });
  }

  /**
   * Finds memories by a question and decrypts them. Memories that cannot be
   * decrypted are left out of the results, listed in `dropped` and passed to
   * `onDecryptError`.
   *
   * A wallet that has to sign first has no timeout, since its user has to
   * agree. Everything up to the request for keys has the timeout
   * `recallTimeoutMs`, and key servers have 10 seconds.
   *
   * @throws {TypeError} When the second argument is a namespace, or an argument is
   * not what it must be.
   * @throws {MemEmbeddingError} When the question cannot be embedded.
   * @throws {MemKeyServerError} When too few key servers give keys.
   * @throws {MemLedgerError} When the ledger cannot be reached, or does not
   * have what the configuration names.
   * @throws {MemError} When the relayer cannot be reached or refuses.
   */
  async recallManual(
    query: string,
    limit?: number | RecallManualOptions,
    namespace?: string,
  ): Promise<RecallManualMemoryResult> {
    const { signal } = Object(limit);
    const parts = this.#use(signal);
    const question = readRecallManualArguments([query, limit, namespace]);
    const place = question.namespace ?? parts.namespace;
    const found = await this.#alive(this.#search(question, place), parts);
    const sealed = found.flatMap(({ hit, read }) =>
      read.kind === "ok" ? [{ hit, bytes: read.bytes }] : []
    );
    const opened = await this.#alive(
      this.#vault.open(sealed.map(({ bytes }) => bytes), place),
      parts,
    );
    const results: RecallManualMemory[] = [];
    const reasons = new Map<RecallManualHit, string>();
    for (const { hit, read } of found) {
      if (read.kind === "failed") reasons.set(hit, read.reason);
    }
    for (const [at, { hit }] of sealed.entries()) {
      const outcome = opened[at];
      if (outcome?.kind === "ok") {
        results.push(toMemory(hit, outcome.text));
      } else {
        reasons.set(hit, outcome?.reason ?? "it was not decrypted");
      }
    }
    const dropped = found.flatMap(({ hit }) => {
      const reason = reasons.get(hit);
      if (reason === undefined) return [];
      return [omitUndefined({ id: hit.id, blob_id: hit.blob_id, reason })];
    });
    this.#tell(dropped);
    return { results, total: results.length, dropped };
  }

  /**
   * Puts memories of a namespace that are in the blob store, but not in the
   * index, back into the index. Their vectors are stored with them; where the
   * relayer has lost the vectors as well, the memories are decrypted and
   * embedded again here.
   *
   * @param limit the most memories to index in this call, 10 when not given;
   * the relayer allows 1 to 100
   * @throws {TypeError} When an argument is not what it must be.
   * @throws {MemError} When the relayer cannot be reached or refuses.
   */
  async restore(
    namespace: string,
    limit?: number,
    { signal }: CallOptions = {},
  ): Promise<RestoreResult> {
    const parts = this.#use(signal);
    const outcome = await restore(parts, namespace, limit);
    const { needs_vectors: lost = [], ...result } = outcome;
    if (lost.length === 0) return result;
    const giving = inTurns(lost, async ({ memory_id, blob_id }) => {
      const isGiven = await this.#giveVector({ memory_id, blob_id }, namespace);
      return isGiven ? [memory_id] : [];
    });
    const given = await this.#alive(giving, parts);
    const ids = given.flat();
    return {
      ...result,
      restored: result.restored + ids.length,
      failed: result.failed - ids.length,
      restored_ids: [...result.restored_ids ?? [], ...ids],
    };
  }

  /**
   * Embeds a memory again whose vector the relayer has lost, and sends the
   * vector.
   */
  async #giveVector(
    { memory_id: id, blob_id }: {
      readonly memory_id: string;
      readonly blob_id: string;
    },
    namespace: string,
  ): Promise<boolean> {
    const signal = this.#life;
    const hit = { id, blob_id, distance: 0 };
    const read = await readBlob(hit, {
      aggregatorUrls: this.#config.aggregatorUrls,
      parts: this.#parts,
      fetch: this.#config.base.fetch,
      signal,
    });
    const [opened] = read.kind === "ok"
      ? await this.#alive(
        this.#vault.open([read.bytes], namespace),
        this.#parts,
      )
      : [read];
    if (opened?.kind !== "ok" || !("text" in opened)) {
      const reason = opened?.kind === "failed" ? opened.reason : "it is gone";
      this.#tell([{ id, blob_id, reason }]);
      return false;
    }
    const vector = await this.#embed(opened.text);
    await this.#parts.exchange.send({
      method: "POST",
      path: `/api/memories/${encodeURIComponent(id)}/vector`,
      body: { vector: Array.from(vector) },
      timeoutMs: this.#parts.requestTimeoutMs,
      signal,
    });
    return true;
  }

  /**
   * Removes the memories of a namespace from the index; `restore` puts them
   * back.
   *
   * @throws {TypeError} When `namespace` is not a name.
   * @throws {MemError} When the relayer cannot be reached or refuses.
   */
  async forget(
    namespace: string,
    { signal }: CallOptions = {},
  ): Promise<ForgetResult> {
    return await forget(this.#use(signal), namespace);
  }

  /**
   * Deletes one memory: its entry in the index and its blob. Copies of the blob
   * that others have made can still be decrypted by everyone that the account
   * names.
   *
   * @throws {MemError} When the owner has no such memory (404), or the relayer cannot
   * be reached or refuses.
   */
  async deleteMemory(
    memoryId: string,
    { signal }: CallOptions = {},
  ): Promise<DeleteMemoryResult> {
    return await deleteMemory(this.#use(signal), memoryId);
  }

  /**
   * Lists a page of the owner's namespaces.
   *
   * @throws {TypeError} When an argument is not what it must be.
   * @throws {MemError} When the relayer cannot be reached or refuses.
   */
  async listNamespaces(
    options: ListNamespacesOptions = {},
  ): Promise<NamespacesResult> {
    return await listNamespaces(this.#use(options.signal), options);
  }

  /**
   * Lists a page of the owner's memories without their texts.
   *
   * @throws {TypeError} When an argument is not what it must be.
   * @throws {MemError} When the relayer cannot be reached or refuses.
   */
  async listMemories(
    options: ListMemoriesOptions = {},
  ): Promise<MemoriesResult> {
    return await listMemories(this.#use(options.signal), options);
  }

  /**
   * Returns the relayer's state; the request is not signed.
   *
   * @throws {MemPreflightTimeout} When it takes longer than `preflightTimeoutMs`.
   * @throws {MemError} When the relayer cannot be reached or is not well.
   */
  async health({ signal }: CallOptions = {}): Promise<HealthResult> {
    return await health(this.#use(signal));
  }

  /**
   * The public key that signs the relayer's requests, 64 hexadecimal digits.
   *
   * @throws {MemError} When the runtime has no Ed25519.
   */
  async getPublicKeyHex(): Promise<string> {
    this.#use();
    return await this.#exchange.publicKeyHex();
  }

  /**
   * Overwrites the keys. Pending and later calls reject with
   * `MemDestroyedError`. A second call does nothing.
   */
  destroy(): void {
    this.#life.abort(new MemDestroyedError());
    this.#exchange.destroy();
    this.#vault.wipe();
    this.#parts.keys.clear();
  }

  /** Does what {@linkcode MemManual.destroy} does, at the end of a block. */
  [Symbol.asyncDispose](): Promise<void> {
    this.destroy();
    return Promise.resolve();
  }

  /**
   * Returns the parts of the client for a call; throws when the client was
   * destroyed, or the caller has ended the call.
   */
  #use(signal?: AbortSignal): ClientParts {
    if (this.#life.aborted) throw new MemDestroyedError();
    return partsUntil(this.#parts, signal);
  }

  async #search(
    { query, limit, scoringWeights }: RecallManualOptions & {
      readonly query: string;
    },
    namespace: string,
  ): Promise<readonly FoundBlob[]> {
    const { recallTimeoutMs: timeoutMs, clock } = this.#parts;
    return await runWithin(async (signal) => {
      const vector = await this.#embed(query);
      const { results } = await recallManual(this.#parts, {
        vector,
        limit,
        namespace,
        scoringWeights,
        includeData: this.#config.aggregatorUrls.length === 0,
      });
      return await inTurns(results.slice(0, MAX_HITS), async (hit) => ({
        hit,
        read: await readBlob(hit, {
          aggregatorUrls: this.#config.aggregatorUrls,
          parts: this.#parts,
          fetch: this.#config.base.fetch,
          signal,
        }),
      }));
    }, {
      signals: [this.#life],
      deadline: {
        clock,
        timeoutMs,
        error: () => new MemRequestTimeout({ phase: "recall", timeoutMs }),
      },
    });
  }

  async #embed(text: string): ReturnType<typeof embedText> {
    return await embedText(text, {
      choice: this.#config.embedding,
      parts: this.#parts,
      fetch: this.#config.base.fetch,
    });
  }

  /**
   * Waits for `work`, but rejects as soon as the client is destroyed or the
   * caller ends the call.
   */
  async #alive<T>(work: Promise<T>, { signal }: ClientParts): Promise<T> {
    return await runWithin(() => work, { signals: [signal] });
  }

  #tell(dropped: readonly DroppedMemory[]): void {
    const { onDecryptError } = this.#config;
    // An error of the application's function, thrown or rejected, must not lose
    // the memories that could be decrypted.
    for (const memory of dropped) {
      const telling = async () => await onDecryptError?.(memory);
      telling().catch(() => {});
    }
  }
}

/** A memory that was found, and its blob or the reason why there is no blob. */
interface FoundBlob {
  readonly hit: RecallManualHit;
  readonly read: BlobRead;
}

function textToStore(text: unknown): string {
  const content = requireText(text, "text");
  if (content === "") throw new TypeError("Cannot use text: it is empty");
  const { length } = new TextEncoder().encode(content);
  if (length <= MAX_TEXT_BYTES) return content;
  throw new TypeError(
    `Cannot use text: it has ${length} bytes, and ${MAX_TEXT_BYTES} are possible`,
  );
}

function toMemory(hit: RecallManualHit, text: string): RecallManualMemory {
  const { id, blob_id, distance, created_at, score } = hit;
  return omitUndefined({ id, blob_id, text, distance, created_at, score });
}

/**
 * Calls the function for each item, a limited number of them at a time, and
 * returns the results in the order of the items.
 */
async function inTurns<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  const queue = items.entries();
  const worker = async () => {
    for (const [at, item] of queue) results[at] = await work(item);
  };
  await Promise.all(Array.from({ length: MAX_READS }, worker));
  return results;
}

/**
 * Returns the results of both promises. When one rejects, this rejects only
 * after the other has settled, too.
 */
async function both<First, Second>(
  first: Promise<First>,
  second: Promise<Second>,
): Promise<readonly [First, Second]> {
  await Promise.allSettled([first, second]);
  return await Promise.all([first, second]);
}
