import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { withFileCommands } from "./testing/ledger_commands.ts";

const KEY = "ea4a6c63e29c520abef5507b132ec5f9954776aebebe7b92421eea691446d22c";

/** The generator of the second group of BLS12-381: the public key of the secret 1. */
const GENERATOR =
  "93e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049" +
  "334cf11213945d57e5ac7d055d042b7e024aa2b2f08f0a91260805272dc51051" +
  "c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8";

Deno.test("ledger check tells entries, accounts and the last hash, and knows it again", async () => {
  await withFileCommands(async (run) => {
    await run("account", "create", "--public-key", KEY);
    const checked = await run("ledger", "check");
    assertEquals(checked.code, 0);
    assertMatch(
      checked.out,
      /^entries {3}1\naccounts {2}1\nhead {6}[0-9a-f]{64}$/,
    );
    const head = checked.out.slice(-64);
    await run("account", "create", "--address", "0x5");
    assertEquals((await run("ledger", "check", "--head", head)).code, 0);
    const other = await run("ledger", "check", "--head", "0".repeat(64));
    assertEquals(other.code, 1);
    assertStringIncludes(other.err, "never had the hash");
    const json = await run("ledger", "check", "--json");
    assertEquals(JSON.parse(json.out).entries, 2);
    assertEquals((await run("ledger", "check", "--head", "xyz")).code, 2);
  });
});

Deno.test("ledger check finds a key that was written into the file", async () => {
  await withFileCommands(async (run, path) => {
    await run("account", "create", "--address", "0x5");
    const db = new DatabaseSync(path);
    db.exec(`INSERT INTO delegate_keys
      SELECT NULL, account_id, '${KEY}', '0x1', '', 0 FROM accounts`);
    db.close();
    const checked = await run("ledger", "check");
    assertEquals([checked.code, checked.out], [1, ""]);
    assertStringIncludes(checked.err, "Cannot trust the ledger");
    assertStringIncludes(checked.err, "not as the log has it");
  });
});

Deno.test("ledger add-key-server enters a key server under the id of its key", async () => {
  await withFileCommands(async (run) => {
    const publicKey = GENERATOR;
    const add = (url: string, key: string) =>
      run("ledger", "add-key-server", "--url", url, "--public-key", key);
    const added = await add("http://127.0.0.1:8100/", publicKey);
    assertEquals(added.code, 0, added.err);
    assertMatch(added.out, /^0x[0-9a-f]{64}$/);
    assertEquals((await add("http://other.example", publicKey)).out, added.out);
    assertEquals((await run("ledger", "check")).code, 0);
    const wrong = [
      await add("ftp://a", publicKey),
      await add("http://a", "ab".repeat(96)),
      await add("http://a", publicKey.slice(2)),
      // The neutral point: everybody knows the secret of this public key.
      await add("http://a", `c0${"00".repeat(95)}`),
      await run("ledger", "drop"),
    ];
    for (const { code, err } of wrong) {
      assertEquals(code, 2);
      assertStringIncludes(err, "Cannot");
    }
  });
});
