import { assertEquals, assertStringIncludes } from "@std/assert";
import { RecordingLogger } from "../../../../tests/support/recording_logger.ts";
import type { ReadinessReport } from "../../../shared/http/readiness.ts";
import { addressGroup } from "../../../shared/ip_network.ts";
import { ANN } from "../testing/test_parts.ts";
import { openTestRelayer } from "../testing/test_relayer.ts";
import { askReadiness } from "./service_routes.ts";

Deno.test("GET /version tells what released clients check", async () => {
  const { call } = openTestRelayer({ buildCommit: "abc123" });
  const { status, json } = await call("GET", "/version", { as: "nobody" });
  assertEquals(status, 200);
  const { featureFlags, deprecations, ...rest } = json as {
    featureFlags: Record<string, boolean>;
    deprecations: readonly { surface: string }[];
  };
  assertEquals(rest, {
    relayerVersion: "9.8.7",
    apiVersion: "1.0.0",
    minSupportedSdk: { typescript: "0.0.4", python: "0.1.0", mcp: "0.0.1" },
    build: { commit: "abc123" },
  });
  for (
    const flag of [
      "auth.accountBoundNonce",
      "auth.sealSessionHeader",
      "config.publicDeploymentMetadata",
      "memories.delete",
      "recall.filter",
      "recall.ranking",
      "remember.asyncJobs",
      "remember.bulk",
      "remember.statusWait",
      "remember.supersede",
      "runtime.versionEndpoint",
    ]
  ) {
    assertEquals(featureFlags[flag], true, flag);
  }
  assertEquals(deprecations.map(({ surface }) => surface), ["x-delegate-key"]);
});

Deno.test("GET /health tells the contract and whether writes are taken", async () => {
  const { call } = openTestRelayer({ isWriteReady: false });
  const version = await call("GET", "/version", { as: "nobody" });
  const { status, json } = await call("GET", "/health", { as: "nobody" });
  assertEquals(status, 200);
  assertEquals(json, {
    status: "ok",
    version: "9.8.7",
    ...(version.json as object),
    mode: "production",
    prompt_versions: { extract: "rules", ask: "rules" },
    write_ready: false,
    embedder: { state: "ready" },
  });
});

Deno.test("GET /readyz tells what is not ready, and at once that the relayer stops", async () => {
  let report: ReadinessReport = { store: { isReady: true, detail: "alone" } };
  let isStopping = false;
  const { call, clock } = openTestRelayer({
    readiness: () => Promise.resolve(report),
    isStopping: () => isStopping,
  });
  const ask = async () => {
    const { status, json } = await call("GET", "/readyz", { as: "nobody" });
    return { status, json };
  };
  const store = { ready: true, detail: "alone" };
  const ready = { status: 200, json: { status: "ready", checks: { store } } };
  assertEquals(await ask(), ready);
  report = { store: { isReady: false, detail: "gone" } };
  clock.advance(1_000);
  assertEquals(await ask(), {
    status: 503,
    json: { error: "Cannot serve: store not ready: gone" },
  });
  report = { store: { isReady: true, detail: "alone" } };
  clock.advance(1_000);
  assertEquals(await ask(), ready);
  isStopping = true;
  assertEquals((await ask()).status, 503);
});

Deno.test("askReadiness() is ready on a disk that takes no writes, and says so", async () => {
  const logger = new RecordingLogger();
  const needed = {
    store: { check: () => Promise.resolve(undefined), hasOwnTime: false },
    instances: { mayAct: () => Promise.resolve(true) },
    storage: { isReady: false },
    logger,
  };
  assertEquals(await askReadiness(needed), {
    store: { isReady: true, detail: "writes to it fail" },
  });
  const shared = { ...needed.store, hasOwnTime: true };
  const database = await askReadiness({ ...needed, store: shared });
  assertEquals(database, { store: { isReady: true } });
});

