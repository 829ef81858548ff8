import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { serviceTest } from "../../../tests/support/services.ts";
import { systemClock } from "../../shared/clock.ts";
import { readSettings } from "../../shared/settings.ts";
import { relayerSettings } from "../settings.ts";
import { TEST_SERVER } from "../store/postgres/testing/data_schema.ts";
import { withSettingsLedger } from "./on_ledger.ts";
import { commandsOn, type RunCommand } from "./testing/ledger_commands.ts";

const KEY = "ea4a6c63e29c520abef5507b132ec5f9954776aebebe7b92421eea691446d22c";

serviceTest(["postgres"], {
  name: "account and ledger work on the database that the settings name",
  fn: () =>
    withCommands(async (run, schema) => {
      const made = await run(
        "account",
        "create",
        "--public-key",
        KEY,
        "--json",
      );
      assertEquals(made.code, 0, made.err);
      const shown = await run("account", "show", "--public-key", KEY, "--json");
      assertEquals(shown.out, made.out);
      const { account_id } = JSON.parse(made.out);
      const off = await run("account", "disable", "--account", account_id);
      assertStringIncludes(off.out, "active   no");
      const checked = await run("ledger", "check");
      assertMatch(
        checked.out,
        /^entries {3}2\naccounts {2}1\nhead {6}[0-9a-f]{64}$/,
      );
      const head = checked.out.slice(-64);
      assertEquals((await run("ledger", "check", "--head", head)).code, 0);
      const wrong = await run("ledger", "check", "--head", "0".repeat(64));
      assertEquals(wrong.code, 1);
      await TEST_SERVER.sql(
        `UPDATE "${schema}".ledger_entries SET time_ms = 1 WHERE sequence = 2`,
      );
      const broken = await run("ledger", "check");
      assertEquals([broken.code, broken.out], [1, ""]);
      assertEquals(
        broken.err,
        "Cannot trust the ledger: entry 2: its hash is another one",
      );
      const json = await run("ledger", "check", "--json");
      assertEquals(JSON.parse(json.out), {
        ...{ kind: "broken", sequence: 2, reason: "its hash is another one" },
      });
    }),
});

async function withCommands(
  use: (run: RunCommand, schema: string) => Promise<void>,
): Promise<void> {
  const schema = TEST_SERVER.nextSchema();
  const variables: Readonly<Record<string, string>> = {
    STORE: "postgres",
    DATABASE_URL: TEST_SERVER.url,
    DATABASE_SCHEMA: schema,
  };
  const read = readSettings(relayerSettings, (name) => variables[name]);
  if (read.kind === "invalid") throw new Error(read.problems.join("\n"));
  const tools = { clock: systemClock, logger: new RecordingLogger() };
  try {
    await use(
      commandsOn((change) => withSettingsLedger(read.values, tools, change)),
      schema,
    );
  } finally {
    await TEST_SERVER.sql(`DROP SCHEMA "${schema}" CASCADE`);
  }
}
