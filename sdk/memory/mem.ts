/**
 * The memory client, which remembers texts for an account and finds them again.
 *
 * @module
 */

import { type CallOptions, Life } from "./life.ts";
import { runWithin } from "./client_clock.ts";
import { namespaceOrOptions } from "./arguments.ts";
import { type ClientParts, clientParts, partsUntil } from "./client_parts.ts";
import type { RelayerCompatibility } from "./compatibility.ts";
import {
  type MemConfig,
  type MemTokenConfig,
  resolveConfig,
} from "./config.ts";
import { MemDestroyedError } from "./errors.ts";
import { HttpExchange } from "./http_exchange.ts";
import { getRememberBulkStatus, getRememberStatus } from "./job_status.ts";
import {
  analyze,
  analyzeAndWait,
  type AnalyzeAndWaitOptions,
  type AnalyzeAndWaitResult,
  type AnalyzeOptions,
  type AnalyzeResult,
  ask,
  type AskOptions,
  type AskResult,
} from "./language_model.ts";
import {
  listMemories,
  type ListMemoriesOptions,
  listNamespaces,
  type ListNamespacesOptions,
  type MemoriesResult,
  type NamespacesResult,
} from "./listings.ts";
import {
  embed,
  recallManual,
  type RecallManualHitResult,
  type RecallManualParams,
  rememberManual,
  type RememberManualParams,
  type RememberManualResult,
} from "./manual.ts";
import {
  deleteMemory,
  type DeleteMemoryResult,
  forget,
  type ForgetResult,
  restore,
  type RestoreResult,
  stats,
  type StatsResult,
} from "./namespaces.ts";
import type { WhoamiResult } from "./owner_lookup.ts";
import type { Receipt, ReceiptCheck, VerifyReceiptOptions } from "./receipt.ts";
import { recall } from "./recall.ts";
import type {
  RecallOptions,
  RecallParams,
  RecallResult,
} from "./recall_types.ts";
import {
  remember,
  rememberAndWait,
  rememberBulk,
  rememberBulkAndWait,
} from "./remember.ts";
import type {
  RememberAcceptedResult,
  RememberAndWaitOptions,
  RememberBulkAcceptedResult,
  RememberBulkAndWaitOptions,
  RememberBulkItem,
  RememberBulkOptions,
  RememberBulkResult,
  RememberBulkStatusResult,
  RememberJobStatus,
  RememberOptions,
  RememberResult,
  WaitOptions,
} from "./remember_types.ts";
import { health, type HealthResult } from "./service.ts";
import { countTokens } from "./token_budget.ts";
import { waitForRememberJob, waitForRememberJobs } from "./wait_for_jobs.ts";

/**
 * Remembers texts for an account and finds them again. The client acts for the
 * account with a delegate's key, or an access token that such a key has signed;
 * each call is one request, signed with that key, unless its description says that it waits. The client never retries a
 * request by itself.
 *
 * @example Remember and recall
 * ```ts
 * import { Mem } from "@tercet/sdk";
 *
 * const mem = Mem.create({
 *   key: "07".repeat(32), // the delegate's private key
 *   accountId: "0xa11ce",
 *   ranking: "fused", // by words and meaning
 * });
 * await mem.rememberAndWait("Ada drinks tea");
 * const { results } = await mem.recall({ query: "What does Ada drink?" });
 * console.log(results[0]?.text); // Ada drinks tea
 * mem.destroy();
 * ```
 */
export class Mem {
  readonly #exchange: HttpExchange;
  readonly #parts: ClientParts;
  readonly #life = new Life();

  private constructor(config: MemConfig | MemTokenConfig) {
    const resolved = resolveConfig(config);
    this.#exchange = new HttpExchange(resolved);
    this.#parts = clientParts(this.#exchange, resolved, this.#life);
  }