Deno.test("GET /health answers when the memories that a start reads are there", async () => {
  const settled = Promise.withResolvers<void>();
  const { call } = openTestRelayer({ settled: settled.promise });
  const order: string[] = [];
  const asked = call("GET", "/health", { as: "nobody" })
    .then(({ status }) => order.push(`health ${status}`));
  await call("GET", "/version", { as: "nobody" });
  order.push("version");
  settled.resolve();
  await asked;
  assertEquals(order, ["version", "health 200"]);
});

Deno.test("GET /config tells where the ledger is", async () => {
  const { call } = openTestRelayer({ isRateLimitDisabled: true });
  const { json } = await call("GET", "/config", { as: "nobody" });
  assertEquals(json, {
    packageId: `0x${"c1".repeat(32)}`,
    network: "localnet",
    suiRpcUrl: "http://127.0.0.1:8000",
    suiTransport: "jsonrpc",
    rateLimitDisabled: true,
    receiptKeys: [],
  });
});

Deno.test("POST / and /rpc hand JSON-RPC on", async () => {
  const { call } = openTestRelayer();
  for (const target of ["/", "/rpc"]) {
    const body = { jsonrpc: "2.0", id: 1, method: "m" };
    const { status, json } = await call("POST", target, { as: "nobody", body });
    assertEquals(status, 200);
    assertEquals(json, { echo: body, from: addressGroup("192.0.2.1") });
    const list = await call("POST", target, { as: "nobody", body: [body] });
    assertEquals(list.json, { echo: [body], from: addressGroup("192.0.2.1") });
    const bad = await call("POST", target, { as: "nobody", body: "{" });
    assertEquals(bad.status, 200);
    assertEquals(bad.json, {
      jsonrpc: "2.0",
      id: null,
      error: {
        code: -32_700,
        message: "Cannot read call: the body is not JSON",
      },
    });
  }
});

Deno.test("POST / answers nothing to whom wants no answer, and is absent with another ledger", async () => {
  const quiet = openTestRelayer({
    answerRpc: () => Promise.resolve(undefined),
  });
  const none = await quiet.call("POST", "/", { as: "nobody", body: {} });
  assertEquals([none.status, none.text], [204, ""]);
  const elsewhere = openTestRelayer({ answerRpc: undefined });
  const gone = await elsewhere.call("POST", "/", { as: "nobody", body: {} });
  assertEquals(gone.status, 404);
});

Deno.test("GET /config names no ledger that clients cannot reach", async () => {
  const { call } = openTestRelayer({
    answerRpc: undefined,
    ledgerRpcUrl: undefined,
  });
  const { json } = await call("GET", "/config", { as: "nobody" });
  assertEquals(Object.keys(Object(json)), [
    "packageId",
    "network",
    "rateLimitDisabled",
    "receiptKeys",
  ]);
});

Deno.test("GET /api/accounts/{owner}/exists looks an account up", async () => {
  const { call, models, asked } = openTestRelayer();
  const target = `/api/accounts/${ANN.owner}/exists`;
  const known = await call("GET", target, { as: "nobody" });
  assertEquals(known.json, { exists: true });
  // So that such calls cannot use up those that owners need.
  assertEquals(asked, [{ what: "account", with: "stranger" }]);
  models.account = { kind: "missing" };
  const missing = await call("GET", target, { as: "nobody" });
  assertEquals(missing.json, { exists: false });
  models.account = { kind: "unavailable", reason: "away" };
  const away = await call("GET", target, { as: "nobody" });
  assertEquals(away.status, 503);
  const bad = await call("GET", "/api/accounts/me/exists", { as: "nobody" });
  assertEquals(bad.status, 400);
  assertStringIncludes(bad.text, "is not an address");
});

Deno.test("GET /api/whoami tells the caller's account", async () => {
  const { call } = openTestRelayer();
  const { status, json } = await call("GET", "/api/whoami");
  assertEquals(status, 200);
  assertEquals(json, {
    account_id: ANN.accountId,
    owner: ANN.owner,
    package_id: `0x${"c1".repeat(32)}`,
  });
});
