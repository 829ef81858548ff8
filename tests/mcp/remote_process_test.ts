import { assertEquals, assertStringIncludes } from "@std/assert";
import { createAccessToken } from "../../sdk/account.ts";
import { createAccount, startRelayer } from "../support/relayer_process.ts";
import { StdioMcp } from "./stdio_client.ts";

/** A relayer with an account, and a folder for files of secrets. */
async function withRelayer(
  use: (relayer: {
    readonly url: string;
    readonly key: string;
    readonly accountId: string;
    readonly writeSecret: (text: string, mode?: number) => Promise<string>;
  }) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "tercet-mcp-" });
  try {
    const dataDir = `${folder}/data`;
    const { key, accountId } = await createAccount({ dataDir });
    await using relayer = await startRelayer({ dataDir });
    await use({
      ...{ url: relayer.url, key, accountId },
      async writeSecret(text, mode = 0o600) {
        const path = `${folder}/${crypto.randomUUID()}`;
        await Deno.writeTextFile(path, text, { mode });
        return path;
      },
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("tercet mcp works with a relayer by a key, a token or a file of credentials", async () => {
  await withRelayer(async ({ url, key, accountId, writeSecret }) => {
    const { token } = await createAccessToken({
      ...{ key, accountId, access: "read" },
      expiresInMs: 60_000,
    });
    const credentials = JSON.stringify({
      ...{ delegatePrivateKey: key, accountId, relayerUrl: url, version: 1 },
    });
    const keyArgs = ["--relayer", url, "--account", accountId];
    const env = { TERCET_RELAYER: url, TERCET_NAMESPACE: "work" };
    await using byKey = new StdioMcp(
      [...keyArgs, "--key-file", await writeSecret(`${key}\n`)],
      { env },
    );
    await byKey.open();
    const stored = await byKey.call("memwal_remember", {
      text: "Ada drinks tea",
    });
    assertStringIncludes(stored, '"work"');
    await using byToken = new StdioMcp(
      ["--token-file", await writeSecret(token)],
      { env },
    );
    await using byFile = new StdioMcp(
      [`--credentials=${await writeSecret(credentials)}`],
      { env: { MEMWAL_NAMESPACE: "work" } },
    );
    for (const client of [byToken, byFile]) {
      const found = await client.call("memwal_recall", { query: "tea" });
      assertStringIncludes(found, "Ada drinks tea");
    }
    const { result } = await byToken.ask("tools/call", {
      name: "memwal_remember",
      arguments: { text: "Ada drinks coffee" },
    });
    assertEquals(result.isError, true);
    for (const client of [byKey, byToken, byFile]) {
      assertEquals(await client.end(), 0);
      assertEquals(client.log, "");
    }
  });
});

Deno.test("tercet mcp ends with a sentence, and without the secret, when its secret cannot be used", async () => {
  await withRelayer(async ({ url, key, accountId, writeSecret }) => {
    const args = ["--relayer", url, "--account", accountId, "--key-file"];
    for (
      const [path, sentence] of [
        [await writeSecret(key, 0o644), "its mode is 644; run chmod 600"],
        [await writeSecret("no key"), "Cannot"],
        ["/missing/key", "Cannot read the key"],
      ] as const
    ) {
      await using refused = new StdioMcp([...args, path]);
      assertEquals(await refused.end(), 1);
      assertStringIncludes(refused.log, sentence);
      assertEquals(refused.log.includes(key), false);
    }
    await using unnamed = new StdioMcp([]);
    assertEquals(await unnamed.end(), 2);
    assertStringIncludes(unnamed.log, "use --local");
  });
});
