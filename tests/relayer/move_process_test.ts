import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { sharedPostgres } from "../support/postgres_server.ts";
import { createAccount, runRelayer } from "../support/relayer_process.ts";
import { serviceTest } from "../support/services.ts";
import { RelayerHome } from "./relayer_home.ts";

const POSTGRES = sharedPostgres();
const MARK = "nasturtium";
const MASTER_KEYS = `first:${
  Uint8Array.from({ length: 32 }, (_, at) => 5 * at + 1).toBase64()
}`;

serviceTest(["postgres"], {
  name:
    "relayer goes from SQLite to PostgreSQL and back with all memories and accounts",
  async fn() {
    await using home = await RelayerHome.open({ env: { MASTER_KEYS } });
    const { dataDir } = home;
    const schema = {
      MASTER_KEYS,
      STORE: "postgres",
      DATABASE_URL: POSTGRES.url,
      DATABASE_SCHEMA: POSTGRES.nextSchema(),
    };
    const before = home.mem();
    for (const about of ["kitchen", "garden", "cellar"]) {
      await before.rememberAndWait(`The ${MARK} of the ${about} is red`);
    }
    assertEquals(await home.stop(), 0);

    const file = `${dataDir}/export`;
    const exported = await runRelayer({
      dataDir,
      env: { MASTER_KEYS },
      args: ["export", file],
    });
    assertEquals([exported.code, exported.stderr], [0, ""]);
    assertStringIncludes(
      exported.stdout,
      "3 memories, 3 jobs, 3 keys, 3 blobs, 1 entries of the ledger",
    );
    assert(!(await Deno.readTextFile(file)).includes(MARK));
    const args = ["import", file];
    const imported = await runRelayer({ dataDir, env: schema, args });
    assertEquals([imported.code, imported.stderr], [0, ""]);

    await home.start(schema);
    const there = home.mem();
    const { results } = await there.recall(`${MARK} garden`);
    assertEquals(results[0]?.text, `The ${MARK} of the garden is red`);
    await there.rememberAndWait(`The ${MARK} of the attic is blue`);
    const added = await createAccount({ dataDir, env: schema });
    await home.mem({}, added).rememberAndWait(`The ${MARK} of the roof is dry`);
    assertEquals(await home.stop(), 0);

    const back = `${dataDir}/back`;
    assertEquals(
      (await runRelayer({ dataDir, env: schema, args: ["export", back] })).code,
      0,
    );
    // The folder still has the rows of before.
    const refused = await runRelayer({
      dataDir,
      env: { MASTER_KEYS },
      args: ["import", back],
    });
    assertEquals(refused.code, 1);
    const replaced = await runRelayer({
      dataDir,
      env: { MASTER_KEYS },
      args: ["import", back, "--replace"],
    });
    assertEquals([replaced.code, replaced.stderr], [0, ""]);
    await home.start();
    const again = await home.mem().recall(`${MARK} attic`);
    assertEquals(again.results[0]?.text, `The ${MARK} of the attic is blue`);
    const roof = await home.mem({}, added).recall(`${MARK} roof`);
    assertEquals(roof.results[0]?.text, `The ${MARK} of the roof is dry`);
  },
});
