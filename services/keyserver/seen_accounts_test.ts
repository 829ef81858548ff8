import { assertEquals } from "@std/assert";
import { FakeClock } from "../../tests/support/fake_clock.ts";
import { firstGasCoin } from "../shared/ledger/gas_chain.ts";
import { type SeenAccount, SeenAccounts } from "./seen_accounts.ts";
import { createSigner } from "./testing/key_requests.ts";

const OWNER = createSigner(7);

Deno.test("SeenAccounts keeps the last state of each owner, also after a restart", async () => {
  const dataDir = await Deno.makeTempDir({ prefix: "keyserver_test_" });
  try {
    const none: SeenAccount = {
      account: undefined,
      gasCoin: firstGasCoin(OWNER.address),
      lastDigest: "first",
    };
    const some: SeenAccount = {
      account: {
        accountId: OWNER.accountId,
        owner: OWNER.address,
        isActive: false,
        createdAtMs: 0,
        delegateKeys: [{
          publicKey: OWNER.publicKey.toHex(),
          address: OWNER.address,
          label: "Zoë's \u{1F4BB}",
          createdAtMs: 7,
        }],
        // Larger than a JavaScript number can be without loss.
        accessCounter: 2n ** 64n - 1n,
      },
      gasCoin: {
        ...firstGasCoin(OWNER.address),
        version: 2n ** 63n,
        digest: new Uint8Array(32).fill(255),
      },
      lastDigest: "second",
    };
    let seen = new SeenAccounts(dataDir, new FakeClock());
    assertEquals(seen.get(OWNER.address), undefined);
    seen.put(OWNER.address, none);
    assertEquals(seen.get(OWNER.address), none);
    seen.put(OWNER.address, some);
    seen.close();
    seen = new SeenAccounts(dataDir, new FakeClock());
    assertEquals(seen.get(OWNER.address), some);
    assertEquals(seen.get(createSigner(8).address), undefined);
    seen.close();
    const { mode } = await Deno.stat(`${dataDir}/accounts.db`);
    assertEquals((mode ?? 0) & 0o077, 0);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});
