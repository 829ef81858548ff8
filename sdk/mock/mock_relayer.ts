/**
 * A relayer in memory, of one account: it answers the requests of clients as the real
 * one does, with vectors made of words, and keeps nothing outside of it.
 *
 * @module
 */

import type { ClientClock } from "../memory/client_clock.ts";
import {
  bytesOf,
  Fields,
  isRecordId,
  MAX_MODEL_TEXT_BYTES,
  MAX_TEXT_BYTES,
  Refusal,
} from "./mock_fields.ts";
import type { NewText } from "./mock_memory.ts";
import { type MockRoute, routeOf } from "./mock_routes.ts";
import { fitting, type MockHit, orderingOf, search } from "./mock_search.ts";
import { hasEnded, MockStore } from "./mock_store.ts";
import { unitOf, VECTOR_WIDTH, vectorOf } from "./mock_vectors.ts";
import {
  hitView,
  jobView,
  manualHitView,
  memoriesView,
  MOCK_ACCOUNT,
  MOCK_CONTRACT,
  namespacesView,
  type View,
} from "./mock_views.ts";

/** A request to a {@linkcode MockRelayer}. */
export interface MockRequest {
  /** The method. */
  readonly method: string;
  /** The path without its query. */
  readonly path: string;
  /** The query. */
  readonly query: URLSearchParams;
  /** The header fields. */
  readonly headers: Headers;
  /** The body as JSON; undefined where there is none. */
  readonly body: unknown;
  /** Ends what waits. */
  readonly signal: AbortSignal;
}

/** An answer. */
export interface MockAnswer {
  /** The status. */
  readonly status: number;
  /** The body; undefined for none. */
  readonly json: unknown;
  /** Header fields; undefined for none. */
  readonly headers: Readonly<Record<string, string>> | undefined;
}

/** Options of {@linkcode MockRelayer}. */
export interface MockRelayerOptions {
  /** The time. */
  readonly clock: ClientClock;
  /** The facts of a text. */
  readonly facts: (text: string) => readonly string[];
  /** Answers a question from texts. */
  readonly answer: (question: string, texts: readonly string[]) => string;
  /** Bytes of memories that a recall answers with, but always one memory. */
  readonly maxAnswerBytes: number;
}

/** A request to a route that is known. */
interface Call extends MockRequest {
  /** What stands in the path for `:id` and the like, in that order. */
  readonly params: readonly string[];
}

type Handler = (call: Call) => MockAnswer | Promise<MockAnswer>;

const MAX_BULK = 20;
const MAX_RECALL = 100;
const DEFAULT_RECALL = 10;
const DEFAULT_ASK = 5;
const MAX_RESTORE = 100;
const DEFAULT_RESTORE = 10;
const MAX_WAIT_SECONDS = 20;
/** What is farther has not one word of the question that says something. */
const MAX_ANSWER_DISTANCE = 0.95;