  /**
   * Creates a client. No request is sent before the first call.
   *
   * @example
   * ```ts
   * import { Mem } from "@tercet/sdk";
   *
   * const mem = Mem.create({
   *   key: crypto.getRandomValues(new Uint8Array(32)),
   *   accountId: "0xa11ce",
   *   serverUrl: "http://localhost:8000",
   *   namespace: "habits",
   * });
   * console.log(await mem.getPublicKeyHex());
   * ```
   *
   * @example With an access token in place of the key
   * ```ts
   * import { Mem } from "@tercet/sdk";
   * import { createAccessToken } from "@tercet/sdk/account";
   *
   * const { token } = await createAccessToken({
   *   key: "07".repeat(32),
   *   accountId: "0xa11ce",
   *   access: "read",
   * });
   * const mem = Mem.create({ accessToken: token });
   * const { results } = await mem.recall({ query: "What does Ada drink?" });
   * console.log(results.length);
   * ```
   *
   * @throws {TypeError} When the key or the account is missing, a token is given
   * beside them, or something else of the configuration is not what it must be.
   */
  static create(config: MemConfig | MemTokenConfig): Mem {
    return new Mem(config);
  }

  /**
   * The namespace of calls that name none.
   *
   * @example
   * ```ts
   * import { Mem } from "@tercet/sdk";
   *
   * const mem = Mem.create({ key: "07".repeat(32), accountId: "0xa11ce" });
   * console.log(mem.namespace); // default
   * ```
   */
  get namespace(): string {
    return this.#parts.namespace;
  }

