/**
 * A relayer in memory with one account. It answers requests as the real relayer
 * does, with vectors made from words.
 *
 * @module
 */

import {
  createAnswer,
  findRoute,
  type MockAnswer,
  type MockCall,
  type MockHandlers,
  type MockParts,
  type MockRelayerOptions,
  type MockRequest,
  ok,
} from "./mock_exchange.ts";
import { isRecordId, readBody, Refusal } from "./mock_bodies.ts";
import { jobRoutes } from "./mock_job_routes.ts";
import { recallRoutes } from "./mock_recall_routes.ts";
import { MOCK_RECEIPT_KEY, mockReceipt } from "./mock_receipts.ts";
import { MockStore } from "./mock_store.ts";
import { boundAnswer, readGrant, refuseGrant } from "./mock_tokens.ts";
import {
  memoriesView,
  MOCK_ACCOUNT,
  MOCK_CONTRACT,
  namespacesView,
  type View,
} from "./mock_views.ts";

const MAX_RESTORE = 100;

/** Answers the requests of clients, and stores memories in memory only. */
export class MockRelayer {
  /** The memories and jobs. */
  readonly store: MockStore;
  readonly #handlers: MockHandlers;
  readonly #clock: MockRelayerOptions["clock"];

  /** Creates a relayer without memories. */
  constructor(options: MockRelayerOptions) {
    this.#clock = options.clock;
    this.store = new MockStore(options.clock);
    this.#handlers = createHandlers({ ...options, store: this.store });
  }

  /**
   * Answers a request.
   *
   * @throws {unknown} The reason of the request's signal, when it aborts while
   * the answer waits for news of a job.
   */
  async answer(request: MockRequest): Promise<MockAnswer> {
    const { method, path } = request;
    const found = findRoute(method, path);
    try {
      if (found === undefined) {
        throw new Refusal(404, `Cannot find ${method} ${path}: no such route`);
      }
      const { route, params, isSigned } = found;
      const call = { ...request, params };
      if (!isSigned) return await this.#handlers[route](call);
      const read = readGrant(request, this.#clock.nowMs());
      if ("refusal" in read) return read.refusal;
      const { grant } = read;
      const refusal = grant === undefined
        ? refuseStranger(request)
        : refuseGrant(grant, { ...call, route, store: this.store });
      return refusal ??
        boundAnswer(await this.#handlers[route](call), grant);
    } catch (error) {
      if (request.signal.aborted) throw error;
      if (error instanceof Refusal) {
        return createAnswer(error.status, { error: error.message });
      }
      // A function that the application gave, such as `answer`, has thrown.
      return createAnswer(500, { error: `Cannot answer: ${String(error)}` });
    }
  }
}

function createHandlers(parts: MockParts): MockHandlers {
  const { store } = parts;
  const { accountId, owner, packageId } = MOCK_ACCOUNT;
  return {
    ...jobRoutes(parts),
    ...recallRoutes(parts),
    "GET /version": () => ok(MOCK_CONTRACT),
    "GET /health": () =>
      ok({
        ...MOCK_CONTRACT,
        status: "ok",
        version: MOCK_CONTRACT["relayerVersion"],
        mode: "mock",
        write_ready: true,
      }),
    "GET /config": () =>
      ok({
        packageId,
        network: "localnet",
        rateLimitDisabled: true,
        receiptKeys: [MOCK_RECEIPT_KEY],
      }),
    "GET /api/whoami": () =>
      ok({ account_id: accountId, owner, package_id: packageId }),
    "DELETE /api/memories/:id": (call) => remove(parts, call),
    "POST /api/forget": (call) => forget(parts, call),
    "POST /api/restore": (call) => restore(store, call),
    "POST /api/stats": (call) => stats(store, call),
    "GET /v1/owners/:owner/memories": ({ params, query }) =>
      ofOwner(params, () => memoriesView(store.rows, query)),
    "GET /v1/owners/:owner/namespaces": ({ params, query }) =>
      ofOwner(params, () => namespacesView(store.namespaces(), query)),
  };
}

/**
 * Returns the refusal of a request that is not from the account's delegate;
 * undefined for one that is.
 */
function refuseStranger({ headers }: MockRequest): MockAnswer | undefined {
  const { accountId, publicKey } = MOCK_ACCOUNT;
  const isAccount = headers.get("x-account-id") === accountId;
  if (isAccount && headers.get("x-public-key") === publicKey) return undefined;
  return createAnswer(401, undefined, {
    "x-auth-error": isAccount ? "ERR_KEY_NOT_DELEGATE" : "ERR_ACCOUNT_UNKNOWN",
  });
}

function ofOwner([owner]: readonly string[], view: () => View): MockAnswer {
  if (owner === MOCK_ACCOUNT.owner) return ok(view());
  throw new Refusal(403, "Cannot list: the owner is another one");
}

async function remove(
  { store, clock }: MockParts,
  { params: [id = ""] }: MockCall,
): Promise<MockAnswer> {
  const blobId = isRecordId(id) ? store.remove(id) : undefined;
  if (blobId === undefined) {
    throw new Refusal(404, "Cannot delete memory: it does not exist");
  }
  const receipt = await mockReceipt({
    kind: "delete",
    namespace: store.findMemory(id)?.namespace ?? "",
    memory_id: id,
    ...(blobId === "" ? {} : { blob_id: blobId }),
    time_ms: clock.nowMs(),
  });
  return ok({ deleted: true, memory_id: id, blob_id: blobId, receipt });
}

async function forget(
  { store, clock }: MockParts,
  { body }: MockCall,
): Promise<MockAnswer> {
  const { namespace } = readBody("POST /api/forget", body, {
    action: "forget namespace",
  });
  const deleted = store.forget(namespace);
  const receipt = await mockReceipt({
    ...{ kind: "forget", namespace, count: deleted },
    time_ms: clock.nowMs(),
  });
  return ok({ deleted, namespace, owner: MOCK_ACCOUNT.owner, receipt });
}

/**
 * Restores the newest memories of a namespace, at most as many as the request
 * allows.
 */
function restore(store: MockStore, { body }: MockCall): MockAnswer {
  const { namespace, limit } = readBody("POST /api/restore", body, {
    action: "restore namespace",
  });
  const skipped = store.keptIn(namespace).length;
  const lost = store.rows.filter(({ memory, state }) =>
    state === "forgotten" && memory.namespace === namespace
  ).toReversed();
  const restored = lost.slice(0, Math.min(Math.max(limit, 1), MAX_RESTORE));
  store.restore(restored);
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

function stats(store: MockStore, { body }: MockCall): MockAnswer {
  const { namespace } = readBody("POST /api/stats", body, {
    action: "count memories",
  });
  return ok({
    memory_count: store.found(namespace).length,
    storage_bytes: store.measureSize(namespace),
    namespace,
    owner: MOCK_ACCOUNT.owner,
  });
}