/** Answers requests from memory. */
export class MockRelayer {
  /** What it remembers. */
  readonly store: MockStore;
  readonly #options: MockRelayerOptions;
  readonly #handlers: Readonly<Record<MockRoute, Handler>> = {
    "GET /version": () => ok(MOCK_CONTRACT),
    "GET /health": () => ok(healthView()),
    "GET /api/whoami": () => ok(whoamiView()),
    "POST /api/remember": (call) => this.#remember(call),
    "POST /api/remember/bulk": (call) => this.#rememberBulk(call),
    "GET /api/remember/:id": (call) => this.#status(call),
    "POST /api/remember/bulk/status": (call) => this.#bulkStatus(call),
    "POST /api/recall": (call) => this.#recall(call),
    "POST /api/analyze": (call) => this.#analyze(call),
    "POST /api/ask": (call) => this.#ask(call),
    "POST /api/embed": (call) => this.#embed(call),
    "DELETE /api/memories/:id": (call) => this.#delete(call),
    "POST /api/forget": (call) => this.#forget(call),
    "POST /api/restore": (call) => this.#restore(call),
    "POST /api/stats": (call) => this.#stats(call),
    "POST /api/remember/manual": (call) => this.#rememberManual(call),
    "POST /api/recall/manual": (call) => this.#recallManual(call),
    "GET /v1/owners/:owner/memories": ({ params, query }) =>
      ofOwner(params, () => memoriesView(this.store.rows, query)),
    "GET /v1/owners/:owner/namespaces": ({ params, query }) =>
      ofOwner(params, () => namespacesView(this.store.namespaces(), query)),
  };

  /** A relayer that remembers nothing yet. */
  constructor(options: MockRelayerOptions) {
    this.#options = options;
    this.store = new MockStore(options.clock);
  }

  /**
   * Answers a request.
   *
   * @throws {unknown} The reason of the request's signal, when that aborts while an
   * answer waits for news of a job.
   */
  async answer(request: MockRequest): Promise<MockAnswer> {
    const { method, path } = request;
    const found = routeOf(method, path);
    try {
      if (found === undefined) {
        throw new Refusal(404, `Cannot find ${method} ${path}: no such route`);
      }
      const { route, params, isSigned } = found;
      const stranger = isSigned ? strangerOf(request) : undefined;
      return stranger ?? await this.#handlers[route]({ ...request, params });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return answerOf(error.status, { error: error.message });
    }
  }

  #remember({ body }: Call): MockAnswer {
    const fields = new Fields(body, { action: "remember text" });
    const [jobId] = this.store.accept([newTextOf(fields)], {
      status: "running",
      key: fields.name("idempotency_key"),
    });
    return answerOf(202, { job_id: jobId, status: "running" });
  }

  #rememberBulk({ body }: Call): MockAnswer {
    const fields = new Fields(body, { action: "remember texts" });
    const ids = this.store.accept(
      fields.items("items", MAX_BULK).map(newTextOf),
      { status: "running", key: fields.name("idempotency_key") },
    );
    return answerOf(202, {
      job_ids: ids,
      total: ids.length,
      status: "running",
    });
  }

  async #status({ params: [id = ""], query, signal }: Call): Promise<
    MockAnswer
  > {
    const wait = query.get("wait") ?? "0";
    if (!/^\d{1,30}$/.test(wait)) {
      throw new Refusal(
        400,
        'Cannot wait for job: "wait" is no whole number of seconds from 0 on',
      );
    }
    const seconds = Math.min(Number(wait), MAX_WAIT_SECONDS);
    if (seconds > 0) await this.#news(id, { waitMs: seconds * 1_000, signal });
    const job = this.store.job(id);
    if (job !== undefined) return ok(jobView(job));
    throw new Refusal(404, "Cannot find job: there is none such");
  }

  /** Waits until a job has ended, or for so long. */
  #news(
    id: string,
    { waitMs, signal }: {
      readonly waitMs: number;
      readonly signal: AbortSignal;
    },
  ): Promise<void> {
    const isOpen = (): boolean => {
      const job = this.store.job(id);
      return job !== undefined && !hasEnded(job);
    };
    return new Promise((resolve, reject) => {
      if (!isOpen()) return resolve();
      const end = (settle: () => void): void => {
        timer.cancel();
        unlisten();
        signal.removeEventListener("abort", abort);
        settle();
      };
      const abort = (): void => end(() => reject(signal.reason));
      const timer = this.#options.clock.setTimer(() => end(resolve), waitMs);
      const unlisten = this.store.listen(() => isOpen() || end(resolve));
      signal.addEventListener("abort", abort, { once: true });
    });
  }

  #bulkStatus({ body }: Call): MockAnswer {
    const fields = new Fields(body, { action: "look jobs up" });
    const results = fields.texts("job_ids", MAX_BULK).map((id) => {
      const job = this.store.job(id);
      if (job === undefined) return { job_id: id, status: "not_found" };
      return { ...jobView(job), owner: undefined };
    });
    return ok({ results });
  }

  #recall({ body }: Call): MockAnswer {
    const fields = new Fields(body, { action: "recall" });
    const query = fields.text("query", MAX_MODEL_TEXT_BYTES);
    const limit = fields.count("limit", MAX_RECALL);
    const ids = fields.ids("ids", MAX_RECALL);
    const filter = fields.metadata("filter");
    fields.number("deadline_ms", { min: Number.MIN_VALUE });
    const hits = this.#search(fields, {
      vector: vectorOf(query),
      limit: limit ?? ids?.length ?? DEFAULT_RECALL,
      ...{ ids, filter },
    });
    const { shown, omitted } = fitting(
      hits.filter(isReadable),
      this.#options.maxAnswerBytes,
    );
    const dropped = hits.length - shown.length - omitted.length;
    return ok({
      results: shown.map(hitView),
      total: shown.length,
      dropped_count: dropped > 0 ? dropped : undefined,
      truncated: omitted.length > 0 ? true : undefined,
      omitted_ids: omitted.length > 0
        ? omitted.map(({ row }) => row.memory.id)
        : undefined,
    });
  }

  #search(
    fields: Fields,
    query: Pick<Parameters<typeof search>[1], "vector" | "limit"> & {
      readonly ids?: readonly string[] | undefined;
      readonly filter?: NewText["metadata"];
    },
  ): readonly MockHit[] {
    const { ids, filter } = query;
    return search(this.store.found(fields.namespace()), {
      ...query,
      ...{ ids, filter },
      ordering: orderingOf(fields),
      nowMs: this.#options.clock.nowMs(),
    });
  }

  #analyze({ body }: Call): MockAnswer {
    const fields = new Fields(body, { action: "analyze text" });
    const namespace = fields.namespace();
    fields.checkInstant("occurred_at");
    const text = fields.text("text", MAX_MODEL_TEXT_BYTES);
    const facts = this.#options.facts(text)
      .filter((fact) =>
        fact.trim() !== "" && bytesOf(fact) <= MAX_MODEL_TEXT_BYTES
      )
      .slice(0, MAX_BULK);
    const ids = this.store.accept(
      facts.map((fact) => ({
        ...{ text: fact, namespace },
        ...{ importance: undefined, metadata: undefined },
        supersedes: undefined,
      })),
      { status: "pending", key: undefined },
    );
    return answerOf(202, {
      job_ids: ids,
      facts: ids.map((id, at) => ({ text: facts[at], id, job_id: id })),
      fact_count: ids.length,
      status: "pending",
      owner: MOCK_ACCOUNT.owner,
    });
  }

  #ask({ body }: Call): MockAnswer {
    const fields = new Fields(body, { action: "answer question" });
    const question = fields.text("question", MAX_MODEL_TEXT_BYTES);
    const used = this.#search(fields, {
      vector: vectorOf(question),
      limit: fields.count("limit", MAX_RECALL) ?? DEFAULT_ASK,
    }).filter((hit) => isReadable(hit) && hit.distance < MAX_ANSWER_DISTANCE);
    const texts = used.map(({ row }) => row.memory.text ?? "");
    return ok({
      answer: this.#options.answer(question, texts),
      memories_used: used.length,
      memories: used.map(hitView),
    });
  }

  #embed({ body }: Call): MockAnswer {
    const fields = new Fields(body, { action: "embed text" });
    return ok({ vector: vectorOf(fields.text("text", MAX_MODEL_TEXT_BYTES)) });
  }

  #delete({ params: [id = ""] }: Call): MockAnswer {
    const blobId = isRecordId(id) ? this.store.remove(id) : undefined;
    if (blobId === undefined) {
      throw new Refusal(404, "Cannot delete memory: there is none such");
    }
    return ok({ deleted: true, memory_id: id, blob_id: blobId });
  }

  #forget({ body }: Call): MockAnswer {
    const namespace = new Fields(body, { action: "forget namespace" })
      .namespace();
    const deleted = this.store.forget(namespace);
    return ok({ deleted, namespace, owner: MOCK_ACCOUNT.owner });
  }

  /** The newest first, as many as are asked for. */
  #restore({ body }: Call): MockAnswer {
    const fields = new Fields(body, { action: "restore namespace" });
    const namespace = fields.namespace();
    const limit = fields.movedCount("limit", MAX_RESTORE) ?? DEFAULT_RESTORE;
    const skipped = this.store.keptIn(namespace).length;
    const lost = this.store.rows.filter(({ memory, state }) =>
      state === "forgotten" && memory.namespace === namespace
    ).toReversed();
    const restored = lost.slice(0, limit);
    this.store.restore(restored);
    return ok({
      restored: restored.length,
      skipped,
      failed: 0,
      missing: 0,
      total: skipped + lost.length,
      namespace,
      owner: MOCK_ACCOUNT.owner,
      truncated: lost.length > restored.length,
      restored_ids: restored.map(({ memory }) => memory.id),
    });
  }

  #stats({ body }: Call): MockAnswer {
    const namespace = new Fields(body, { action: "count memories" })
      .namespace();
    return ok({
      memory_count: this.store.found(namespace).length,
      storage_bytes: this.store.sizeOf(namespace),
      namespace,
      owner: MOCK_ACCOUNT.owner,
    });
  }

  #rememberManual({ body }: Call): MockAnswer {
    const fields = new Fields(body, { action: "remember data" });
    const { id, blobId, namespace } = this.store.storeSealed({
      data: fields.base64("encrypted_data"),
      vector: fields.vector("vector", VECTOR_WIDTH),
      namespace: fields.namespace(),
    });
    const { owner } = MOCK_ACCOUNT;
    return ok({ id, blob_id: blobId, owner, namespace });
  }

  #recallManual({ body }: Call): MockAnswer {
    const fields = new Fields(body, { action: "recall" });
    const isWithData = fields.flag("include_data");
    const hits = this.#search(fields, {
      vector: unitOf(fields.vector("vector", VECTOR_WIDTH)),
      limit: fields.count("limit", MAX_RECALL) ?? DEFAULT_RECALL,
    });
    const results = hits.map((hit) => manualHitView(hit, { isWithData }));
    return ok({ results, total: results.length });
  }
}

