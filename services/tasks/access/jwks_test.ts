import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import { Jwks, toJwksUrl } from "./jwks.ts";
import {
  IdentityProviderServer,
  type ProviderFault,
} from "./testing/identity_provider_server.ts";

const MINUTE_MS = 60_000;

interface Setup extends AsyncDisposable {
  readonly clock: FakeClock;
  readonly logger: RecordingLogger;
  readonly provider: IdentityProviderServer;
  readonly keys: Jwks;
  find(keyId?: string): Promise<string>;
}

async function setUp(): Promise<Setup> {
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const provider = await IdentityProviderServer.start();
  const url = provider.keySetUrl;
  const keys = new Jwks({ url, fetch, clock, logger });
  return {
    clock,
    logger,
    provider,
    keys,
    async find(keyId) {
      const query = keyId === undefined ? {} : { keyId };
      const found = await keys.find({ algorithm: "ES256", ...query });
      return found.kind;
    },
    async [Symbol.asyncDispose]() {
      await keys.stop();
      await provider[Symbol.asyncDispose]();
    },
  };
}

Deno.test("toJwksUrl() puts the usual path behind the issuer", () => {
  const url = "https://idp.example/a/.well-known/jwks.json";
  assertEquals(toJwksUrl("https://idp.example/a"), url);
  assertEquals(toJwksUrl("https://idp.example/a/"), url);
});

Deno.test("Jwks.find() fetches once for all who wait", async () => {
  await using setup = await setUp();
  const { keys, provider } = setup;
  const query = { algorithm: "ES256", keyId: "ES256-1" } as const;
  const found = await Promise.all(
    Array.from({ length: 20 }, () => keys.find(query)),
  );
  assertEquals(provider.keySetCalls, 1);
  for (const outcome of found) {
    assert(outcome.kind === "ok");
    assertEquals(outcome.keys.map(({ kid }) => kid), ["ES256-1"]);
  }
  assertEquals(keys.generation, 1);
});

Deno.test("Jwks.find() asks for an unknown key at most once a minute", async () => {
  await using setup = await setUp();
  const { provider, clock, find } = setup;
  assertEquals(await find("ES256-1"), "ok");
  await Promise.all(
    Array.from({ length: 50 }, (_, index) => find(`made-up-${index}`)),
  );
  assertEquals(provider.keySetCalls, 2);
  assertEquals(await find("made-up"), "unknown");
  clock.advance(MINUTE_MS - 1);
  assertEquals(await find("made-up"), "unknown");
  assertEquals(provider.keySetCalls, 2);
  await provider.rotate();
  assertEquals(await find("ES256-2"), "unknown");
  clock.advance(1);
  assertEquals(await find("ES256-2"), "ok");
  assertEquals(await find("ES256-1"), "unknown");
  assertEquals(provider.keySetCalls, 3);
});

Deno.test("Jwks.find() fetches again when the keys are old, and no caller waits", async () => {
  await using setup = await setUp();
  const { keys, provider, clock, find } = setup;
  await find();
  await provider.rotate();
  clock.advance(10 * MINUTE_MS - 1);
  assertEquals(await find("ES256-1"), "ok");
  assertEquals(provider.keySetCalls, 1);
  clock.advance(1);
  assertEquals(await find("ES256-1"), "ok");
  await waitUntil(() => keys.generation === 2, { what: "the new keys" });
  assertEquals(await find("ES256-2"), "ok");
  assertEquals(provider.keySetCalls, 2);
});

Deno.test("Jwks keeps its keys and their generation where the set is the same", async () => {
  await using setup = await setUp();
  const { keys, provider, clock } = setup;
  const query = { algorithm: "ES256" } as const;
  const before = await keys.find(query);
  clock.advance(10 * MINUTE_MS);
  await keys.find(query);
  await waitUntil(() => provider.keySetCalls === 2, { what: "a fetch" });
  const after = await keys.find(query);
  assert(before.kind === "ok" && after.kind === "ok");
  assertStrictEquals(after.keys[0], before.keys[0]);
  assertEquals(keys.generation, 1);
});

Deno.test("Jwks.find() goes on with old keys while the provider is down, for a bounded time", async () => {
  await using setup = await setUp();
  const { provider, clock, logger, find } = setup;
  await find();
  provider.keySetFault = { kind: "status", status: 500 };
  clock.advance(10 * MINUTE_MS);
  assertEquals(await find("ES256-1"), "ok");
  await waitUntil(() => logger.listMessages("warning").length === 1, {
    what: "the failure",
  });
  // While fetches fail, the key may be a new one or an invented one.
  assertEquals(await find("ES256-2"), "unavailable");
  clock.advance((24 * 60 - 10) * MINUTE_MS - 1);
  assertEquals(await find("ES256-1"), "ok");
  await waitUntil(() => provider.keySetCalls >= 4, { what: "another fetch" });
  clock.advance(MINUTE_MS);
  assertEquals(await find("ES256-1"), "unavailable");
  provider.keySetFault = undefined;
  clock.advance(10_000);
  assertEquals(await find("ES256-1"), "ok");
});

