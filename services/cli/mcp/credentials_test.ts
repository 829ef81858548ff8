import { assertEquals, assertRejects } from "@std/assert";
import {
  localCredentials,
  makeCredentials,
  readCredentials,
} from "./credentials.ts";

async function withFolder(
  use: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("readCredentials() reads the form of the existing relayer's package", async () => {
  await withFolder(async (folder) => {
    const path = `${folder}/credentials.json`;
    const json = {
      delegatePrivateKey: "07".repeat(32),
      delegatePublicKeyHex: "ab".repeat(32),
      accountId: "0xacc",
      relayerUrl: "https://relayer.test",
      version: 1,
    };
    await Deno.writeTextFile(path, JSON.stringify(json), { mode: 0o600 });
    assertEquals(await readCredentials(path), {
      key: json.delegatePrivateKey,
      accountId: "0xacc",
      relayerUrl: "https://relayer.test",
    });
  });
});

Deno.test("readCredentials() says what is wrong with a file, and never shows what it holds", async () => {
  await withFolder(async (folder) => {
    const path = `${folder}/credentials.json`;
    for (
      const [text, reason] of [
        ["s3cret", "it is not JSON"],
        ["null", "it has no delegatePrivateKey"],
        [`{"delegatePrivateKey": 7}`, "it has no delegatePrivateKey"],
        [`{"delegatePrivateKey": "s3cret"}`, "it has no accountId"],
      ] as const
    ) {
      await Deno.writeTextFile(path, text, { mode: 0o600 });
      const error = await assertRejects(
        () => readCredentials(path),
        Error,
        reason,
      );
      assertEquals(String(error).includes("s3cret"), false);
    }
  });
});

Deno.test("makeCredentials() keeps the file that is there, and leaves nothing beside it", async () => {
  await withFolder(async (folder) => {
    const path = `${folder}/client.json`;
    const first = { key: "k1", accountId: "0x1" };
    assertEquals(await makeCredentials(path, first), true);
    const second = { key: "k2", accountId: "0x2" };
    assertEquals(await makeCredentials(path, second), false);
    assertEquals(await readCredentials(path), first);
    const names = await Array.fromAsync(Deno.readDir(folder));
    assertEquals(names.map(({ name }) => name), ["client.json"]);
  });
});

Deno.test("localCredentials() gives the same key to all that use a new folder at once", async () => {
  await withFolder(async (root) => {
    const made = await Promise.all(
      Array.from({ length: 5 }, () => localCredentials(`${root}/memory`)),
    );
    assertEquals(new Set(made.map(({ key }) => key)).size, 1);
    assertEquals(await localCredentials(`${root}/memory`), made[0]);
  });
});
