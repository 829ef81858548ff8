import { assert, assertEquals } from "@std/assert";
import { JWT_ALGORITHMS, type JwtAlgorithm } from "./jwt_algorithm.ts";
import { parseKeySet, type SigningKey } from "./signing_key.ts";
import { IdentityProviderServer } from "./testing/identity_provider_server.ts";

const ALGORITHMS = Object.keys(JWT_ALGORITHMS) as JwtAlgorithm[];

function onlyKey(jwk: Record<string, unknown>): SigningKey {
  const [key] = parseKeySet(JSON.stringify({ keys: [jwk] })) ?? [];
  assert(key !== undefined);
  return key;
}

async function sign(provider: IdentityProviderServer, algorithm: JwtAlgorithm) {
  const text = "what is signed";
  const signature = await provider.sign(algorithm, text);
  return {
    bytes: new TextEncoder().encode(text),
    signature: Uint8Array.fromBase64(signature, { alphabet: "base64url" }),
  };
}

Deno.test("SigningKey.verify() keeps a key to the algorithm it is made for", async () => {
  await using provider = await IdentityProviderServer.start(ALGORITHMS);
  for (const own of ALGORITHMS) {
    const key = onlyKey(provider.publicJwk(own));
    const signed = await sign(provider, own);
    for (const algorithm of ALGORITHMS) {
      const isSigned = await key.verify(algorithm, signed);
      assertEquals(isSigned, algorithm === own, `${own} as ${algorithm}`);
    }
  }
});

Deno.test("SigningKey.verify() keeps an RSA key to RS256 though it could do PS256", async () => {
  await using provider = await IdentityProviderServer.start(["PS256"]);
  const signed = await sign(provider, "PS256");
  const jwk = provider.publicJwk("PS256");
  const bound = onlyKey({ ...jwk, alg: "RS256" });
  assertEquals(await bound.verify("PS256", signed), false);
  const free = onlyKey({ ...jwk, alg: undefined });
  assertEquals(free.algorithms, ["RS256", "PS256"]);
  assertEquals(await free.verify("PS256", signed), true);
  assertEquals(await free.verify("RS256", signed), false);
});

Deno.test("SigningKey.verify() says no to signatures of any length", async () => {
  await using provider = await IdentityProviderServer.start(ALGORITHMS);
  for (const algorithm of ALGORITHMS) {
    const key = onlyKey(provider.publicJwk(algorithm));
    const { bytes } = await sign(provider, algorithm);
    for (const length of [0, 1, 63, 64, 65, 70, 255, 256, 257, 4_000]) {
      const signature = new Uint8Array(length);
      assertEquals(await key.verify(algorithm, { bytes, signature }), false);
    }
  }
});

Deno.test("parseKeySet() takes no more of a key than its public part", async () => {
  await using provider = await IdentityProviderServer.start(["ES256"]);
  const signed = await sign(provider, "ES256");
  // Members of other standards, and oddities that some providers have.
  const jwk = {
    ...provider.publicJwk("ES256"),
    key_ops: ["verify", "verify"],
    ext: false,
    x5c: ["MIIB"],
    d: "AAAA",
  };
  assertEquals(await onlyKey(jwk).verify("ES256", signed), true);
});
