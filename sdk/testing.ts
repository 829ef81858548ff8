/**
 * A test double of the memory client: it works without a relayer, a network or
 * waiting.
 *
 * ```ts
 * import { MemMock } from "@tercet/sdk/testing";
 *
 * const mock = MemMock.create();
 * await mock.mem.rememberAndWait("Ada drinks tea");
 * const { results } = await mock.mem.recall({ query: "What does Ada drink?" });
 * console.log(results[0]?.text); // Ada drinks tea
 * ```
 *
 * @module
 */

import { throwIfEnded } from "./memory/life.ts";
import {
  type ClientClock,
  machineClock,
  pause,
} from "./memory/client_clock.ts";
import type { MemConfig } from "./memory/config.ts";
import { Mem } from "./memory/mem.ts";
import { quote } from "./memory/server_text.ts";
import { FailurePlan, type MockFailure } from "./mock/mock_failures.ts";
import type { JobEnd, MockMemory } from "./mock/mock_memory.ts";
import {
  findRoute,
  type MockRelayerOptions,
  type MockRoute,
} from "./mock/mock_exchange.ts";
import { MockRelayer } from "./mock/mock_relayer.ts";
import { MOCK_ACCOUNT } from "./mock/mock_views.ts";

export type { ClientClock, ClientTimer } from "./memory/client_clock.ts";
export type { MemConfig, MemTokenConfig } from "./memory/config.ts";
export type { DelegateSigner } from "./memory/signer.ts";
export { Mem } from "./memory/mem.ts";
export type { Metadata } from "./memory/remember_types.ts";
export type { MockFailure } from "./mock/mock_failures.ts";
export type { JobEnd, MockMemory } from "./mock/mock_memory.ts";
export type { MockRoute } from "./mock/mock_exchange.ts";

/** Options of {@linkcode MemMock.create}. */
export interface MemMockOptions {
  /**
   * The namespace of calls that name none.
   *
   * @default {"default"}
   */
  readonly namespace?: string | undefined;
  /**
   * Tells the time at which memories are written, and sets all timers.
   *
   * @default the machine's clock
   */
  readonly clock?: ClientClock | undefined;
  /**
   * Returns the facts that `analyze` finds in a text; 20 of them at most are
   * used.
   *
   * @default the text's sentences that are not questions
   */
  readonly facts?: ((text: string) => readonly string[]) | undefined;
  /**
   * Returns the answer of `ask`, from the texts of the relevant memories, the
   * closest first.
   *
   * @default the first text, or "I do not know."
   */
  readonly answer?:
    | ((question: string, texts: readonly string[]) => string)
    | undefined;
  /**
   * The most bytes of memories in a recall's answer, which always has at least
   * one memory; the others are listed in `omitted_ids`.
   *
   * @default {1048576}
   */
  readonly maxAnswerBytes?: number | undefined;
}

/** A request that a client of the mock has sent. */
export interface SentRequest {
  /** The HTTP method. */
  readonly method: string;
  /** The path and the query. */
  readonly path: string;
  /** The JSON that was sent; undefined for a request without a body. */
  readonly body: unknown;
}

const MAX_ANSWER_BYTES = 1_048_576;

/**
 * An offline double of {@linkcode Mem}. Its `mem` is a `Mem` like any other: it
 * checks arguments, polls jobs and throws errors as it does with a relayer. Its
 * relayer works in memory, and finds texts by their words and not by their
 * meaning.
 *
 * @example An application that makes its client itself
 * ```ts
 * import { Mem } from "@tercet/sdk";
 * import { MemMock } from "@tercet/sdk/testing";
 *
 * const mock = MemMock.create();
 * const mem = Mem.create({ ...mock.config, namespace: "habits" });
 * await mem.rememberAndWait("Ada drinks tea");
 * console.log(mock.memories("habits").length); // 1
 * ```
 */
export class MemMock {
  /**
   * The configuration of the mock's clients. Its key and account are the same
   * for all mocks and give access to nothing.
   */
  readonly config: MemConfig;
  /** A client of the mock. */
  readonly mem: Mem;
  readonly #options: MockRelayerOptions;
  readonly #failures = new FailurePlan();
  readonly #requests: SentRequest[] = [];
  #relayer: MockRelayer;

  private constructor(options: MemMockOptions) {
    const { clock = machineClock, namespace = "default" } = options;
    const { facts = splitSentences, answer = pickFirst } = options;
    const { maxAnswerBytes = MAX_ANSWER_BYTES } = options;
    this.#options = { clock, facts, answer, maxAnswerBytes };
    this.#relayer = new MockRelayer(this.#options);
    this.config = {
      key: MOCK_ACCOUNT.key,
      accountId: MOCK_ACCOUNT.accountId,
      serverUrl: "http://mem-mock.invalid",
      namespace,
      clock,
      fetch: (url, init) => this.#fetch(url, init),
    };
    this.mem = Mem.create(this.config);
  }

  /**
   * Creates a mock without memories.
   *
   * @example
   * ```ts
   * import { MemMock } from "@tercet/sdk/testing";
   *
   * const mock = MemMock.create({
   *   namespace: "habits",
   *   facts: () => ["Ada drinks tea"],
   *   answer: (_question, texts) => `I know of ${texts.length} memories.`,
   * });
   * const { facts } = await mock.mem.analyze("Tea again, as always!");
   * console.log(facts[0]?.text); // Ada drinks tea
   * ```
   *
   * @throws {TypeError} When the namespace is not a name.
   */
  static create(options: MemMockOptions = {}): MemMock {
    return new MemMock(options);
  }

