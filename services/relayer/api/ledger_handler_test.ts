import { assertEquals, assertStringIncludes } from "@std/assert";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { FairTurns } from "../../shared/fair_turns.ts";
import type { HttpResponse } from "../../shared/http/exchange.ts";
import { addressGroup } from "../../shared/ip_network.ts";
import { StoreFailedError } from "../../shared/store_failed.ts";
import { createLedgerHandler } from "./ledger_handler.ts";
import {
  testRequest,
  type TestRequestOptions,
} from "./testing/test_request.ts";

const CREDENTIAL = "c".repeat(32);

type Parts = Parameters<typeof createLedgerHandler>[0];

async function call(
  request: TestRequestOptions,
  parts: Partial<Parts> = {},
): Promise<HttpResponse & { readonly text: string }> {
  const handler = createLedgerHandler({
    answerRpc: (body, options) => Promise.resolve({ body, ...options }),
    credential: CREDENTIAL,
    turns: new FairTurns(),
    corsOrigins: ["*"],
    trustedProxies: [],
    storage: { note: (error) => error instanceof StoreFailedError },
    logger: new RecordingLogger(),
    version: "1.2.3",
    ...parts,
  });
  const response = await handler(testRequest(request));
  return { ...response, text: String(response.body ?? "") };
}

Deno.test("the ledger's port hands JSON-RPC on, with where it came from", async () => {
  for (const target of ["/", "/rpc", "/rpc?x=1"]) {
    const answer = await call({ method: "POST", target, body: { id: 1 } });
    assertEquals(answer.status, 200);
    assertEquals(JSON.parse(answer.text), {
      body: { id: 1 },
      from: addressGroup("192.0.2.1"),
      isTrusted: false,
    });
  }
  const broken = await call({ method: "POST", target: "/", body: "{" });
  assertStringIncludes(broken.text, "-32700");
  const silent = await call(
    { method: "POST", target: "/", body: {} },
    { answerRpc: () => Promise.resolve(undefined) },
  );
  assertEquals(silent.status, 204);
});

Deno.test("the ledger's port trusts who knows the credential, and refuses another one", async () => {
  const ask = (authorization: string, parts: Partial<Parts> = {}) =>
    call(
      { method: "POST", target: "/", body: {}, headers: { authorization } },
      parts,
    );
  const known = await ask(`Bearer ${CREDENTIAL}`);
  assertEquals(JSON.parse(known.text).isTrusted, true);
  for (
    const wrong of [
      "",
      "Bearer ",
      "Bearer x",
      CREDENTIAL,
      `Bearer ${CREDENTIAL}x`,
    ]
  ) {
    assertEquals((await ask(wrong)).status, 401, wrong);
  }
  // When no credential is set, none is accepted, not even the empty one.
  for (const any of ["Bearer ", "Bearer undefined", `Bearer ${CREDENTIAL}`]) {
    assertEquals((await ask(any, { credential: "" })).status, 401);
  }
});

Deno.test("the ledger's port takes larger bodies from relayers than from strangers", async () => {
  const body = "x".repeat(100_000);
  const stranger = await call({ method: "POST", target: "/", body });
  assertEquals(stranger.status, 413);
  const headers = { authorization: `Bearer ${CREDENTIAL}` };
  const relayer = await call({
    method: "POST",
    target: "/",
    headers,
    body: JSON.stringify(body),
  });
  assertEquals(relayer.status, 200);
});

Deno.test("the ledger's port says what it has not and what fails, and nothing else of it", async () => {
  const at = async (method: string, target: string) =>
    (await call({ method, target })).status;
  assertEquals(await at("GET", "/health"), 200);
  assertEquals(await at("POST", "/health"), 405);
  assertEquals(await at("GET", "/"), 405);
  assertEquals(await at("POST", "/config"), 404);
  const fail = (error: Error) =>
    call({ method: "POST", target: "/", body: {} }, {
      answerRpc: () => Promise.reject(error),
    });
  const full = await fail(new StoreFailedError("/data/ledger.db: disk full"));
  assertEquals(full.status, 503);
  const fault = await fail(new Error("/data/secret"));
  assertEquals(fault.status, 500);
  assertEquals(`${full.text}${fault.text}`.includes("/data"), false);
});

Deno.test("pages of other origins may call the ledger's port", async () => {
  const preflight = await call({
    method: "OPTIONS",
    target: "/",
    headers: {
      origin: "https://app.example",
      "access-control-request-method": "POST",
    },
  });
  assertEquals(preflight.status, 204);
  const allowed = String(preflight.headers["access-control-allow-headers"]);
  assertStringIncludes(allowed, "client-sdk-version");
  const answer = await call({
    method: "POST",
    target: "/",
    body: {},
    headers: { origin: "https://app.example" },
  });
  assertEquals(answer.headers["access-control-allow-origin"], "*");
});
