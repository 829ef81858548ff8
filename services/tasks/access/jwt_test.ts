import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertThrows,
} from "@std/assert";
import { createHmac } from "node:crypto";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { Jwks, JWT_ALGORITHMS, type JwtAlgorithm } from "./jwks.ts";
import { type JwtOutcome, JwtVerifier } from "./jwt.ts";
import {
  IdentityProviderServer,
  type ProviderFault,
} from "./testing/identity_provider_server.ts";

const AUDIENCE = "https://tasks.example.com";

interface Setup extends AsyncDisposable {
  readonly clock: FakeClock;
  readonly provider: IdentityProviderServer;
  readonly verifier: JwtVerifier;
  claims(changes?: Record<string, unknown>): Record<string, unknown>;
}

async function setUp(algorithms?: readonly JwtAlgorithm[]): Promise<Setup> {
  const clock = new FakeClock();
  const provider = await IdentityProviderServer.start(algorithms);
  const keys = new Jwks({
    url: provider.keySetUrl,
    fetch,
    clock,
    logger: new RecordingLogger(),
  });
  return {
    clock,
    provider,
    verifier: new JwtVerifier({
      issuer: provider.url,
      audiences: ["other", AUDIENCE],
      keys,
      clock,
      maxRemembered: 5,
    }),
    claims: (changes = {}) => ({
      ...provider.claimsAt(clock.nowMs(), AUDIENCE),
      ...changes,
    }),
    async [Symbol.asyncDispose]() {
      await keys.stop();
      await provider[Symbol.asyncDispose]();
    },
  };
}

/** A key set with this key alone. */
function keySet(
  ...keys: readonly Readonly<Record<string, unknown>>[]
): ProviderFault {
  return { kind: "text", text: JSON.stringify({ keys }) };
}

function getCode(outcome: JwtOutcome): string {
  return outcome.kind === "refused" ? outcome.code : outcome.kind;
}

function encode(part: unknown): string {
  const text = typeof part === "string" ? part : JSON.stringify(part);
  return new TextEncoder().encode(text)
    .toBase64({ alphabet: "base64url", omitPadding: true });
}

Deno.test("JwtVerifier accepts tokens of every algorithm, with their own key only", async () => {
  await using setup = await setUp(JWT_ALGORITHMS);
  const { provider, verifier, claims } = setup;
  for (const algorithm of JWT_ALGORITHMS) {
    const token = await provider.mint(claims(), { algorithm });
    const outcome = await verifier.verify(token);
    assert(outcome.kind === "ok", algorithm);
    assertEquals(outcome.subject, {
      issuer: provider.url,
      subject: "auth0|ada",
      verifiedEmail: "ada@example.com",
      name: "Ada",
      expiresAtMs: setup.clock.nowMs() + 3_600_000,
    });
    for (const other of JWT_ALGORITHMS) {
      if (other === algorithm) continue;
      // One token names an algorithm and key but is signed with others; the
      // second names the key of another algorithm.
      const forged = await provider.mint(claims(), {
        algorithm: other,
        header: { alg: algorithm, kid: `${algorithm}-1` },
      });
      const crossed = await provider.mint(claims(), {
        algorithm,
        header: { kid: `${other}-1` },
      });
      assertEquals(
        getCode(await verifier.verify(forged)),
        "invalid_credentials",
      );
      assertEquals(
        getCode(await verifier.verify(crossed)),
        "invalid_credentials",
      );
    }
  }
});

Deno.test("JwtVerifier accepts no symmetric, missing or other algorithm", async () => {
  await using setup = await setUp(["RS256"]);
  const { provider, verifier, claims } = setup;
  const jwk = provider.publicJwk("RS256");
  const body = encode(claims());
  for (
    const alg of ["HS256", "none", "None", "RS384", "ES256K", "", undefined, [
      "RS256",
    ], "toString"]
  ) {
    const signed = `${encode({ alg, kid: jwk.kid })}.${body}`;
    // An old attack: the public key as the secret of an HMAC.
    const mac = createHmac("sha256", String(jwk.n)).update(signed).digest(
      "base64url",
    );
    for (const signature of [mac, "", await provider.sign("RS256", signed)]) {
      const outcome = await verifier.verify(`${signed}.${signature}`);
      assertEquals(getCode(outcome), "invalid_credentials", String(alg));
    }
  }
});

