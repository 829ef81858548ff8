import { assertEquals, assertRejects } from "@std/assert";
import * as calls from "./account_calls.ts";
import { ledgerAccess } from "./ledger_access.ts";

Deno.test("ledgerAccess() takes a timeout of any length, and the default for one that is not valid", async () => {
  const timeouts: number[] = [];
  for (const timeoutMs of [5, 2 ** 31, Number.MAX_VALUE, 0, NaN, Infinity]) {
    const access = await ledgerAccess({
      packageId: "0x1",
      registryId: "0x2",
      suiClient: {
        core: { executeTransaction: () => {}, getTransaction: () => {} },
      },
      walletSigner: {
        address: "0x3",
        signAndExecuteTransaction: () => Promise.resolve({ digest: "" }),
      },
      timeoutMs,
    });
    timeouts.push(access.timeoutMs);
  }
  // Timers with a longer delay than this would fire at once.
  const longest = 2_147_483_647;
  assertEquals(timeouts, [5, longest, longest, 30_000, 30_000, 30_000]);
});

Deno.test("account functions name what a caller in JavaScript left out", async () => {
  const functions = Object.entries(calls) as [
    string,
    (options: unknown) => Promise<unknown>,
  ][];
  assertEquals(functions.length, 5);
  for (const [name, call] of functions) {
    for (const options of [undefined, null, "0x1"]) {
      await assertRejects(
        () => call(options),
        TypeError,
        "it needs an object with key",
        name,
      );
    }
    const words = name === "createAccount" ? "key" : "accountId is missing";
    await assertRejects(() => call({}), TypeError, words, name);
  }
});
