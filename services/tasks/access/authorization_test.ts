import {
  assert,
  assertEquals,
  assertStrictEquals,
  assertStringIncludes,
} from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import {
  configuredTokenFault,
  isOperatorToken,
  parseAuthorization,
  parseBearer,
  PresentedCredentials,
} from "./authorization.ts";

type Authorization = ReturnType<typeof parseAuthorization>;
import {
  type CredentialToken,
  hashSecret,
  mintToken,
  mintWorkerCredential,
  parseToken,
} from "./credential_token.ts";

const KEY = mintToken("dk");
const WORKER = mintWorkerCredential("acme");
const JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln";

Deno.test("parseAuthorization() tells the kinds of credential apart", () => {
  const { prefix, id, secret } = KEY;
  const token = { prefix, id, secret };
  for (const scheme of ["Bearer", "bearer", "BEARER", "Bearer  "]) {
    assertEquals(
      parseAuthorization(`${scheme} ${KEY.text}`),
      { kind: "api_key", token },
    );
  }
  assertEquals(parseAuthorization([` Bearer ${KEY.text} `]).kind, "api_key");
  assertEquals(parseAuthorization(`Bearer ${JWT}`), {
    kind: "jwt",
    token: JWT,
  });
  const workerToken = parseToken(WORKER.secret);
  assert(workerToken !== undefined);
  assertEquals(
    parseAuthorization(`Bearer ${WORKER.secret}`),
    { kind: "worker", token: workerToken },
  );
  assertEquals(
    parseAuthorization(`basic ${btoa(`${WORKER.key}:${WORKER.secret}`)}`),
    { kind: "worker", token: workerToken, tenant: "acme" },
  );
});

Deno.test("parseAuthorization() knows that there is no header", () => {
  for (const header of [undefined, null, [], "", "  "]) {
    assertEquals(parseAuthorization(header), { kind: "missing" });
  }
});

Deno.test("parseAuthorization() refuses a doubled and an endless header", () => {
  const one = `Bearer ${KEY.text}`;
  for (const header of [[one, one], `${one}, ${one}`, [one, "Basic x"]]) {
    const outcome = parseAuthorization(header);
    assert(outcome.kind === "malformed");
    assertEquals(outcome.code, "bad_header");
  }
  const long = parseAuthorization(`Bearer ${"a".repeat(8_250)}`);
  assert(long.kind === "malformed");
  assertEquals(long.code, "bad_header");
  // The bound is that of the token; the scheme does not count.
  const longest = parseAuthorization(`Bearer  a.b.${"c".repeat(8_188)}`);
  assertEquals(longest.kind, "jwt");
});

Deno.test("parseAuthorization() refuses everything else and repeats none of it", () => {
  const cases = [
    "Bearer",
    "Bearer ",
    KEY.text,
    `Token ${KEY.text}`,
    `Bearer${KEY.text}`,
    `Bearer\t${KEY.text}`,
    `Bearer ${KEY.text} x`,
    `Bearer ${KEY.text.slice(0, -1)}`,
    `Bearer ${KEY.text.replace(/.$/, "-")}`,
    `Bearer DK${KEY.text.slice(2)}`,
    "Bearer a.b",
    "Bearer a.b.c.d",
    "Bearer a..c",
    "Bearer a.b.c=",
    "Bearer hello",
    `Basic ${KEY.text}`,
    "Basic !!!",
    `Basic ${btoa("user:pass")}`,
    `Basic ${btoa(`${KEY.text}:`)}`,
    `Basic ${btoa("\xff\xfe:a:b")}`,
    `Digest username="a"`,
    "Negotiate YII=",
  ];
  for (const header of cases) {
    const outcome = parseAuthorization(header);
    assert(outcome.kind === "malformed", header);
    assertEquals(outcome.code, "invalid_credentials", header);
    assert(!outcome.reason.includes(KEY.secret));
  }
});

Deno.test("parseAuthorization() never throws", () => {
  const random = new SeededRandom(31);
  const pieces = [
    "Bearer ",
    "Basic ",
    "dk_",
    "wk_",
    KEY.id,
    KEY.secret,
    KEY.text,
    ".",
    ",",
    " ",
    "=",
    "\u0000",
    "\u00e9",
    JWT,
    btoa("a:b:c"),
  ];
  const kinds = new Set<string>();
  for (let round = 0; round < 20_000; round++) {
    const text = random.list(5, () => random.pick(pieces)).join("");
    const outcome = parseAuthorization(text);
    kinds.add(outcome.kind);
    if (outcome.kind === "api_key") assertStringIncludes(text, KEY.text);
  }
  assertEquals(kinds, new Set(["missing", "malformed", "api_key", "jwt"]));
});

Deno.test("parseBearer() gives tokens of any kind", () => {
  assertEquals(parseBearer("bearer abc/+~=="), {
    kind: "ok",
    token: "abc/+~==",
  });
  assertEquals(parseBearer(undefined), { kind: "missing" });
  assertEquals(parseBearer("Basic abc").kind, "malformed");
  assertEquals(parseBearer(["Bearer a", "Bearer b"]).kind, "malformed");
});

Deno.test("isOperatorToken() accepts the configured tokens and no others", () => {
  const digests = [hashSecret("first-token"), hashSecret("second-token")];
  assert(isOperatorToken("first-token", digests));
  assert(isOperatorToken("second-token", digests));
  assert(!isOperatorToken("third-token", digests));
  assert(!isOperatorToken(digests[0] ?? "", digests));
  assert(!isOperatorToken("", []));
});

