import { withVault } from "./testing/open_vault.ts";
import { ThresholdWorld } from "./testing/threshold_world.ts";
import { testVault } from "./testing/vault_conformance.ts";

const OWNERS = [`0x${"a1".repeat(32)}`, `0x${"b2".repeat(32)}`];

testVault({
  name: "LocalVault",
  withVault: (use) =>
    withVault(async (opened, { reopen }) => {
      let vault = opened;
      await use({
        vault: () => vault,
        restart: async () => {
          vault = await reopen();
        },
      });
    }),
});

testVault({
  name: "ThresholdVault",
  withVault: (use) =>
    ThresholdWorld.with(async (world) => {
      await use({
        vault: () => world.vault,
        restart: async () => {
          await world.restart();
          for (const owner of OWNERS) await world.signIn(owner);
        },
      });
    }),
});
