import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { mintApiKey } from "./api_key.ts";
import { type Authorization, parseAuthorization } from "./authorization.ts";
import type { CredentialToken } from "./credential_token.ts";
import { PresentedCredentials } from "./presented_credential.ts";
import { mintWorkerCredential } from "./worker_credential.ts";

const KEY = mintApiKey();
const OTHER_KEY = mintApiKey();
const WORKER = mintWorkerCredential("acme");

/** The kinds of headers there are. */
const HEADERS: readonly (readonly string[])[] = [
  [],
  [`Bearer ${KEY.text}`],
  [`Bearer ${WORKER.secret}`],
  ["Bearer aaa.bbb.ccc"],
  ["Digest x"],
  [`Bearer ${KEY.text}`, `Bearer ${KEY.text}`],
];

function tokenOf(read: Authorization): CredentialToken {
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
    // The second time it is what was read of it.
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
  assertEquals([tokenOf(own).id, tokenOf(other).id], [KEY.id, OTHER_KEY.id]);
  const none = presented.read({ authorization: [], head: {} });
  assertEquals(none.kind, "missing");
});

Deno.test("PresentedCredentials.read() keeps nothing without a head", () => {
  const presented = new PresentedCredentials();
  const authorization = [`Bearer ${KEY.text}`];
  const first = presented.read({ authorization });
  assert(presented.read({ authorization }) !== first);
  const other = presented.read({ authorization: [`Bearer ${OTHER_KEY.text}`] });
  assertEquals(tokenOf(other).id, OTHER_KEY.id);
});

Deno.test("PresentedCredentials.read() shares nothing with another reader", () => {
  const authorization = [`Bearer ${KEY.text}`];
  const head = {};
  const first = new PresentedCredentials().read({ authorization, head });
  assert(new PresentedCredentials().read({ authorization, head }) !== first);
});

Deno.test("PresentedCredentials.digestOf() gives each token the digest of its own secret", () => {
  const presented = new PresentedCredentials();
  const tokens = [KEY, OTHER_KEY].map(({ text }) =>
    tokenOf(parseAuthorization(`Bearer ${text}`))
  );
  const digests = [KEY.digest, OTHER_KEY.digest];
  assertEquals(tokens.map((token) => presented.digestOf(token)), digests);
  assertEquals(tokens.map((token) => presented.digestOf(token)), digests);
});

Deno.test("PresentedCredentials.digestOf() digests the secret of a token once", () => {
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
  const digests = [1, 2, 3].map(() => presented.digestOf(token));
  assertEquals([digests, looks], [[KEY.digest, KEY.digest, KEY.digest], 1]);
});

Deno.test("PresentedCredentials.digestOf() does not take tokens of one id for the same", () => {
  const presented = new PresentedCredentials();
  presented.digestOf(KEY);
  // A guess at the secret of a key that has just been used.
  const guess = { ...KEY, secret: OTHER_KEY.secret };
  assertEquals(presented.digestOf(guess), OTHER_KEY.digest);
});