  /**
   * Sends a text to be remembered, and returns as soon as the relayer has
   * accepted it. The second argument is a namespace or an object of options.
   *
   * @example
   * ```ts
   * import { Mem } from "@tercet/sdk";
   *
   * const mem = Mem.create({ key: "07".repeat(32), accountId: "0xa11ce" });
   * const { job_id } = await mem.remember("Ada drinks tea", "habits");
   * await mem.remember("Ada drinks green tea", {
   *   namespace: "habits",
   *   metadata: { person: "Ada" },
   *   supersedes: (await mem.waitForRememberJob(job_id)).id,
   * });
   * ```
   *
   * @throws {TypeError} When an argument is not what it must be.
   * @throws {MemError} When the relayer cannot be reached or refuses.
   */
  async remember(
    text: string,
    namespace?: string | RememberOptions,
    options?: RememberOptions,
  ): Promise<RememberAcceptedResult> {
    const given = namespaceOrOptions(namespace, options);
    return await remember(this.#use(given.signal), text, given);
  }

  /**
   * Alias of {@linkcode Mem.remember}, with a name that says that it does not
   * wait.
   *
   * @example
   * ```ts
   * import { Mem } from "@tercet/sdk";
   *
   * const mem = Mem.create({ key: "07".repeat(32), accountId: "0xa11ce" });
   * const { job_id } = await mem.rememberAsync("Ada drinks tea");
   * console.log(await mem.getRememberStatus(job_id));
   * ```
   *
   * @throws {TypeError} When an argument is not what it must be.
   * @throws {MemError} When the relayer cannot be reached or refuses.
   */
  async rememberAsync(
    text: string,
    namespace?: string | RememberOptions,
    options?: RememberOptions,
  ): Promise<RememberAcceptedResult> {
    return await this.remember(text, namespace, options);
  }

  /**
   * Sends a text to be remembered and waits until its memory is stored, for 60
   * s unless `timeoutMs` says otherwise. The second argument is a namespace or
   * an object of options.
   *
   * @example
   * ```ts
   * import { Mem } from "@tercet/sdk";
   *
   * const mem = Mem.create({ key: "07".repeat(32), accountId: "0xa11ce" });
   * const memory = await mem.rememberAndWait("Ada drinks tea", "habits", {
   *   timeoutMs: 120_000,
   * });
   * console.log(memory.id, memory.blob_id);
   * ```
   *
   * @throws {TypeError} When an argument is not what it must be.
   * @throws {RememberJobError} When no memory was stored, or not in time; see
   * {@linkcode Mem.waitForRememberJob}.
   * @throws {MemError} When the relayer cannot be reached or refuses.
   */
  async rememberAndWait(
    text: string,
    namespace?: string | RememberAndWaitOptions,
    options?: RememberAndWaitOptions,
  ): Promise<RememberResult> {
    const given = namespaceOrOptions(namespace, options);
    return await rememberAndWait(this.#use(given.signal), text, given);
  }

  /**
   * Reads a job's status. The status is `not_found` when the owner has no such
   * job; for an id that no job can have it is so without a request.
   *
   * @example
   * ```ts
   * import { Mem } from "@tercet/sdk";
   *
   * const mem = Mem.create({ key: "07".repeat(32), accountId: "0xa11ce" });
   * const { job_id } = await mem.remember("Ada drinks tea");
   * const { status } = await mem.getRememberStatus(job_id);
   * console.log(status); // running, uploaded or done
   * ```
   *
   * @throws {MemError} When the relayer cannot be reached or refuses.
   */
  async getRememberStatus(
    jobId: string,
    { signal }: CallOptions = {},
  ): Promise<RememberJobStatus> {
    return await getRememberStatus(this.#use(signal), jobId);
  }

  /**
   * Waits until a job is done, for 60 s unless `timeoutMs` says otherwise. Lost
   * answers and the statuses 429 and 500 and above do not end the wait.
   *
   * @example
   * ```ts
   * import { Mem } from "@tercet/sdk";
   *
   * const mem = Mem.create({ key: "07".repeat(32), accountId: "0xa11ce" });
   * const { job_id } = await mem.remember("Ada drinks tea");
   * const { blob_id } = await mem.waitForRememberJob(job_id, {
   *   pollIntervalMs: 500,
   * });
   * console.log(blob_id);
   * ```
   *
   * @throws {RememberJobNotFound} When the owner has no such job (404), or,
   * without a request, when no job can have this id.
   * @throws {RememberJobFailed} When the job failed (500).
   * @throws {RememberJobTimeout} When it is not done in time (504).
   * @throws {RememberJobError} When it is done without a blob (502).
   * @throws {MemError} When the relayer cannot be reached or refuses.
   */
  async waitForRememberJob(
    jobId: string,
    options: WaitOptions = {},
  ): Promise<RememberResult> {
    return await waitForRememberJob(this.#use(options.signal), jobId, options);
  }

  /**
   * Sends 1 to 20 texts to be remembered in one request, and returns as soon as
   * the relayer has accepted them. Either all are accepted or none.
   *
   * @example
   * ```ts
   * import { Mem } from "@tercet/sdk";
   *
   * const mem = Mem.create({ key: "07".repeat(32), accountId: "0xa11ce" });
   * const { job_ids } = await mem.rememberBulk([
   *   { text: "Ada drinks tea" },
   *   { text: "Ada lives in London", namespace: "places" },
   * ]);
   * console.log(job_ids.length); // 2
   * ```
   *
   * @throws {TypeError} When there are no texts or more than 20, or one is not
   * a text.
   * @throws {MemError} When the relayer cannot be reached or refuses.
   */
  async rememberBulk(
    items: readonly RememberBulkItem[],
    options: RememberBulkOptions = {},
  ): Promise<RememberBulkAcceptedResult> {
    return await rememberBulk(this.#use(options.signal), items, options);
  }

  /**
   * Alias of {@linkcode Mem.rememberBulk}, with a name that says that it does
   * not wait.
   *
   * @example
   * ```ts
   * import { Mem } from "@tercet/sdk";
   *
   * const mem = Mem.create({ key: "07".repeat(32), accountId: "0xa11ce" });
   * const { job_ids } = await mem.rememberBulkAsync([{ text: "Ada drinks tea" }], {
   *   idempotencyKey: "import-2026-07-01",
   * });
   * console.log(await mem.getRememberBulkStatus(job_ids));
   * ```
   *
   * @throws {TypeError} When there are no texts or more than 20, or one is not
   * a text.
   * @throws {MemError} When the relayer cannot be reached or refuses.
   */
  async rememberBulkAsync(
    items: readonly RememberBulkItem[],
    options: RememberBulkOptions = {},
  ): Promise<RememberBulkAcceptedResult> {
    return await this.rememberBulk(items, options);
  }

  /**
   * Sends 1 to 20 texts to be remembered and waits until each job has ended,
   * for 120 s unless `timeoutMs` says otherwise. The result has the outcome of
   * each job; a failed job is not an exception.
   *
   * @example
   * ```ts
   * import { Mem } from "@tercet/sdk";
   *
   * const mem = Mem.create({ key: "07".repeat(32), accountId: "0xa11ce" });
   * const outcome = await mem.rememberBulkAndWait([{ text: "Ada drinks tea" }]);
   * for (const { status, error } of outcome.results) {
   *   if (status !== "done") console.log(status, error);
   * }
   * ```
   *
   * @throws {TypeError} When there are no texts or more than 20, or one is not
   * a text.
   * @throws {MemError} When the relayer cannot be reached or refuses.
   */
  async rememberBulkAndWait(
    items: readonly RememberBulkItem[],
    options: RememberBulkAndWaitOptions = {},
  ): Promise<RememberBulkResult> {
    return await rememberBulkAndWait(
      this.#use(options.signal),
      items,
      options,
    );
  }

  /**
   * Reads the status of several jobs once. The result has the order of
   * `jobIds`.
   *
   * @example
   * ```ts
   * import { Mem } from "@tercet/sdk";
   *
   * const mem = Mem.create({ key: "07".repeat(32), accountId: "0xa11ce" });
   * const { job_ids } = await mem.rememberBulk([{ text: "Ada drinks tea" }]);
   * const { results } = await mem.getRememberBulkStatus(job_ids);
   * console.log(results[0]?.status);
   * ```
   *
   * @throws {TypeError} When `jobIds` is not a list.
   * @throws {MemError} When the relayer cannot be reached or refuses.
   */
  async getRememberBulkStatus(
    jobIds: readonly string[],
    options: CallOptions & { readonly timeoutMs?: number | undefined } = {},
  ): Promise<RememberBulkStatusResult> {
    return await getRememberBulkStatus(
      this.#use(options.signal),
      jobIds,
      options,
    );
  }

  /**
   * Waits until each of several jobs has ended, for 120 s unless `timeoutMs`
   * says otherwise. The result has the outcome of each job; a failed job is not
   * an exception. The namespaces of the jobs, where they are given, are used
   * where the relayer does not report them.
   *
   * @example
   * ```ts
   * import { Mem } from "@tercet/sdk";
   *
   * const mem = Mem.create({ key: "07".repeat(32), accountId: "0xa11ce" });
   * const { job_ids } = await mem.rememberBulk([{ text: "Ada drinks tea" }]);
   * const { succeeded, timedOut } = await mem.waitForRememberJobs(job_ids);
   * console.log(succeeded, timedOut);
   * ```
   *
   * @throws {TypeError} When `jobIds` is not a list.
   * @throws {MemError} When the relayer cannot be reached or refuses.
   */
  async waitForRememberJobs(
    jobIds: readonly string[],
    namespaces: readonly string[] = [],
    options: WaitOptions = {},
  ): Promise<RememberBulkResult> {
    return await waitForRememberJobs(this.#use(options.signal), jobIds, {
      ...options,
      namespaces,
    });
  }

  /**
   * Finds memories by a question in plain words: by default those closest in
   * meaning, with `ranking: "fused"` those that match by words and meaning, or
   * in the order that `sort` and `scoringWeights` say. `recall(query)`,
   * `recall(query, limit)`, `recall(query, limit, namespace)` and
   * `recall(query, options)` are older forms.
   *
   * The relayer limits the bytes of an answer. When `truncated` is true, the
   * same recall with `omitted_ids` as `ids` returns the memories that were left
   * out.
   *
   * @example
   * ```ts
   * import { Mem } from "@tercet/sdk";
   *
   * const mem = Mem.create({ key: "07".repeat(32), accountId: "0xa11ce" });
   * const { results } = await mem.recall({
   *   query: "What does Ada drink?",
   *   ranking: "fused",
   *   limit: 3,
   *   filter: { person: "Ada" },
   * });
   * for (const { text, relevance = 1 } of results) {
   *   if (relevance >= 0.3) console.log(relevance, text);
   * }
   * ```
   *
   * @throws {TypeError} When the second argument is a namespace, or an argument is
   * not what it must be.
   * @throws {MemRequestTimeout} When the recall takes longer than `timeoutMs`
   * (504).
   * @throws {MemError} When the relayer cannot be reached or refuses.
   */
  async recall(
    query: string | RecallParams,
    limit?: number | RecallOptions,
    namespace?: string,
  ): Promise<RecallResult> {
    const { signal } = Object(typeof query === "string" ? limit : query);
    return await recall(this.#use(signal), [query, limit, namespace]);
  }

  /**
   * Extracts facts from a text, and returns as soon as the jobs that store them
   * are accepted. The second argument is a namespace or an object of options.
   *
   * @example
   * ```ts
   * import { Mem } from "@tercet/sdk";
   *
   * const mem = Mem.create({ key: "07".repeat(32), accountId: "0xa11ce" });
   * const { facts } = await mem.analyze("Yesterday Ada moved to London.", {
   *   occurredAt: new Date("2026-07-01T12:00:00Z"),
   * });
   * for (const { text } of facts) console.log(text);
   * ```
   *
   * @throws {TypeError} When an argument is not what it must be.
   * @throws {MemError} When the relayer cannot be reached or refuses.
   */
  async analyze(
    text: string,
    namespace?: string | AnalyzeOptions,
  ): Promise<AnalyzeResult> {
    const given = namespaceOrOptions(namespace);
    return await analyze(this.#use(given.signal), text, given);
  }

  /**
   * Extracts facts from a text and waits until each is stored, for 120 s unless
   * `timeoutMs` says otherwise. The result has the outcome of each fact; a
   * failed one is not an exception.
   *
   * @example
   * ```ts
   * import { Mem } from "@tercet/sdk";
   *
   * const mem = Mem.create({ key: "07".repeat(32), accountId: "0xa11ce" });
   * const outcome = await mem.analyzeAndWait("Ada moved to London.", "places");
   * console.log(outcome.facts.length, outcome.succeeded);
   * ```
   *
   * @throws {TypeError} When an argument is not what it must be.
   * @throws {MemError} When the relayer cannot be reached or refuses.
   */
  async analyzeAndWait(
    text: string,
    namespace?: string | AnalyzeAndWaitOptions,
    options?: AnalyzeAndWaitOptions,
  ): Promise<AnalyzeAndWaitResult> {
    const given = namespaceOrOptions(namespace, options);
    return await analyzeAndWait(this.#use(given.signal), text, given);
  }

  /**
   * Answers a question from the memories that are relevant to it, which are
   * found by words and meaning unless `ranking` says otherwise. The second
   * argument is a namespace or an object of options.
   *
   * @example
   * ```ts
   * import { Mem } from "@tercet/sdk";
   *
   * const mem = Mem.create({ key: "07".repeat(32), accountId: "0xa11ce" });
   * const { answer, memories } = await mem.ask("Where does Ada live?");
   * console.log(answer, memories.length);
   * ```
   *
   * @throws {TypeError} When an argument is not what it must be.
   * @throws {MemError} When the relayer cannot be reached or refuses.
   */
  async ask(
    question: string,
    namespace?: string | AskOptions,
  ): Promise<AskResult> {
    const given = namespaceOrOptions(namespace);
    return await ask(this.#use(given.signal), question, given);
  }

  /**
   * Puts memories of a namespace that are in the blob store, but not in the
   * index, back into the index. In one call these are at most `limit`: 10 by
   * default, 100 at most.
   *
   * @example
   * ```ts
   * import { Mem } from "@tercet/sdk";
   *
   * const mem = Mem.create({ key: "07".repeat(32), accountId: "0xa11ce" });
   * const { restored, truncated } = await mem.restore("habits", 100);
   * console.log(restored, truncated ? "and there is more" : "and that is all");
   * ```
   *
   * @throws {TypeError} When an argument is not what it must be.
   * @throws {MemError} When the relayer cannot be reached or refuses.
   */
  async restore(
    namespace: string,
    limit?: number,
    { signal }: CallOptions = {},
  ): Promise<RestoreResult> {
    return await restore(this.#use(signal), namespace, limit);
  }

  /**
   * Removes all memories of a namespace from the index, so that recall does not
   * find them. Their blobs stay, and {@linkcode Mem.restore} puts the memories
   * back.
   *
   * @example
   * ```ts
   * import { Mem } from "@tercet/sdk";
   *
   * const mem = Mem.create({ key: "07".repeat(32), accountId: "0xa11ce" });
   * const { deleted } = await mem.forget("habits");
   * console.log(deleted);
   * ```
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
   * Deletes one memory for good: recall no longer finds it, and the key of its
   * blob is destroyed. A memory's id is the id of its job, and recall returns
   * it, too.
   *
   * @example
   * ```ts
   * import { Mem } from "@tercet/sdk";
   *
   * const mem = Mem.create({ key: "07".repeat(32), accountId: "0xa11ce" });
   * const { id } = await mem.rememberAndWait("Ada drinks coffee");
   * await mem.deleteMemory(id);
   * ```
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
   * Verifies a receipt that the relayer has signed: the `receipt` of a memory
   * that was remembered, or of a deletion. When the configuration has
   * `receiptKeys`, no request is sent. A receipt shows that the relayer
   * accepted something, not that the relayer still has it.
   *
   * @example
   * ```ts
   * import { Mem } from "@tercet/sdk";
   *
   * const mem = Mem.create({ key: "07".repeat(32), accountId: "0xa11ce" });
   * const text = "Ada drinks tea";
   * const { receipt, content_salt } = await mem.rememberAndWait(text);
   * if (receipt !== undefined && content_salt !== undefined) {
   *   const check = await mem.verifyReceipt(receipt, {
   *     text,
   *     contentSalt: content_salt,
   *   });
   *   console.log(check.kind); // ok
   * }
   * ```
   *
   * @throws {TypeError} When a text is given without its salt, or together with
   * bytes.
   * @throws {MemError} When the relayer's keys are needed and cannot be read.
   */
  async verifyReceipt(
    receipt: Receipt,
    options?: VerifyReceiptOptions,
  ): Promise<ReceiptCheck> {
    const parts = this.#use(options?.signal);
    const { verifyReceipt } = await import("./verify_receipt.ts");
    return await verifyReceipt(parts, receipt, options);
  }

  /**
   * Counts the memories of a namespace, of the client's when none is given.
   *
   * @example
   * ```ts
   * import { Mem } from "@tercet/sdk";
   *
   * const mem = Mem.create({ key: "07".repeat(32), accountId: "0xa11ce" });
   * const { memory_count, storage_bytes } = await mem.stats("habits");
   * console.log(memory_count, storage_bytes);
   * ```
   *
   * @throws {TypeError} When an argument is not what it must be.
   * @throws {MemError} When the relayer cannot be reached or refuses.
   */
  async stats(
    namespace?: string,
    { signal }: CallOptions = {},
  ): Promise<StatsResult> {
    return await stats(this.#use(signal), namespace);
  }

  /**
   * Returns the account that the relayer recognizes by the client's key.
   *
   * @example
   * ```ts
   * import { Mem } from "@tercet/sdk";
   *
   * const mem = Mem.create({ key: "07".repeat(32), accountId: "0xa11ce" });
   * const { owner } = await mem.whoami();
   * console.log(owner);
   * ```
   *
   * @throws {MemError} When the relayer cannot be reached or refuses.
   */
  async whoami({ signal }: CallOptions = {}): Promise<WhoamiResult> {
    const { owner, signal: ended } = this.#use(signal);
    return await runWithin(() => owner.whoami(), { signals: [ended] });
  }

  /**
   * Lists a page of the owner's namespaces.
   *
   * @example
   * ```ts
   * import { Mem } from "@tercet/sdk";
   *
   * const mem = Mem.create({ key: "07".repeat(32), accountId: "0xa11ce" });
   * let cursor: string | undefined;
   * do {
   *   const page = await mem.listNamespaces({ cursor });
   *   for (const { name } of page.namespaces) console.log(name);
   *   cursor = page.has_more ? page.next_cursor ?? undefined : undefined;
   * } while (cursor !== undefined);
   * ```
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
   * Lists a page of the owner's memories without their texts, and of the
   * memories that were deleted. A cursor that is kept returns later what has
   * changed since.
   *
   * @example
   * ```ts
   * import { Mem } from "@tercet/sdk";
   *
   * const mem = Mem.create({ key: "07".repeat(32), accountId: "0xa11ce" });
   * const page = await mem.listMemories({ namespace: "habits", limit: 500 });
   * for (const { memory_id } of page.memories) console.log(memory_id);
   * ```
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
   * Returns the relayer's state. A successful answer says that the relayer can
   * be reached; the key and the account are not checked.
   *
   * @example
   * ```ts
   * import { Mem } from "@tercet/sdk";
   *
   * const mem = Mem.create({ key: "07".repeat(32), accountId: "0xa11ce" });
   * const { status } = await mem.health();
   * console.log(status); // ok
   * ```
   *
   * @throws {MemPreflightTimeout} When it takes longer than `preflightTimeoutMs`.
   * @throws {MemError} When the relayer cannot be reached or is not healthy.
   */
  async health({ signal }: CallOptions = {}): Promise<HealthResult> {
    return await health(this.#use(signal));
  }

  /**
   * Reads the relayer's versions and features, and checks that they are
   * compatible with this client. The client does so by itself before the first
   * signed request.
   *
   * @example
   * ```ts
   * import { Mem } from "@tercet/sdk";
   *
   * const mem = Mem.create({ key: "07".repeat(32), accountId: "0xa11ce" });
   * const { apiVersion } = await mem.compatibility();
   * console.log(apiVersion); // 1.0.0
   * ```
   *
   * @throws {MemCompatibilityError} When they are not compatible.
   * @throws {MemPreflightTimeout} When it takes longer than `preflightTimeoutMs`.
   * @throws {MemError} When the relayer cannot be reached.
   */
  async compatibility(
    { signal }: CallOptions = {},
  ): Promise<RelayerCompatibility> {
    const { signal: ended } = this.#use(signal);
    return await runWithin(() => this.#exchange.compatibility(), {
      signals: [ended],
    });
  }

  /**
   * Returns the public key of the delegate, or of the one that signed the access
   * token, 64 hexadecimal digits.
   *
   * @example
   * ```ts
   * import { Mem } from "@tercet/sdk";
   *
   * const mem = Mem.create({ key: "07".repeat(32), accountId: "0xa11ce" });
   * console.log(await mem.getPublicKeyHex());
   * ```
   *
   * @throws {MemError} When the runtime has no Ed25519.
   */
  async getPublicKeyHex(): Promise<string> {
    this.#use();
    return await this.#exchange.publicKeyHex();
  }

  /**
   * Stores a memory that the application encrypted and embedded.
   *
   * @example
   * ```ts
   * import { Mem } from "@tercet/sdk";
   *
   * const mem = Mem.create({ key: "07".repeat(32), accountId: "0xa11ce" });
   * const vector = await mem.embed("Ada drinks tea");
   * const encryptedData = crypto.getRandomValues(new Uint8Array(64));
   * const { id } = await mem.rememberManual({ encryptedData, vector });
   * console.log(id);
   * ```
   *
   * @throws {TypeError} When an argument is not what it must be.
   * @throws {MemError} When the relayer cannot be reached or refuses.
   */
  async rememberManual(
    params: RememberManualParams,
  ): Promise<RememberManualResult> {
    return await rememberManual(this.#use(params?.signal), params);
  }

  /**
   * Finds memories by a vector. Their texts stay encrypted in their blobs.
   *
   * @example
   * ```ts
   * import { Mem } from "@tercet/sdk";
   *
   * const mem = Mem.create({ key: "07".repeat(32), accountId: "0xa11ce" });
   * const vector = await mem.embed("What does Ada drink?");
   * const { results } = await mem.recallManual({ vector, limit: 3 });
   * for (const { blob_id, distance } of results) console.log(distance, blob_id);
   * ```
   *
   * @throws {TypeError} When an argument is not what it must be.
   * @throws {MemError} When the relayer cannot be reached or refuses.
   */
  async recallManual(
    params: RecallManualParams,
  ): Promise<RecallManualHitResult> {
    return await recallManual(this.#use(params?.signal), params);
  }

  /**
   * Returns the vector of a text, computed by the relayer; nothing is stored.
   *
   * @example
   * ```ts
   * import { Mem } from "@tercet/sdk";
   *
   * const mem = Mem.create({ key: "07".repeat(32), accountId: "0xa11ce" });
   * const vector = await mem.embed("Ada drinks tea");
   * console.log(vector.length); // 1536
   * ```
   *
   * @throws {TypeError} When an argument is not what it must be.
   * @throws {MemError} When the relayer cannot be reached or refuses.
   */
  async embed(
    text: string,
    { signal }: CallOptions = {},
  ): Promise<readonly number[]> {
    return await embed(this.#use(signal), text);
  }

  /**
   * Estimates the tokens of a text: a quarter of its characters, rounded up.
   * Code and scripts other than Latin have more tokens than estimated.
   *
   * @example
   * ```ts
   * import { Mem } from "@tercet/sdk";
   *
   * const mem = Mem.create({ key: "07".repeat(32), accountId: "0xa11ce" });
   * console.log(mem.countTokens("Ada drinks tea")); // 4
   * ```
   */
  countTokens(text: string): number {
    return countTokens(text);
  }

  /**
   * Overwrites the key. Pending and later calls reject with
   * {@linkcode MemDestroyedError}. A second call does nothing.
   *
   * @example
   * ```ts
   * import { Mem } from "@tercet/sdk";
   *
   * const mem = Mem.create({ key: "07".repeat(32), accountId: "0xa11ce" });
   * mem.destroy();
   * ```
   */
  destroy(): void {
    this.#exchange.destroy();
    this.#parts.keys.clear();
    this.#life.abort(new MemDestroyedError());
  }

  /**
   * Does what {@linkcode Mem.destroy} does, at the end of a block.
   *
   * @example
   * ```ts
   * import { Mem } from "@tercet/sdk";
   *
   * await using mem = Mem.create({
   *   key: "07".repeat(32),
   *   accountId: "0xa11ce",
   * });
   * await mem.remember("Ada drinks tea");
   * ```
   */
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
}