Deno.test("JwtVerifier keeps an RSA key to RS256 though it could do PS256", async () => {
  await using setup = await setUp(["PS256"]);
  const { provider, verifier, claims } = setup;
  const jwk = provider.publicJwk("PS256");
  const token = await provider.mint(claims());
  provider.keySetFault = keySet({ ...jwk, alg: "RS256" });
  assertEquals(getCode(await verifier.verify(token)), "invalid_credentials");
  // A key without an algorithm fits both RSA algorithms.
  provider.keySetFault = keySet({ ...jwk, alg: undefined });
  setup.clock.advance(60_000);
  const wrong = await provider.mint(claims(), { header: { alg: "RS256" } });
  assertEquals(getCode(await verifier.verify(token)), "ok");
  assertEquals(getCode(await verifier.verify(wrong)), "invalid_credentials");
});

Deno.test("JwtVerifier says no to signatures of any length", async () => {
  await using setup = await setUp(JWT_ALGORITHMS);
  const { provider, verifier, claims } = setup;
  for (const algorithm of JWT_ALGORITHMS) {
    const token = await provider.mint(claims(), { algorithm });
    const signed = token.slice(0, token.lastIndexOf("."));
    for (const length of [0, 1, 63, 64, 65, 70, 255, 256, 257, 4_000]) {
      const signature = new Uint8Array(length)
        .toBase64({ alphabet: "base64url", omitPadding: true });
      const outcome = await verifier.verify(`${signed}.${signature}`);
      assertEquals(getCode(outcome), "invalid_credentials", String(length));
    }
  }
});

Deno.test("JwtVerifier accepts no more of a key than its public part", async () => {
  await using setup = await setUp();
  const { provider, verifier, claims } = setup;
  // Members of other standards, and oddities that some providers have.
  provider.keySetFault = keySet({
    ...provider.publicJwk("ES256"),
    key_ops: ["verify", "verify"],
    ext: false,
    x5c: ["MIIB"],
    d: "AAAA",
  });
  const token = await provider.mint(claims());
  assertEquals(getCode(await verifier.verify(token)), "ok");
});

Deno.test("JwtVerifier verifies nothing with a point that is on no curve", async () => {
  await using setup = await setUp();
  const { provider, verifier, claims, clock } = setup;
  const jwk = provider.publicJwk("ES256");
  const bad = { ...jwk, y: "A".repeat(43) };
  const token = await provider.mint(claims());
  provider.keySetFault = keySet(bad);
  assertEquals(getCode(await verifier.verify(token)), "unavailable");
  clock.advance(10_000);
  provider.keySetFault = keySet(bad, { ...jwk, kid: "another" });
  assertEquals(getCode(await verifier.verify(token)), "invalid_credentials");
});

Deno.test("JwtVerifier looks at the times of a token", async () => {
  await using setup = await setUp();
  const { provider, verifier, clock } = setup;
  const now = clock.nowMs() / 1_000;
  const cases: readonly [Record<string, unknown>, string][] = [
    [{}, "ok"],
    [{ exp: now + 0.001 }, "ok"],
    [{ exp: now }, "token_expired"],
    [{ exp: now - 1 }, "token_expired"],
    [{ exp: 0 }, "token_expired"],
    [{ exp: undefined }, "invalid_credentials"],
    [{ exp: null }, "invalid_credentials"],
    [{ exp: String(now + 60) }, "invalid_credentials"],
    [{ exp: [now + 60] }, "invalid_credentials"],
    [{ nbf: now + 60 }, "ok"],
    [{ nbf: now + 61 }, "invalid_credentials"],
    [{ nbf: "soon" }, "invalid_credentials"],
    [{ iat: now + 60 }, "ok"],
    [{ iat: now + 61 }, "invalid_credentials"],
    [{ iat: undefined }, "ok"],
  ];
  for (const [changes, code] of cases) {
    const token = await provider.mint(setup.claims(changes));
    assertEquals(
      getCode(await verifier.verify(token)),
      code,
      JSON.stringify(changes),
    );
  }
});