  /** The requests that clients have sent, in order. */
  get requests(): readonly SentRequest[] {
    return [...this.#requests];
  }

  /**
   * The memories that recall can find in a namespace, in the order they were written.
   *
   * @param namespace the mock's namespace when not given
   */
  memories(
    namespace: string = this.config.namespace ?? "",
  ): readonly MockMemory[] {
    return this.#relayer.store.found(namespace).map(({ memory }) => memory);
  }

  /**
   * Keeps later jobs pending until {@linkcode MemMock.releaseJobs} or
   * {@linkcode MemMock.endJob} ends them.
   *
   * @example
   * ```ts
   * import { MemMock } from "@tercet/sdk/testing";
   *
   * const mock = MemMock.create();
   * mock.holdJobs();
   * const { job_id } = await mock.mem.remember("Ada drinks tea");
   * console.log((await mock.mem.getRememberStatus(job_id)).status); // running
   * mock.releaseJobs();
   * console.log((await mock.mem.getRememberStatus(job_id)).status); // done
   * ```
   */
  holdJobs(): void {
    this.#relayer.store.isHolding = true;
  }

  /**
   * Ends the pending jobs, and lets later ones be done at once. Clients that
   * wait for these jobs go on.
   *
   * @param end how the jobs end; `done` when not given
   */
  releaseJobs(end: JobEnd = "done"): void {
    this.#relayer.store.isHolding = false;
    this.#relayer.store.endJobs(end);
  }

  /**
   * Ends one pending job.
   *
   * @throws {TypeError} When no job of this id is pending.
   */
  endJob(jobId: string, end: JobEnd = "done"): void {
    if (this.#relayer.store.endJob(jobId, end)) return;
    throw new TypeError(
      `Cannot end job ${quote(jobId)}: no job of this id waits; call ` +
        "holdJobs() before it is begun",
    );
  }

  /**
   * Makes the next requests to a route fail, or with `"*"` those to any route.
   * Several failures of one route happen one after the other.
   *
   * @example
   * ```ts
   * import { MemMock } from "@tercet/sdk/testing";
   *
   * const mock = MemMock.create();
   * mock.fail("POST /api/recall", {
   *   kind: "status",
   *   status: 429,
   *   retryAfterSeconds: 7,
   * });
   * await mock.mem.recall("tea").catch(({ name, retryAfterSeconds }) => {
   *   console.log(name, retryAfterSeconds); // RateLimitError 7
   * });
   * ```
   *
   * @throws {TypeError} When there is no such route, or the failure is not valid.
   */
  fail(route: MockRoute | "*", failure: MockFailure): void {
    this.#failures.add(route, failure);
  }

  /**
   * Removes all memories, jobs, failures and recorded requests; pending jobs
   * fail first. Clients can still be used. For mocks that several tests share.
   */
  reset(): void {
    this.releaseJobs("failed");
    this.#relayer = new MockRelayer(this.#options);
    this.#failures.clear();
    this.#requests.length = 0;
  }

  async #fetch(href: string, init: RequestInit): Promise<Response> {
    const { method = "GET" } = init;
    const signal = init.signal ?? new AbortController().signal;
    throwIfEnded(signal);
    const { pathname, search, searchParams } = new URL(href);
    const body = await readBody(init);
    this.#requests.push({ method, path: pathname + search, body });
    const failure = this.#failures.take(findRoute(method, pathname)?.route);
    if (failure?.kind === "no_answer") {
      throw new TypeError("Cannot reach the mock: it was told not to answer");
    }
    if (failure?.kind === "status") return failedResponse(failure);
    const { status, json, headers = {} } = await this.#relayer.answer({
      ...{ method, path: pathname, query: searchParams, body, signal },
      headers: new Headers(init.headers),
    });
    if (failure?.kind === "lost_answer") {
      throw new TypeError(
        "Cannot read the answer: the mock was told to lose it",
      );
    }
    if (failure?.kind === "slow") await this.#delay(failure.delayMs, signal);
    return createResponse(json, { status, headers });
  }

  #delay(delayMs: number, signal: AbortSignal): Promise<void> {
    if (delayMs !== Infinity) {
      return pause(delayMs, { clock: this.#options.clock, signal });
    }
    return new Promise((_, reject) => {
      const end = (): void => reject(signal.reason);
      if (signal.aborted) return end();
      signal.addEventListener("abort", end, { once: true });
    });
  }
}

async function readBody({ body }: RequestInit): Promise<unknown> {
  if (body === undefined || body === null) return undefined;
  const text = await new Response(body).text();
  return text === "" ? undefined : JSON.parse(text);
}

function failedResponse(
  { status, error, retryAfterSeconds }: Extract<
    MockFailure,
    { readonly kind: "status" }
  >,
): Response {
  const headers: Readonly<Record<string, string>> =
    retryAfterSeconds === undefined
      ? {}
      : { "retry-after": String(retryAfterSeconds) };
  return createResponse(
    { error: error ?? "the mock was told to refuse" },
    { status, headers },
  );
}

function createResponse(
  json: unknown,
  { status, headers }: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
  },
): Response {
  if (json === undefined) return new Response(null, { status, headers });
  const type = { "content-type": "application/json" };
  return new Response(JSON.stringify(json), {
    status,
    headers: { ...type, ...headers },
  });
}

function splitSentences(text: string): readonly string[] {
  return (text.match(/[^.!?\n]+[.!?]*/g) ?? [])
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== "" && !sentence.endsWith("?"));
}

function pickFirst(_question: string, [text]: readonly string[]): string {
  return text ?? "I do not know.";
}