function answerOf(
  status: number,
  json: unknown,
  headers?: Readonly<Record<string, string>>,
): MockAnswer {
  return { status, json, headers };
}

function ok(json: unknown): MockAnswer {
  return answerOf(200, json);
}

/** The refusal of who is no delegate of the account. */
function strangerOf({ headers }: MockRequest): MockAnswer | undefined {
  const { accountId, publicKey } = MOCK_ACCOUNT;
  const isKnown = headers.get("x-account-id") === accountId &&
    headers.get("x-public-key") === publicKey;
  return isKnown ? undefined : answerOf(401, undefined, {
    "x-auth-error": headers.get("x-account-id") === accountId
      ? "ERR_KEY_NOT_DELEGATE"
      : "ERR_ACCOUNT_UNKNOWN",
  });
}

function ofOwner([owner]: readonly string[], view: () => View): MockAnswer {
  if (owner === MOCK_ACCOUNT.owner) return ok(view());
  throw new Refusal(403, "Cannot list: the owner is another one");
}

function newTextOf(fields: Fields): NewText {
  return {
    text: fields.text("text", MAX_TEXT_BYTES),
    namespace: fields.namespace(),
    importance: fields.number("importance", { min: 0, max: 1 }),
    metadata: fields.metadata("metadata"),
    supersedes: fields.id("supersedes"),
  };
}

/** What the application encrypted has no text that could be shown. */
function isReadable({ row }: MockHit): boolean {
  return row.memory.text !== undefined;
}

function healthView(): View {
  return {
    ...MOCK_CONTRACT,
    status: "ok",
    version: MOCK_CONTRACT["relayerVersion"],
    mode: "mock",
    write_ready: true,
  };
}

function whoamiView(): View {
  const { accountId, owner, packageId } = MOCK_ACCOUNT;
  return { account_id: accountId, owner, package_id: packageId };
}
