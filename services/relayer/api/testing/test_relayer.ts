/**
 * The relayer's HTTP handler over parts in memory, for tests of the routes.
 *
 * @module
 */

import { FakeClock } from "../../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../../tests/support/recording_logger.ts";
import { FairTurns } from "../../../shared/fair_turns.ts";
import type {
  HttpRequest,
  HttpResponse,
} from "../../../shared/http/exchange.ts";
import { RouteTree } from "../../../shared/http/route_tree.ts";
import {
  documentOnce,
  undocumented,
} from "../../../shared/openapi/testing/document_check.ts";
import { HttpMetrics } from "../../../shared/metrics/http_metrics.ts";
import { MetricRegistry } from "../../../shared/metrics/registry.ts";
import type { Caller } from "../../auth/authenticate.ts";
import { refusal } from "../../auth/refusal.ts";
import { BlobLocks } from "../../concurrency/semaphore.ts";
import { StorageWatch } from "../../store/storage_watch.ts";
import { relayerDocument } from "../document/relayer_document.ts";
import { allRoutes, createHandler } from "../handler.ts";
import type { Route } from "../route.ts";
import type { RelayerParts } from "../parts.ts";
import { MemoryBlobs, MemoryCatalog, MemoryVault } from "./memory_blobs.ts";
import { MemoryStore } from "./memory_store.ts";
import {
  goodModels,
  TestAuthenticator,
  TestIndex,
  TestIntake,
  type TestModels,
  TestRecall,
  WIDTH,
} from "./test_parts.ts";
import { testRequest, type TestRequestOptions } from "./test_request.ts";

/** Options of a test's request. */
export interface TestCallOptions
  extends Omit<TestRequestOptions, "method" | "target"> {
  /**
   * The caller that signs.
   * @default {"ann"}
   */
  readonly as?: "ann" | "ben" | "nobody";
}

/** The response that a test gets. */
export interface TestAnswer {
  /** The status. */
  readonly status: number;
  /** The header fields. */
  readonly headers: HttpResponse["headers"];
  /** The body as text. */
  readonly text: string;
  /** The body, parsed; undefined when it is empty. */
  readonly json: unknown;
}

/** A handler over parts in memory, and those parts. */
export interface TestRelayer {
  /** Sends a request. */
  call(
    method: string,
    target: string,
    options?: TestCallOptions,
  ): Promise<TestAnswer>;
  /** The parts that the handler has. */
  readonly parts: RelayerParts;
  /** Keeps jobs and rows. */
  readonly store: MemoryStore;
  /** Keeps blobs. */
  readonly blobs: MemoryBlobs;
  /** The catalogue of blobs. */
  readonly catalog: MemoryCatalog;
  /** Keeps keys. */
  readonly vault: MemoryVault;
  /** The index. */
  readonly index: TestIndex;
  /** Accepts texts. */
  readonly intake: TestIntake;
  /** Answers recalls. */
  readonly recall: TestRecall;
  /** Outcomes of the other parts. */
  readonly models: TestModels;
  /** Calls of the embedder, extractor, answerer, restorer and others. */
  readonly asked: { readonly what: string; readonly with: unknown }[];
  /** Points that were spent. */
  readonly spent: { readonly caller: Caller; readonly points: number }[];
  /** The time. */
  readonly clock: FakeClock;
  /** What was logged. */
  readonly logger: RecordingLogger;
}

