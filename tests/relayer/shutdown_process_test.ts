import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  findSeries,
  metricsUrl,
  readMetrics,
} from "../support/read_metrics.ts";
import { PostgresServer } from "../support/postgres_server.ts";
import { serviceTest } from "../support/services.ts";
import { waitUntil } from "../support/wait_until.ts";
import { RelayerHome } from "./relayer_home.ts";
import { getMember, sendWire, type WireAnswer } from "./wire_client.ts";

Deno.test("relayer is not ready after SIGTERM, and works until SHUTDOWN_DRAIN_DELAY is over", async () => {
  await using home = await RelayerHome.open({
    env: { SHUTDOWN_DRAIN_DELAY: "3s" },
  });
  // Asked just before, so that the answer would be remembered.
  assertEquals((await ask(home, "/readyz")).status, 200);
  home.service.signal("SIGTERM");
  await home.service.waitForLine("Service stopping");
  const ready = await ask(home, "/readyz");
  assertEquals(ready.status, 503);
  assertStringIncludes(String(getMember(ready.json, "error")), "is stopping");
  const health = await ask(home, "/health");
  assertEquals(health.status, 200);
  assertEquals(getMember(health.json, "write_ready"), false);
  const mem = home.mem();
  const { id } = await mem.rememberAndWait("a text of the last seconds");
  const { results } = await mem.recall("a text of the last seconds");
  assertEquals(results.map((found) => found.id), [id]);
  assertEquals(await home.service.waitForExit(), 0);
});

serviceTest(["postgres"], {
  name:
    "relayer is not ready while its database does not answer, and pauses; metrics tell both",
  async fn() {
    const server = new PostgresServer();
    await server.start();
    try {
      const { hosts: [host] } = server.connection();
      await using home = await RelayerHome.open({
        env: {
          STORE: "postgres",
          DATABASE_URL: `postgres://postgres@127.0.0.1:${host?.port}/postgres`,
          MASTER_KEYS: btoa("0123456789abcdef0123456789abcdef"),
        },
        accounts: 0,
      });
      const url = await metricsUrl(home.service);
      const families = await readMetrics(url);
      assertEquals([
        findSeries(families, "relayer_instances"),
        findSeries(families, "relayer_instance_fenced"),
        findSeries(families, "relayer_instance_duty", { duty: "sweep" }),
      ], [1, 0, 1]);
      const calls = { outcome: "ok" };
      const made = findSeries(families, "relayer_database_calls_total", calls);
      assert((made ?? 0) > 0);
      await waitUntil(async () => {
        const { status } = await ask(home, "/readyz");
        return status === 200;
      }, { what: "the relayer to be ready" });
      await server.end("SIGQUIT");
      await waitUntil(async () => {
        const { status } = await ask(home, "/readyz");
        return status === 503;
      }, { what: "the relayer to miss its database" });
      await home.service.waitForLine("This instance pauses");
      const health = await ask(home, "/health");
      assertEquals(getMember(health.json, "write_ready"), false);
      const away = await readMetrics(url);
      assertEquals([
        findSeries(away, "relayer_instance_fenced"),
        findSeries(away, "relayer_write_ready"),
      ], [1, 0]);
      const lost = { outcome: "failed" };
      const failed = findSeries(away, "relayer_database_calls_total", lost);
      assert((failed ?? 0) > 0);
      await server.start();
      await waitUntil(async () => {
        const { status } = await ask(home, "/readyz");
        return status === 200;
      }, { what: "the relayer to be ready again" });
    } finally {
      await server.stop();
    }
  },
});

function ask(home: RelayerHome, target: string): Promise<WireAnswer> {
  return sendWire(home.url, { method: "GET", target });
}