Deno.test("JwtVerifier looks at who a token is from, for and about", async () => {
  await using setup = await setUp();
  const { provider, verifier } = setup;
  const cases: readonly [Record<string, unknown>, string][] = [
    [{ aud: ["x", AUDIENCE] }, "ok"],
    [{ aud: "other" }, "ok"],
    [{ aud: "x" }, "invalid_credentials"],
    [{ aud: [] }, "invalid_credentials"],
    [{ aud: [[AUDIENCE]] }, "invalid_credentials"],
    [{ aud: { 0: AUDIENCE } }, "invalid_credentials"],
    [{ aud: undefined }, "invalid_credentials"],
    [{ iss: "https://evil.example" }, "invalid_credentials"],
    [{ iss: `${provider.url}/` }, "invalid_credentials"],
    [{ iss: undefined }, "invalid_credentials"],
    [{ sub: "" }, "invalid_credentials"],
    [{ sub: 7 }, "invalid_credentials"],
    [{ sub: "s".repeat(256) }, "invalid_credentials"],
    [{ sub: undefined }, "invalid_credentials"],
  ];
  for (const [changes, code] of cases) {
    const token = await provider.mint(setup.claims(changes));
    assertEquals(
      getCode(await verifier.verify(token)),
      code,
      JSON.stringify(changes),
    );
  }
});

Deno.test("JwtVerifier gives an address only where it was verified", async () => {
  await using setup = await setUp();
  const { provider, verifier, claims } = setup;
  for (const email_verified of [false, "true", 1, undefined]) {
    const outcome = await verifier.verify(
      await provider.mint(claims({ email_verified })),
    );
    assert(outcome.kind === "ok");
    assertEquals(outcome.subject.verifiedEmail, undefined);
  }
});

Deno.test("JwtVerifier follows no key that a token brings, and no extension", async () => {
  await using setup = await setUp();
  const { provider, verifier, claims } = setup;
  await using evil = await IdentityProviderServer.start();
  const brought = {
    kid: "ES256-1",
    jku: evil.keySetUrl,
    jwk: evil.publicJwk("ES256"),
    x5u: evil.keySetUrl,
  };
  const forged = await evil.mint(claims(), { header: brought });
  assertEquals(getCode(await verifier.verify(forged)), "invalid_credentials");
  assertEquals(evil.keySetCalls, 0);
  for (
    const header of [
      { crit: ["exp"] },
      { crit: [] },
      { crit: ["b64"], b64: false },
      { typ: "logout+jwt" },
      { typ: 7 },
      { kid: 7 },
      { kid: "k".repeat(300) },
    ]
  ) {
    const token = await provider.mint(claims(), { header });
    assertEquals(
      getCode(await verifier.verify(token)),
      "invalid_credentials",
      JSON.stringify(header),
    );
  }
  for (
    const header of [{ typ: undefined }, { typ: "at+jwt" }, { kid: undefined }]
  ) {
    const token = await provider.mint(claims(), { header });
    assertEquals(
      getCode(await verifier.verify(token)),
      "ok",
      JSON.stringify(header),
    );
  }
});

Deno.test("JwtVerifier refuses malformed tokens", async () => {
  await using setup = await setUp();
  const { provider, verifier, claims } = setup;
  const good = await provider.mint(claims());
  const [header = "", body = "", signature = ""] = good.split(".");
  const deep = `${"[".repeat(3_000)}${"]".repeat(3_000)}`;
  const cases = [
    "",
    "..",
    good.slice(0, -4),
    `${good}AAAA`,
    `${good}.`,
    `${good}=`,
    `${header}.${body}`,
    `${header}.${body}.`,
    `${header}.${body}.A`,
    `${header}.${encode("{")}.${signature}`,
    `${header}.${encode("[]")}.${signature}`,
    `${header}.${encode("null")}.${signature}`,
    `${header}.${encode(deep)}.${signature}`,
    `${encode('"ES256"')}.${body}.${signature}`,
    `${encode('\ufeff{"alg":"ES256"}')}.${body}.${signature}`,
    `${header}.wyh_.${signature}`,
    ` ${good}`,
    "a".repeat(8_193),
  ];
  for (const token of cases) {
    assertEquals(
      getCode(await verifier.verify(token)),
      "invalid_credentials",
      token.slice(0, 80),
    );
  }
  // Tokens of more than 8 KiB are refused, signed or not.
  const padding = "p".repeat(8_193);
  const long = await provider.mint(claims({ padding }));
  assertEquals(getCode(await verifier.verify(long)), "invalid_credentials");
});

