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
    withPostgresRows((openRows) =>
      withVault(async (opened, { reopen }) => {
        let vault = opened;
        await use({
          vault: () => vault,
          restart: async () => {
            vault = await reopen({ openRows });
          },
        });
      }, { openRows })
    ),
});

for (
  const [name, test, withRows] of [
    ["ThresholdVault", Deno.test, withFileRows],
    [
      "ThresholdVault on PostgreSQL",
      (definition: Deno.TestDefinition) =>
        serviceTest(["postgres"], definition),
      withPostgresRows,
    ],
  ] as const
) {
  testVault({
    name,
    test,
    withVault: (use) =>
      withRows((openRows) =>
        ThresholdWorld.with(async (world) => {
          await use({
            vault: () => world.vault,
            restart: async () => {
              await world.restart();
              for (const owner of OWNERS) await world.signIn(owner);
            },
          });
        }, { openRows })
      ),
  });
}

/** Runs `use` with the rows that vaults have when they are not told of any. */
function withFileRows(use: (openRows: undefined) => Promise<void>) {
  return use(undefined);
}

/** Runs `use` with rows in a schema of its own. */
function withPostgresRows(use: (openRows: OpenKeyRows) => Promise<void>) {
  return withDataSchema(async ({ name: schema, connect }) => {
    const pool = connect();
    const notices = new TestNotices().connect();
    await use((onGone) => new PostgresKeys({ pool, schema, onGone, notices }));
  });
}