Deno.test("configuredTokenFault() refuses short tokens and what no header can have", () => {
  const name = "OPERATOR_TOKEN";
  assertEquals(configuredTokenFault("a".repeat(22), name), undefined);
  assertEquals(configuredTokenFault(KEY.text, name), undefined);
  for (const token of ["", "changeme", `${"a".repeat(30)} b`, "é".repeat(30)]) {
    const fault = configuredTokenFault(token, name);
    assertStringIncludes(fault ?? "", "Cannot use OPERATOR_TOKEN");
    assert(token === "" || !fault?.includes(token));
  }
});

const OTHER_KEY = mintToken("dk");

/** Headers of every kind that the parser distinguishes. */
const HEADERS: readonly (readonly string[])[] = [
  [],
  [`Bearer ${KEY.text}`],
  [`Bearer ${WORKER.secret}`],
  ["Bearer aaa.bbb.ccc"],
  ["Digest x"],
  [`Bearer ${KEY.text}`, `Bearer ${KEY.text}`],
];

function getToken(read: Authorization): CredentialToken {
  if (read.kind !== "api_key") throw new TypeError(`It is "${read.kind}"`);
  return read.token;
}

Deno.test("PresentedCredentials.read() reads every kind of header, with a head and without", () => {
  const presented = new PresentedCredentials();
  for (const authorization of HEADERS) {
    const expected = parseAuthorization(authorization);
    assertEquals(presented.read({ authorization }), expected);
    const head = {};
    assertEquals(presented.read({ authorization, head }), expected);
    // The second read returns what was remembered for the headers object.
    assertEquals(presented.read({ authorization, head }), expected);
  }
});

Deno.test("PresentedCredentials.read() reads a header once while its head is the same object", () => {
  const presented = new PresentedCredentials();
  const head = {};
  const authorization = [`Bearer ${KEY.text}`];
  const first = presented.read({ authorization, head });
  assertStrictEquals(presented.read({ authorization, head }), first);
});

Deno.test("PresentedCredentials.read() gives no head what another one carries", () => {
  const presented = new PresentedCredentials();
  const own = presented.read({
    authorization: [`Bearer ${KEY.text}`],
    head: {},
  });
  const other = presented.read({
    authorization: [`Bearer ${OTHER_KEY.text}`],
    head: {},
  });
  assertEquals([getToken(own).id, getToken(other).id], [KEY.id, OTHER_KEY.id]);
  const none = presented.read({ authorization: [], head: {} });
  assertEquals(none.kind, "missing");
});

Deno.test("PresentedCredentials.read() keeps nothing without a head", () => {
  const presented = new PresentedCredentials();
  const authorization = [`Bearer ${KEY.text}`];
  const first = presented.read({ authorization });
  assert(presented.read({ authorization }) !== first);
  const other = presented.read({ authorization: [`Bearer ${OTHER_KEY.text}`] });
  assertEquals(getToken(other).id, OTHER_KEY.id);
});

Deno.test("PresentedCredentials.read() shares nothing with another reader", () => {
  const authorization = [`Bearer ${KEY.text}`];
  const head = {};
  const first = new PresentedCredentials().read({ authorization, head });
  assert(new PresentedCredentials().read({ authorization, head }) !== first);
});

Deno.test("PresentedCredentials.getDigest() gives each token the digest of its own secret", () => {
  const presented = new PresentedCredentials();
  const tokens = [KEY, OTHER_KEY].map(({ text }) =>
    getToken(parseAuthorization(`Bearer ${text}`))
  );
  const digests = [KEY.digest, OTHER_KEY.digest];
  assertEquals(tokens.map((token) => presented.getDigest(token)), digests);
  assertEquals(tokens.map((token) => presented.getDigest(token)), digests);
});

Deno.test("PresentedCredentials.getDigest() digests the secret of a token once", () => {
  let looks = 0;
  const token: CredentialToken = {
    prefix: "dk",
    id: KEY.id,
    get secret() {
      looks++;
      return KEY.secret;
    },
  };
  const presented = new PresentedCredentials();
  const digests = [1, 2, 3].map(() => presented.getDigest(token));
  assertEquals([digests, looks], [[KEY.digest, KEY.digest, KEY.digest], 1]);
});

Deno.test("PresentedCredentials.getDigest() does not take tokens of one id for the same", () => {
  const presented = new PresentedCredentials();
  presented.getDigest(KEY);
  // Another secret with the id of a key that was just used must have its own
  // digest.
  const guess = { ...KEY, secret: OTHER_KEY.secret };
  assertEquals(presented.getDigest(guess), OTHER_KEY.digest);
});

Deno.test("PresentedCredentials.matches() accepts the stored digest of a token's own secret", () => {
  const presented = new PresentedCredentials();
  const token = { prefix: "dk", id: "dk_1", secret: "right" } as const;
  const stored = hashSecret("right");
  // A match that is remembered says nothing about other digests.
  for (let time = 0; time < 2; time++) {
    assert(presented.matches(token, stored));
    assert(!presented.matches(token, hashSecret("other")));
    assert(!presented.matches(token, undefined));
    assert(!presented.matches({ ...token, secret: "wrong" }, stored));
  }
});
