import { serviceTest } from "../../../tests/support/services.ts";
import { withDataSchema } from "../store/postgres/testing/data_schema.ts";
import type { OpenKeyRows } from "./key_rows.ts";
import { PostgresKeys } from "./postgres_keys.ts";
import { withVault } from "./testing/open_vault.ts";
import { TestNotices } from "./testing/test_notices.ts";
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
  name: "LocalVault on PostgreSQL",
  test: (definition) => serviceTest(["postgres"], definition),
  withVault: (use) =>
    withDataSchema(async ({ name: schema, connect }) => {
      const pool = connect();
      const openRows: OpenKeyRows = (onGone) =>
        new PostgresKeys({
          ...{ pool, schema, onGone, notices: new TestNotices().connect() },
        });
      await withVault(async (opened, { reopen }) => {
        let vault = opened;
        await use({
          vault: () => vault,
          restart: async () => {
            vault = await reopen({ openRows });
          },
        });
      }, { openRows });
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
