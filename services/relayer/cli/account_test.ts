import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { withFileCommands } from "./testing/ledger_commands.ts";

const KEY = "ea4a6c63e29c520abef5507b132ec5f9954776aebebe7b92421eea691446d22c";
const OTHER =
  "8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c";

Deno.test("account create makes an account that show finds by each name", async () => {
  await withFileCommands(async (run) => {
    const made = await run("account", "create", "--public-key", KEY, "--json");
    assertEquals(made.code, 0);
    const account = JSON.parse(made.out);
    assertMatch(account.account_id, /^0x[0-9a-f]{64}$/);
    for (
      const by of [
        ["--account", account.account_id],
        ["--public-key", KEY],
        ["--address", account.owner],
      ]
    ) {
      const shown = await run("account", "show", ...by, "--json");
      assertEquals(JSON.parse(shown.out), account);
    }
  });
});

Deno.test("account create gives the account that is there already", async () => {
  await withFileCommands(async (run) => {
    const first = await run("account", "create", "--public-key", KEY, "--json");
    const again = await run("account", "create", "--public-key", KEY, "--json");
    assertEquals([again.code, again.out], [0, first.out]);
  });
});

Deno.test("account add-key and remove-key change who may speak for it", async () => {
  await withFileCommands(async (run) => {
    const made = await run("account", "create", "--public-key", KEY, "--json");
    const id = JSON.parse(made.out).account_id;
    const listKeys = (out: string) =>
      JSON.parse(out).delegate_keys.map((key: { public_key: string }) =>
        key.public_key
      );
    const added = await run(
      "account",
      "add-key",
      "--account",
      id,
      "--public-key",
      OTHER,
      "--json",
    );
    assertEquals(listKeys(added.out), [KEY, OTHER]);
    const removed = await run(
      "account",
      "remove-key",
      "--account",
      id,
      "--public-key",
      KEY,
      "--json",
    );
    assertEquals(listKeys(removed.out), [OTHER]);
    const again = await run(
      "account",
      "remove-key",
      "--account",
      id,
      "--public-key",
      KEY,
    );
    assertEquals(again.code, 1);
  });
});

Deno.test("account disable and enable switch it", async () => {
  await withFileCommands(async (run) => {
    const made = await run("account", "create", "--public-key", KEY, "--json");
    const id = JSON.parse(made.out).account_id;
    assertStringIncludes(
      (await run("account", "disable", "--account", id)).out,
      "no",
    );
    assertStringIncludes(
      (await run("account", "enable", "--account", id)).out,
      "yes",
    );
  });
});

Deno.test("account tells wrong arguments from what cannot be done", async () => {
  await withFileCommands(async (run) => {
    for (
      const args of [
        ["list"],
        ["create"],
        ["create", "--public-key", KEY, "--address", "0x1"],
        ["show"],
        ["add-key", "--public-key", KEY],
        ["disable"],
      ]
    ) {
      assertEquals((await run("account", ...args)).code, 2, args.join(" "));
    }
    assertEquals(
      (await run("account", "create", "--public-key", "xyz")).code,
      1,
    );
    assertEquals((await run("account", "show", "--public-key", KEY)).code, 1);
  });
});
