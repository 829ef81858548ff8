/**
 * Tests of the handler with the real authenticator, which verifies signatures.
 */

import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { AccountResolver } from "../auth/authenticate.ts";
import { Authenticator, nonceTtlMs } from "../auth/authenticate.ts";
import { Nonces } from "../auth/nonces.ts";
import { SignatureVerifier } from "../auth/signed_request.ts";
import { FakeLedger, makeAccount } from "../auth/testing/fake_ledger.ts";
import { makeSigner, signedHeaders } from "../auth/testing/signer.ts";
import { openTestRelayer, type TestRelayer } from "./testing/test_relayer.ts";

const KEY = makeSigner(1);
const ACCOUNT = `0x${"1".repeat(64)}`;
const NONCE = "8f14e45f-ceea-4e7a-9c1e-3b1f4c1d2e3f";
const TARGET = "/api/remember";
const BODY = new TextEncoder().encode('{"text":"tea"}');

Deno.test("handler takes what a delegate signed, once", async () => {
  const { relayer, headers } = setUp();
  const signed = headers({});
  const first = await relayer.call("POST", TARGET, {
    as: "nobody",
    headers: signed,
    body: BODY,
  });
  assertEquals(first.status, 202);
  assertEquals(
    relayer.intake.accepted[0]?.caller.publicKey,
    KEY.publicKey,
  );
  const replayed = await relayer.call("POST", TARGET, {
    as: "nobody",
    headers: signed,
    body: BODY,
  });
  assertEquals([replayed.status, replayed.text], [401, ""]);
  assertEquals(replayed.headers["x-auth-error"], "ERR_REPLAY");
  assertEquals(relayer.intake.accepted.length, 1);
});

Deno.test("handler refuses what was signed otherwise, and burns no nonce", async () => {
  const { relayer, clock, headers } = setUp();
  const nowS = Math.floor(clock.nowMs() / 1_000);
  const cases = [
    [headers({ target: "/api/forget" }), "ERR_SIGNATURE", 401],
    [headers({ method: "GET" }), "ERR_SIGNATURE", 401],
    [headers({ body: new Uint8Array() }), "ERR_SIGNATURE", 401],
    [headers({ timestamp: nowS - 301 }), "ERR_TIMESTAMP_OUT_OF_BOUNDS", 401],
    [headers({ timestamp: "soon" }), "ERR_TIMESTAMP_FORMAT", 401],
    [headers({ nonce: undefined }), "ERR_CLIENT_TOO_OLD", 426],
    [headers({ nonce: "1" }), "ERR_NONCE_FORMAT", 401],
    [
      headers({ accountId: `0x${"9".repeat(64)}` }),
      "ERR_ACCOUNT_UNKNOWN",
      401,
    ],
  ] as const;
  for (const [signed, code, status] of cases) {
    const answer = await relayer.call("POST", TARGET, {
      as: "nobody",
      headers: signed,
      body: BODY,
    });
    assertEquals(answer.headers["x-auth-error"], code);
    assertEquals([answer.status, answer.text], [status, ""], code);
  }
  assertEquals(relayer.intake.accepted, []);
  const good = await relayer.call("POST", TARGET, {
    as: "nobody",
    headers: headers({}),
    body: BODY,
  });
  assertEquals(good.status, 202);
});

Deno.test("handler burns no nonce of a request that is over a limit", async () => {
  const { relayer, headers, nonces } = setUp();
  const options = { as: "nobody", headers: headers({}), body: BODY } as const;
  relayer.models.rate = {
    kind: "limited",
    layer: "delegate_key",
    limit: 60,
    retryAfterSeconds: 7,
  };
  assertEquals((await relayer.call("POST", TARGET, options)).status, 429);
  assertEquals(nonces.size, 0);
  relayer.models.rate = { kind: "ok" };
  assertEquals((await relayer.call("POST", TARGET, options)).status, 202);
  assertEquals((await relayer.call("POST", TARGET, options)).status, 401);
});

Deno.test("handler refuses a head that is bad before it reads the body", async () => {
  const { relayer, headers } = setUp();
  const large = new Uint8Array(2_097_153);
  const unsigned = await relayer.call("POST", TARGET, {
    as: "nobody",
    body: large,
  });
  assertEquals(unsigned.status, 401);
  const signed = await relayer.call("POST", TARGET, {
    as: "nobody",
    headers: headers({ body: large }),
    body: large,
  });
  assertEquals(signed.status, 413);
});

Deno.test("handler answers 503 while the ledger does not answer", async () => {
  const { relayer, ledger, headers } = setUp();
  ledger.failure = "away";
  const { status, text, headers: told } = await relayer.call("POST", TARGET, {
    as: "nobody",
    headers: headers({}),
    body: BODY,
  });
  assertEquals([status, text], [503, ""]);
  assertEquals(told["x-auth-error"], "AUTH_UPSTREAM_UNAVAILABLE");
});

interface Signing {
  readonly method?: string;
  readonly target?: string;
  readonly body?: Uint8Array;
  readonly timestamp?: number | string;
  readonly nonce?: string | undefined;
  readonly accountId?: string;
}

interface Setting {
  readonly relayer: TestRelayer;
  readonly clock: FakeClock;
  readonly ledger: FakeLedger;
  readonly nonces: Nonces;
  headers(signing: Signing): Readonly<Record<string, string>>;
}

function setUp(): Setting {
  const clock = new FakeClock();
  const ledger = new FakeLedger();
  ledger.accounts = [makeAccount("1", [KEY.publicKey])];
  const nonces = new Nonces({
    clock,
    persist: () => {},
    ttlMs: nonceTtlMs(300_000),
  });
  const authenticator = new Authenticator({
    clock,
    signatures: new SignatureVerifier(),
    nonces,
    accounts: new AccountResolver({ ledger, clock }),
    windowMs: 300_000,
    isLegacyAllowed: false,
  });
  const relayer = openTestRelayer({ authenticator });
  const headers = (signing: Signing): Record<string, string> => {
    const { nonce, ...rest } = { nonce: NONCE, ...signing };
    return signedHeaders(KEY, {
      method: "POST",
      target: TARGET,
      timestamp: Math.floor(clock.nowMs() / 1_000),
      body: BODY,
      accountId: ACCOUNT,
      ...rest,
      ...(nonce === undefined ? {} : { nonce }),
    });
  };
  return { relayer, clock, ledger, nonces, headers };
}