/** Makes a relayer; `values` replace the default parts. */
export function openTestRelayer(
  values: Partial<RelayerParts> = {},
): TestRelayer {
  const clock = new FakeClock(1_800_000_000_000);
  const logger = new RecordingLogger();
  const store = new MemoryStore(() => clock.nowMs());
  const blobs = new MemoryBlobs();
  const catalog = new MemoryCatalog();
  const vault = new MemoryVault();
  const index = new TestIndex();
  const intake = new TestIntake();
  const recall = new TestRecall();
  const models = goodModels();
  const asked: TestRelayer["asked"] = [];
  const spent: { caller: Caller; points: number }[] = [];
  let ids = 0;
  const parts: RelayerParts = {
    store,
    vault,
    sessions: undefined,
    receipts: {
      keys: () => Promise.resolve([]),
      sign: ({ kind, owner, namespace, count, timeMs, ...statement }) => ({
        version: 1,
        ...{ kind, owner, namespace, count, time_ms: timeMs },
        memory_id: statement.memoryId,
        blob_id: statement.blobId,
        content_hash: statement.contentHash,
        ...{ key_id: "test", signature: "signed" },
      }),
    },
    blobs,
    catalog,
    blobLocks: new BlobLocks(),
    index,
    intake,
    recall,
    clock,
    logger,
    ledger: {
      packageId: `0x${"c1".repeat(32)}`,
      accountOfOwner(_owner, asker) {
        asked.push({ what: "account", with: asker });
        return Promise.resolve(models.account);
      },
    },
    embedder: {
      width: WIDTH,
      model: "test",
      embed(texts) {
        asked.push({ what: "embed", with: texts });
        return Promise.resolve(models.embedded);
      },
    },
    extractor: {
      name: "rules",
      extract(text, options) {
        asked.push({ what: "extract", with: { text, ...options } });
        return Promise.resolve(models.extracted);
      },
    },
    answerer: {
      name: "rules",
      answer(question, options) {
        asked.push({ what: "answer", with: { question, ...options } });
        return Promise.resolve(models.answered);
      },
    },
    restorer: {
      restore(owner, options) {
        asked.push({ what: "restore", with: { owner, ...options } });
        return Promise.resolve(models.restored);
      },
    },
    jobWatch: {
      async wait(owner, id, options) {
        asked.push({ what: "wait", with: { id, ...options } });
        return (await store.jobs(owner, [id]))[0];
      },
      tell: () => {},
    },
    usage: {
      async reserve(owner, { bytes }, { quotaBytes }) {
        const stored = await store.stats(owner);
        const reservation = { settle: () => {}, release: () => {} };
        return stored.bytes + bytes > quotaBytes
          ? { kind: "over_quota" }
          : { kind: "ok", reservation };
      },
      changed: (owner) => void asked.push({ what: "usage", with: owner }),
    },
    authenticator: new TestAuthenticator(),
    accessTokens: {
      verify: () =>
        Promise.resolve({ ...refusal("ERR_TOKEN_FORMAT"), isToken: true }),
    },
    turns: new FairTurns(),
    pointBytes: 262_144,
    refusalDelay: { wait: () => Promise.resolve() },
    rateLimits: {
      take(caller, points) {
        spent.push({ caller, points });
        return models.rate;
      },
      charge: (caller, points) => void spent.push({ caller, points }),
    },
    ownerTokens: undefined,
    answerRpc: (body, { from }) => Promise.resolve({ echo: body, from }),
    metrics: new HttpMetrics(new MetricRegistry(), "relayer"),
    storage: new StorageWatch(() => Promise.resolve(), logger),
    newId: () => `id-${++ids}`,
    version: "9.8.7",
    buildCommit: undefined,
    network: "localnet",
    ledgerRpcUrl: "http://127.0.0.1:8000",
    registryId: undefined,
    keyServers: [],
    keyServerThreshold: 0,
    trustedProxies: [],
    isRateLimitDisabled: false,
    isWriteReady: true,
    readiness: () => Promise.resolve({ store: { isReady: true } }),
    isStopping: () => false,
    embedderState: () => ({ state: "ready" }),
    settled: Promise.resolve(),
    quotaBytes: 1_000,
    corsOrigins: ["*"],
    ...values,
  };
  const handler = createHandler(parts);
  const check = documentCheck(parts);
  return {
    call: async (method, target, options = {}) => {
      const { as = "ann", headers = {}, ...rest } = options;
      const signed: Readonly<Record<string, string>> = as === "nobody"
        ? {}
        : { "x-test-caller": as };
      const answer = await callHandler(
        handler,
        testRequest({
          method,
          target,
          ...rest,
          headers: { ...signed, ...headers },
        }),
      );
      check(answer, { method, target });
      return answer;
    },
    parts,
    store,
    blobs,
    catalog,
    vault,
    index,
    intake,
    recall,
    models,
    asked,
    spent,
    clock,
    logger,
  };
}

/**
 * Makes a check that a response is as the OpenAPI document says.
 *
 * @throws {Error} when a response is not as documented
 */
function documentCheck(parts: RelayerParts) {
  const routes = allRoutes(parts);
  const document = documentOnce(
    [routes, parts.version],
    () => relayerDocument(routes, parts.version),
  );
  const tree = new RouteTree<Route>({ isDecoding: false });
  for (const route of routes) tree.add(route.method, route.path, route);
  return (
    { status, headers, text }: TestAnswer,
    { method, target }: { readonly method: string; readonly target: string },
  ): void => {
    const match = tree.match(method, target.split("?", 1)[0] ?? "");
    if (match.kind !== "route") return;
    const route = `${match.route.method} ${
      match.route.path.replaceAll(/:([a-z]+)/g, "{$1}")
    }`;
    const body = text === "" ? undefined : text;
    const found = undocumented(document, {
      route,
      response: { status, headers, body },
    });
    if (found.length === 0) return;
    throw new Error(
      `${route} answered ${status}, not as documented: ${found.join("; ")}\n` +
        text,
    );
  };
}

async function callHandler(
  handler: (request: HttpRequest) => HttpResponse | Promise<HttpResponse>,
  request: HttpRequest,
): Promise<TestAnswer> {
  const { status, headers, body = "" } = await handler(request);
  const text = typeof body === "string" ? body : new TextDecoder().decode(body);
  const isJson = headers["content-type"] === "application/json";
  const json: unknown = isJson ? JSON.parse(text) : undefined;
  return { status, headers, text, json };
}