Deno.test("JwtVerifier reads doubled and odd members one way only", async () => {
  await using setup = await setUp();
  const { provider, verifier, claims } = setup;
  async function sign(header: string, body: string): Promise<string> {
    const signed = `${encode(header)}.${encode(body)}`;
    return `${signed}.${await provider.sign("ES256", signed)}`;
  }
  const text = JSON.stringify(claims());
  const header = '{"alg":"ES256","kid":"ES256-1"}';
  const last = await verifier.verify(
    await sign(
      '{"alg":"none","alg":"ES256","kid":"ES256-1"}',
      text.replace('"sub":', '"sub":"mallory","sub":'),
    ),
  );
  assert(last.kind === "ok");
  assertEquals(last.subject.subject, "auth0|ada");
  const hidden = '{"__proto__":{"alg":"ES256","kid":"ES256-1"}}';
  assertEquals(
    getCode(await verifier.verify(await sign(hidden, text))),
    "invalid_credentials",
  );
  const inherited = `{"__proto__":${text}}`;
  assertEquals(
    getCode(await verifier.verify(await sign(header, inherited))),
    "invalid_credentials",
  );
});

Deno.test("JwtVerifier refuses a token with any character changed", async () => {
  await using setup = await setUp();
  const { provider, verifier, claims } = setup;
  const token = await provider.mint(claims());
  const random = new SeededRandom(37);
  const signatureAt = token.lastIndexOf(".");
  for (let round = 0; round < 300; round++) {
    // The last character is left alone: some of its bits are in no byte.
    const place = random.below(token.length - 1);
    const letter = random.pick([..."ABCabc019-_."]);
    if (token[place] === letter || place === signatureAt) continue;
    const wrong = token.slice(0, place) + letter + token.slice(place + 1);
    assertEquals(
      getCode(await verifier.verify(wrong)),
      "invalid_credentials",
      wrong,
    );
  }
});

Deno.test("JwtVerifier remembers a token until it ends", async () => {
  await using setup = await setUp();
  const { provider, verifier, clock, claims } = setup;
  const exp = clock.nowMs() / 1_000 + 100;
  const token = await provider.mint(claims({ exp }));
  assertInstanceOf(verifier.verify(token), Promise);
  await verifier.verify(token);
  const again = verifier.verify(token);
  assert(!(again instanceof Promise));
  assertEquals(getCode(again), "ok");
  clock.advance(99_999);
  assert(!(verifier.verify(token) instanceof Promise));
  clock.advance(1);
  assertEquals(getCode(await verifier.verify(token)), "token_expired");
});

Deno.test("JwtVerifier remembers for a bounded time and a bounded number", async () => {
  await using setup = await setUp();
  const { provider, verifier, clock, claims } = setup;
  const first = await provider.mint(claims());
  await verifier.verify(first);
  clock.advance(299_999);
  assert(!(verifier.verify(first) instanceof Promise));
  clock.advance(1);
  const second = verifier.verify(first);
  assertInstanceOf(second, Promise);
  await second;
  for (let count = 0; count < 5; count++) {
    await verifier.verify(
      await provider.mint(claims({ sub: `user-${count}` })),
    );
  }
  const forgotten = verifier.verify(first);
  assertInstanceOf(forgotten, Promise);
  assertEquals(getCode(await forgotten), "ok");
});

Deno.test("JwtVerifier forgets tokens of keys that are gone", async () => {
  await using setup = await setUp();
  const { provider, verifier, claims } = setup;
  const old = await provider.mint(claims());
  assertEquals(getCode(await verifier.verify(old)), "ok");
  await provider.rotate();
  const fresh = await provider.mint(claims());
  // The unknown key makes the verifier fetch the set, which lacks the old key.
  assertEquals(getCode(await verifier.verify(fresh)), "ok");
  assertEquals(getCode(await verifier.verify(old)), "invalid_credentials");
});

Deno.test("JwtVerifier fetches nothing for tokens of other issuers", async () => {
  await using setup = await setUp();
  const { provider, verifier, claims } = setup;
  const token = await provider.mint(claims({ iss: "https://evil.example" }));
  await verifier.verify(token);
  assertEquals(provider.keySetCalls, 0);
});

Deno.test("JwtVerifier is neither for nor against a token while there are no keys", async () => {
  await using setup = await setUp();
  const { provider, verifier, claims } = setup;
  provider.keySetFault = { kind: "status", status: 503 };
  const token = await provider.mint(claims());
  assertEquals(await verifier.verify(token), {
    kind: "unavailable",
    retryAfterMs: 10_000,
  });
});

Deno.test("JwtVerifier needs an issuer and an audience", () => {
  const clock = new FakeClock();
  const keys = {
    generation: 0,
    find: () => Promise.resolve({ kind: "unknown" } as const),
  };
  for (
    const options of [{ issuer: "", audiences: ["a"] }, {
      issuer: "i",
      audiences: [],
    }]
  ) {
    assertThrows(
      () => new JwtVerifier({ ...options, keys, clock }),
      RangeError,
    );
  }
});
