import { assertEquals, assertRejects } from "@std/assert";
import { MemError } from "./errors.ts";
import { health } from "./service.ts";
import { stubParts } from "./testing/stub_parts.ts";
import { STUB_VERSION } from "./testing/stub_relayer.ts";

Deno.test("health() tells all that the relayer tells", async () => {
  const parts = stubParts();
  const json = {
    status: "ok",
    version: "0.1.0",
    mode: "production",
    write_ready: true,
    ...STUB_VERSION,
  };
  parts.exchange.on("GET /health", { json });
  assertEquals(await health(parts), { ...json, featureFlags: {} });
  assertEquals(parts.exchange.requestTo("GET /health").timeoutMs, 5_000);
});

Deno.test("health() is content with status and version", async () => {
  const parts = stubParts();
  const json = { status: "ok", version: "0.0.1" };
  parts.exchange.on("GET /health", { json });
  assertEquals(await health(parts), json);
});

Deno.test("health() tells of a relayer that does not fit, without judging it", async () => {
  const parts = stubParts();
  const json = {
    status: "ok",
    version: "2.0.0",
    ...STUB_VERSION,
    relayerVersion: "2.0.0",
    apiVersion: "2.0.0",
  };
  parts.exchange.on("GET /health", { json });
  assertEquals(await health(parts), {
    status: "ok",
    version: "2.0.0",
    relayerVersion: "2.0.0",
    apiVersion: "2.0.0",
  });
});

Deno.test("health() refuses an answer that is none", async () => {
  const parts = stubParts();
  parts.exchange.on("GET /health", { json: "ok" });
  await assertRejects(() => health(parts), MemError);
});
