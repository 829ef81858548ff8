import { assertEquals, assertStringIncludes } from "@std/assert";
import { run } from "../../services/relayer/main.ts";
import {
  findSeries,
  metricsUrl,
  readMetrics,
} from "../support/read_metrics.ts";
import { runRelayer } from "../support/relayer_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { onStores } from "./on_stores.ts";
import { RelayerHome } from "./relayer_home.ts";
import { getMember, readList, sendWire } from "./wire_client.ts";

Deno.test("relayer says what is wrong with its settings, and ends with 1", async () => {
  await using home = await RelayerHome.open();
  assertEquals(await home.stop(), 0);
  const file = `${home.dataDir}/a-file`;
  await Deno.writeTextFile(file, "");
  const wrongTogether: readonly (readonly [string, string, string])[] = [
    ["PORT", "http", "PORT"],
    ["LEGACY_AUTH", "perhaps", "LEGACY_AUTH"],
    ["AUTH_WINDOW", "1h", "AUTH_WINDOW"],
    ["MASTER_KEYS", "c2hvcnQ=", "MASTER_KEYS"],
    ["LEDGER_RPC_URL", "http://127.0.0.1:1", "LEDGER_PACKAGE_ID"],
    ["BLOB_PUBLISHER_URL", "http://127.0.0.1:1", "BLOB_AGGREGATOR_URLS"],
    ["EMBEDDING_API_BASE", "ftp://models", "EMBEDDING_API_BASE"],
    ["SERVICE_CREDENTIAL", "short", "SERVICE_CREDENTIAL"],
    ["TRUSTED_PROXIES", "proxy", "TRUSTED_PROXIES"],
    ["VAULT", "key-servers", "KEY_SERVERS names none"],
    ["LEDGER_REGISTRY_ID", "", "LEDGER_REGISTRY_ID"],
  ];
  const all = await runRelayer({
    dataDir: home.dataDir,
    env: Object.fromEntries(
      wrongTogether.map(([name, value]) => [name, value]),
    ),
  });
  assertEquals([all.code, all.stdout], [1, ""], all.stderr);
  const told = all.stderr.trimEnd().split("\n");
  // Each fault has a line of its own, and nothing else is told.
  assertEquals(told.length, wrongTogether.length, all.stderr);
  for (const [, , word] of wrongTogether) {
    const lines = told.filter((line) =>
      line.startsWith("Cannot") && line.includes(word)
    );
    assertEquals(lines.length, 1, `${word}: ${all.stderr}`);
  }
  assertEquals(all.stderr.includes("c2hvcnQ"), false, all.stderr);
  const cases: readonly (readonly [Record<string, string>, string])[] = [
    [{ DATA_DIR: file }, "a-file"],
    [{ HOST: "192.0.2.1" }, "192.0.2.1"],
    // A key other than the one that all data was encrypted with.
    [{ MASTER_KEYS: new Uint8Array(32).fill(7).toBase64() }, "MASTER_KEYS"],
  ];
  for (const [env, word] of cases) {
    const run = await runRelayer({ dataDir: home.dataDir, env });
    assertEquals([run.code, run.stdout], [1, ""], run.stderr);
    assertStringIncludes(run.stderr, "Cannot");
    assertStringIncludes(run.stderr, word);
    assertEquals(run.stderr.includes("    at "), false, run.stderr);
  }
  const said: string[] = [];
  const io = { out: () => {}, err: (text: string) => void said.push(text) };
  assertEquals(await run(["serve"], io), 2);
  assertStringIncludes(said.join("\n"), '"serve"');
  // None of the failed starts has changed the folder.
  await home.start();
  await home.mem().rememberAndWait("Still here");
});

Deno.test("relayer keeps folder and ports", { timeout: 240_000 }, async (t) => {
  await using home = await RelayerHome.open();
  const url = await metricsUrl(home.service);
  const dataDir = `${home.dataDir}/other`;
  await t.step(
    "relayer leaves a data folder alone that another process has",
    async () => {
      await home.mem().rememberAndWait("Kept by the first");
      const second = await runRelayer({ dataDir: home.dataDir });
      assertEquals(second.code, 1);
      assertStringIncludes(second.stderr, "Cannot use the data folder");
      assertStringIncludes(second.stderr, "another process has it");
      assertEquals((await home.mem().recall("first")).total, 1);
    },
  );
  await t.step("relayer tells its metrics on a port of their own", async () => {
    await home.wire().call("GET", "/api/whoami");
    const families = await readMetrics(url);
    const labels = { route: "GET /api/whoami", status: "200" };
    assertEquals(
      findSeries(families, "relayer_http_requests_total", labels),
      1,
    );
    const target = "/metrics";
    const own = await sendWire(home.url, { method: "GET", target });
    assertEquals(own.status, 404);
  });
  for (
    const [name, what, address] of [
      ["METRICS_PORT", "metrics port", new URL(url)],
      ["PORT", "port", new URL(home.url)],
    ] as const
  ) {
    await t.step(`relayer says when the ${what} is taken`, async () => {
      const { code, stderr } = await runRelayer({
        dataDir,
        env: { [name]: address.port },
      });
      assertEquals(code, 1);
      const told = stderr.split("\n").filter((line) => line.includes("taken"));
      assertEquals(told, [
        `Cannot open the ${what} of relayer, ${address.host}: it is ` +
        `taken; free it, or set ${name} to another one`,
      ]);
    });
  }
});

onStores({
  name:
    "relayer stops with jobs under way, and goes on with them at the next start",
  onBoth: true,
  fn: async (storage) => {
    await using home = await RelayerHome.open({
      storage,
      env: { SHUTDOWN_GRACE: "0s" },
    });
    const wire = home.wire();
    const ids: string[] = [];
    const sent = await Promise.all(
      Array.from(
        { length: 15 },
        (_, batch) =>
          wire.expect(202, ["POST", "/api/remember/bulk", {
            items: Array.from({ length: 20 }, (_, index) => ({
              text: `Parcel ${batch} ${index} is under way`,
            })),
          }]),
      ),
    );
    for (const answer of sent) {
      ids.push(...readList(answer, "job_ids").map(String));
    }
    // A request that waits for a job does not delay the stop.
    const last = ids.at(-1) ?? "";
    const waiting = wire.call("GET", `/api/remember/${last}?wait=20`)
      .catch(() => undefined);
    assertEquals(await home.stop(), 0, home.service.stderr);
    await waiting;
    await home.start();
    const target = "/api/remember/bulk/status";
    await waitUntil(async () => {
      for (let from = 0; from < ids.length; from += 20) {
        const answer = await wire.expect(200, ["POST", target, {
          job_ids: ids.slice(from, from + 20),
        }]);
        const states = readList(answer, "results");
        if (!states.every((one) => getMember(one, "status") === "done")) {
          return false;
        }
      }
      return true;
    }, { what: "the end of all jobs", intervalMs: 100 });
    assertEquals((await home.mem().stats()).memory_count, ids.length);
    const health = await sendWire(home.url, {
      method: "GET",
      target: "/health",
    });
    assertEquals(getMember(health.json, "write_ready"), true);
  },
});