Deno.test("Jwks.find() pauses after a fetch that failed", async () => {
  await using setup = await setUp();
  const { provider, clock, find } = setup;
  provider.keySetFault = { kind: "status", status: 404 };
  for (let count = 0; count < 10; count++) {
    assertEquals(await find(), "unavailable");
  }
  assertEquals(provider.keySetCalls, 1);
  provider.keySetFault = undefined;
  clock.advance(9_999);
  assertEquals(await find(), "unavailable");
  clock.advance(1);
  assertEquals(await find(), "ok");
});

Deno.test("Jwks.find() accepts no answer that is no usable key set", async () => {
  await using setup = await setUp();
  const { provider, clock, logger, find, keys } = setup;
  const good = provider.publicJwk("ES256");
  const texts = [
    "",
    "<html>",
    "[]",
    "{}",
    '{"keys":{}}',
    '{"keys":[]}',
    '{"keys":[null,7,"x",[]]}',
    JSON.stringify({ keys: [good], padding: "p".repeat(262_144) }),
  ];
  const bad: readonly Record<string, unknown>[] = [
    { ...good, use: "enc" },
    { ...good, key_ops: ["sign"] },
    { ...good, alg: "ES384" },
    { ...good, crv: "P-384" },
    { ...good, kty: "RSA" },
    { ...good, kid: 7 },
    { ...good, y: undefined },
    { kty: "oct", k: "c2VjcmV0", alg: "HS256" },
    { kty: "RSA", e: "AQAB", n: "AQAB" },
    { kty: "RSA", e: "AQ", n: "_".repeat(342) },
    { kty: "RSA", e: "Ag", n: "_".repeat(342) },
    { kty: "RSA", e: "AQAB", n: "_".repeat(2_000) },
    { kty: "RSA", e: "AQAB", n: `A${"_".repeat(300)}` },
    { kty: "RSA", e: "AQAB", n: "!".repeat(342) },
    { kty: "OKP", crv: "X25519", x: "A".repeat(43) },
  ];
  for (const key of bad) texts.push(JSON.stringify({ keys: [key] }));
  for (const text of texts) {
    provider.keySetFault = { kind: "text", text };
    assertEquals(await find(), "unavailable", text.slice(0, 100));
    clock.advance(10_000);
  }
  assertEquals(keys.generation, 0);
  assertEquals(logger.listMessages("warning").length, texts.length);
  provider.keySetFault = {
    kind: "text",
    text: JSON.stringify({ keys: [...bad, good] }),
  };
  assertEquals(await find(), "ok");
});

Deno.test("Jwks follows no redirect", async () => {
  await using other = await IdentityProviderServer.start();
  await using moved = new MovedServer(other.keySetUrl);
  const keys = new Jwks({
    url: moved.url,
    clock: new FakeClock(),
    logger: new RecordingLogger(),
    fetch,
  });
  const found = await keys.find({ algorithm: "ES256" });
  assertEquals(found.kind, "unavailable");
  assertEquals(moved.calls, 1);
  assertEquals(other.keySetCalls, 0);
  await keys.stop();
});

Deno.test("Jwks.find() gives up on a provider that does not answer", async () => {
  await using setup = await setUp();
  const { provider, clock, find } = setup;
  const silence: ProviderFault = { kind: "silence" };
  provider.keySetFault = silence;
  const found = find();
  await waitUntil(() => provider.keySetCalls === 1, { what: "the call" });
  clock.advance(5_000);
  assertEquals(await found, "unavailable");
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("Jwks.stop() ends a fetch under way", async () => {
  await using setup = await setUp();
  const { provider, keys, logger, find } = setup;
  provider.keySetFault = { kind: "silence" };
  const found = find();
  await waitUntil(() => provider.keySetCalls === 1, { what: "the call" });
  await keys.stop();
  assertEquals(await found, "unavailable");
  assertEquals(logger.messages, []);
  await keys.stop();
});

/** A server that answers every request with a redirect. */
class MovedServer implements AsyncDisposable {
  calls = 0;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor(target: string) {
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      () => {
        this.calls++;
        return Response.redirect(target);
      },
    );
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}/`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}
