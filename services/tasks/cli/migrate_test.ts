import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { runMigrate } from "../../shared/postgres/migrate_command.ts";
import { serviceTest } from "../../../tests/support/services.ts";
import { migrationPlan } from "../store/postgres/schema_access.ts";
import {
  newStore,
  TEST_SERVER,
} from "../store/postgres/testing/postgres_subject.ts";
import { readDataSettings } from "./testing/data_settings.ts";

/** Runs the command as a role, and returns what it wrote. */
async function runAs(
  role: string,
  schema: string,
  ...args: readonly string[]
): Promise<{ readonly code: number; readonly text: string }> {
  const lines: string[] = [];
  const take = (text: string): void => void lines.push(text);
  const code = await runMigrate(args, {
    ...{ io: { out: take, err: take }, service: "tasks", plan: migrationPlan },
    settings: readDataSettings({
      STORE: "postgres",
      DATABASE_URL: TEST_SERVER.url.replace("postgres:@", `${role}@`),
      DATABASE_SCHEMA: schema,
    }),
  });
  return { code, text: lines.join("\n") };
}

/** Starts a store as a role and uses it. */
async function useAs(role: string, schema: string): Promise<void> {
  const connection = TEST_SERVER.connection({ user: role });
  const store = newStore(schema, { connection });
  await store.start();
  try {
    await store.check();
    await store.tenantQueues();
  } finally {
    await store.stop();
  }
}

serviceTest(["postgres"], {
  name: "runMigrate() prints what a role that may make no tables needs",
  fn: async () => {
    const schema = TEST_SERVER.nextSchema();
    await TEST_SERVER.sql(`CREATE ROLE poor_${schema} LOGIN`);
    const poor = `poor_${schema}`;
    const refused = await runAs(poor, schema);
    assertEquals(refused.code, 1);
    assertStringIncludes(refused.text, "`tasks migrate --print` prints");
    const printed = await runAs(poor, schema, "--print");
    assertEquals(printed.code, 0);
    await TEST_SERVER.sql(printed.text);
    await useAs(poor, schema);
    assertMatch(
      (await runAs(poor, schema)).text,
      /is up to date: version \d+$/,
    );
    // What is printed now changes nothing.
    await TEST_SERVER.sql((await runAs(poor, schema, "--print")).text);
    await TEST_SERVER.sql(
      `DROP SCHEMA ${schema} CASCADE; DROP ROLE ${poor}`,
    );
  },
});

serviceTest(["postgres"], {
  name: "runMigrate() makes the tables, and lets another role use them",
  fn: async () => {
    const schema = TEST_SERVER.nextSchema();
    const poor = `poor_${schema}`;
    await TEST_SERVER.sql(`CREATE ROLE ${poor} LOGIN`);
    const made = await runAs("postgres", schema, "--role", poor, "--json");
    const { from, version } = JSON.parse(made.text);
    assertEquals([made.code, from], [0, 0]);
    await useAs(poor, schema);
    const again = await runAs("postgres", schema, "--json");
    assertEquals(JSON.parse(again.text), { schema, from: version, version });
    await TEST_SERVER.sql(
      `DROP SCHEMA ${schema} CASCADE; DROP ROLE ${poor}`,
    );
  },
});

Deno.test("runMigrate() has nothing to do for a data folder", async () => {
  const lines: string[] = [];
  const take = (text: string): void => void lines.push(text);
  const code = await runMigrate([], {
    ...{ io: { out: take, err: take }, service: "tasks", plan: migrationPlan },
    settings: readDataSettings({}),
  });
  assertEquals(code, 1);
  assertMatch(lines[0] ?? "", /^Cannot migrate: STORE is sqlite/);
});
