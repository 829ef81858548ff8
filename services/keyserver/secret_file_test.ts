import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { RecordingLogger } from "../../tests/support/recording_logger.ts";
import { eachRound } from "../../tests/support/rounds.ts";
import { SeededRandom } from "../../tests/support/seeded_random.ts";
import {
  deriveKeyServerId,
  derivePublicKey,
} from "../../sdk/vault/identity_encryption.ts";
import { makeSecret, openSecret, type SecretPlace } from "./secret_file.ts";

/**
 * A file of version 1: the secret is 32 bytes of 7, sealed under the test's
 * key.
 */
const VERSION_1 = JSON.stringify({
  version: 1,
  masterKey: "first",
  sealed:
    "AwMDAwMDAwMDAwMD6Uw70QyVVRHZWgF5yq1TAB1R8ffd/zu2hbpBGgMlrlWTbe8F5yL0" +
    "/ak0IXQAW9lu",
});

async function withPlace(
  test: (place: SecretPlace & { readonly logger: RecordingLogger }) => unknown,
): Promise<void> {
  const dataDir = await Deno.makeTempDir({ prefix: "keyserver_test_" });
  try {
    await test({ dataDir, masterKeys: "", logger: new RecordingLogger() });
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
}

function masterKey(id: string, seed: number): string {
  return `${id}:${new SeededRandom(seed).bytes(32).toBase64()}`;
}

Deno.test("makeSecret() makes what openSecret() opens, for its owner alone", async () => {
  await withPlace(async (place) => {
    const made = await makeSecret(place);
    assertEquals(await openSecret(place), made);
    assertEquals(made.publicKey, derivePublicKey(made.secret));
    assertEquals(made.objectId, deriveKeyServerId(made.publicKey));
    for await (const { name } of Deno.readDir(place.dataDir)) {
      const path = `${place.dataDir}/${name}`;
      assertEquals(((await Deno.stat(path)).mode ?? 0) & 0o077, 0, name);
      const text = await Deno.readTextFile(path);
      assert(!text.includes(made.secret.toBase64()));
      assert(!text.includes(made.secret.toHex()));
    }
    assert(!JSON.stringify(place.logger.lines).includes(made.secret.toHex()));
  });
});

Deno.test("makeSecret() replaces no secret, whatever is in its file", async () => {
  await withPlace(async (place) => {
    const made = await makeSecret(place);
    await assertRejects(() => makeSecret(place), Error, "holds one");
    assertEquals(await openSecret(place), made);
    await Deno.writeTextFile(`${place.dataDir}/secret.json`, "");
    await assertRejects(() => makeSecret(place), Error, "holds one");
  });
});

Deno.test("makeSecret() makes one secret when it is called twice at once", async () => {
  await withPlace(async (place) => {
    const outcomes = await Promise.allSettled([
      makeSecret(place),
      makeSecret(place),
    ]);
    // The file system decides which of the calls comes first.
    const made = outcomes.filter(({ status }) => status === "fulfilled");
    assertEquals(made, [
      { status: "fulfilled", value: await openSecret(place) },
    ]);
  });
});

Deno.test("openSecret() seals the secret under the first master key, and the old one may go", async () => {
  await withPlace(async (place) => {
    const [first, second] = [masterKey("first", 1), masterKey("second", 2)];
    const made = await makeSecret({ ...place, masterKeys: first });
    const both = { ...place, masterKeys: `${second},${first}` };
    assertEquals(await openSecret(both), made);
    assertEquals(place.logger.messages.length, 1);
    assertEquals(await openSecret({ ...place, masterKeys: second }), made);
    await assertRejects(
      () => openSecret({ ...place, masterKeys: first }),
      Error,
      '"second"',
    );
    assertEquals(place.logger.messages.length, 1);
    // Another key with the same name.
    await assertRejects(
      () => openSecret({ ...place, masterKeys: masterKey("second", 3) }),
      Error,
      "Cannot open the secret",
    );
  });
});

Deno.test("openSecret() takes no file that was changed anywhere", async () => {
  await withPlace(async (place) => {
    const made = await makeSecret(place);
    const path = `${place.dataDir}/secret.json`;
    const right = await Deno.readFile(path);
    await eachRound({ rounds: 100 }, async ({ random }) => {
      const bytes = right.slice();
      const at = random.below(bytes.length);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
      const cut = random.chance(0.2) ? random.below(bytes.length) : undefined;
      await Deno.writeFile(path, bytes.subarray(0, cut));
      const opened = await openSecret(place).catch((error: Error) => {
        assert(error.message.startsWith("Cannot open the secret"));
      });
      // A change in the white space between members changes nothing.
      if (opened !== undefined) assertEquals(opened, made);
    });
  });
});

Deno.test("openSecret() names the file when it cannot be read", async () => {
  await withPlace(async (place) => {
    const path = `${place.dataDir}/secret.json`;
    await Deno.mkdir(path);
    for (const act of [openSecret, makeSecret]) {
      const error = await assertRejects(() => act(place), Error);
      assertMatch(error.message, /^Cannot read the secret "\S+secret\.json": /);
    }
  });
});

Deno.test("openSecret() adds the public key to a file of version 1", async () => {
  await withPlace(async (place) => {
    const path = `${place.dataDir}/secret.json`;
    const key = "first:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    await Deno.writeTextFile(path, VERSION_1);
    const opened = await openSecret({ ...place, masterKeys: key });
    assertEquals(opened.secret, new Uint8Array(32).fill(7));
    const { version, publicKey } = JSON.parse(await Deno.readTextFile(path));
    assertEquals(version, 2);
    assertEquals(publicKey, derivePublicKey(opened.secret).toHex());
    assertEquals(await openSecret({ ...place, masterKeys: key }), opened);
    assertEquals(place.logger.messages, []);
  });
});

Deno.test("openSecret() takes no public key that the seal does not vouch for", async () => {
  await withPlace(async (place) => {
    await makeSecret(place);
    const path = `${place.dataDir}/secret.json`;
    const json = JSON.parse(await Deno.readTextFile(path));
    const publicKey = derivePublicKey(new Uint8Array(32).fill(7)).toHex();
    for (const changed of [{ publicKey }, { version: 1 }]) {
      await Deno.writeTextFile(path, JSON.stringify({ ...json, ...changed }));
      await assertRejects(() => openSecret(place), Error, "Cannot open");
    }
  });
});

Deno.test("makeSecret() opens the secret that is there when it is to make a missing one alone", async () => {
  await withPlace(async (place) => {
    const made = await makeSecret(place, { ifMissing: true });
    assertEquals(await makeSecret(place, { ifMissing: true }), made);
    await Deno.writeTextFile(`${place.dataDir}/secret.json`, "{}");
    await assertRejects(
      () => makeSecret(place, { ifMissing: true }),
      Error,
      "is damaged",
    );
  });
});

Deno.test("openSecret() says what is missing", async () => {
  await withPlace(async (place) => {
    await assertRejects(() => openSecret(place), Error, "keyserver key new");
    await makeSecret(place);
    await Deno.remove(`${place.dataDir}/master.key`);
    await assertRejects(() => openSecret(place), Error, "restore it");
  });
});
