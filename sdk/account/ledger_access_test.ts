import { assertEquals } from "@std/assert";
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
