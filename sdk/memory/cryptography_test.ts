import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertThrows,
} from "@std/assert";
import {
  hmacSha256,
  importSeed,
  isSignedBy,
  randomBytes,
  randomUuid,
  sha256,
} from "./cryptography.ts";
import { MemDestroyedError, MemError } from "./errors.ts";
import { RANDOM_ALONE, withGlobals } from "./testing/with_globals.ts";

/** WebCrypto of browsers before they had Ed25519. */
const WITHOUT_ED25519 = {
  crypto: {
    ...RANDOM_ALONE.crypto,
    subtle: {
      digest: crypto.subtle.digest.bind(crypto.subtle),
      importKey: () =>
        Promise.reject(new DOMException("no such name", "NotSupportedError")),
    },
  },
};
const BYTES = new TextEncoder().encode("Ada drinks tea");

function seed(): Uint8Array<ArrayBuffer> {
  return new Uint8Array(32).fill(7);
}

Deno.test("cryptography is the same without WebCrypto, and without its Ed25519", async () => {
  const hash = await sha256(BYTES);
  const mac = await hmacSha256(seed(), BYTES);
  const keys = await importSeed(seed());
  const signature = await keys.sign(BYTES);
  for (const globals of [RANDOM_ALONE, WITHOUT_ED25519]) {
    await withGlobals(globals, async () => {
      const spare = await importSeed(seed());
      assertEquals(await sha256(BYTES), hash);
      assertEquals(spare.publicKey, keys.publicKey);
      assertEquals(await spare.sign(BYTES), signature);
      const signed = { ...{ signature, bytes: BYTES }, ...keys };
      assert(await isSignedBy(signed));
      assert(!await isSignedBy({ ...signed, bytes: hash }));
      assert(!await isSignedBy({ ...signed, publicKey: hash.subarray(1) }));
    });
  }
  await withGlobals(RANDOM_ALONE, async () => {
    assertEquals(await hmacSha256(seed(), BYTES), mac);
  });
});

Deno.test("importSeed() takes a copy, which wipe() overwrites, without WebCrypto", async () => {
  await withGlobals(RANDOM_ALONE, async () => {
    const given = seed();
    const importing = importSeed(given);
    given.fill(0);
    const keys = await importing;
    assertEquals((await keys.sign(BYTES)).length, 64);
    keys.wipe();
    await assertRejects(() => keys.sign(BYTES), MemDestroyedError);
  });
});

Deno.test("importSeed() refuses a page that was loaded over plain HTTP", async () => {
  await withGlobals({ ...RANDOM_ALONE, isSecureContext: false }, async () => {
    await assertRejects(() => importSeed(seed()), MemError, "HTTPS");
  });
});

Deno.test("randomBytes() says what to install when the runtime has no random bytes", async () => {
  for (const found of [undefined, {}]) {
    await withGlobals({ crypto: found }, () => {
      for (const make of [() => randomBytes(4), randomUuid]) {
        assertThrows(make, Error, "npm install react-native-get-random-values");
      }
    });
  }
});

Deno.test("randomUuid() makes a UUID of version 4, another one each time", () => {
  const made = Array.from({ length: 100 }, randomUuid);
  for (const one of made) {
    assertMatch(
      one,
      /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
  }
  assertEquals(new Set(made).size, 100);
});
