import { assertEquals } from "@std/assert";
import { startRatelimit } from "../support/ratelimit_process.ts";
import { startRedisServer } from "../support/redis_server.ts";
import { serviceTest } from "../support/services.ts";
import { waitUntil } from "../support/wait_until.ts";
import { ConfigFolder } from "./config_folder.ts";
import { grpcCaller, HEALTH, STATUS } from "./grpc_caller.ts";
import { request } from "./http_caller.ts";
import { createRequest, dailyRule } from "./requests.ts";
import { serveHere } from "./service_here.ts";

Deno.test("ratelimit is unhealthy without a domain where one is needed", async () => {
  await using folder = await ConfigFolder.make();
  await using service = await startRatelimit({
    env: {
      RUNTIME_ROOT: folder.root,
      RUNTIME_WATCH_ROOT: "false",
      FORCE_START_WITHOUT_INITIAL_CONFIG: "true",
      HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED: "true",
    },
  });
  await using caller = await grpcCaller(service.grpcTarget);
  const watch = caller.watchHealth("ratelimit");
  const health = () => request(`${service.httpUrl}/healthcheck`);

  await watch.waitFor(HEALTH.NOT_SERVING);
  const before = await health();
  assertEquals(before.status, 503);
  assertEquals(before.headers.get("content-type"), "application/problem+json");
  assertEquals(
    JSON.parse(before.text).detail,
    "no rate limit configuration loaded",
  );
  assertEquals(await caller.checkHealth("ratelimit"), HEALTH.NOT_SERVING);
  assertEquals(await caller.checkHealth(""), HEALTH.NOT_SERVING);
  assertEquals(await caller.checkHealth("other"), undefined);
  assertEquals(await caller.listHealth(), {
    "": { status: HEALTH.NOT_SERVING },
    ratelimit: { status: HEALTH.NOT_SERVING },
  });

  await folder.write("rules.yaml", dailyRule("a", { key: "k", limit: 1 }));
  await watch.waitFor(HEALTH.SERVING);
  const after = await health();
  assertEquals([after.status, after.text], [200, "OK"]);
  assertEquals(await caller.checkHealth(""), HEALTH.SERVING);
  const head = await request(`${service.httpUrl}/healthcheck`, {
    method: "HEAD",
  });
  assertEquals(head.status, 200);

  await Deno.remove(`${folder.root}/config/rules.yaml`);
  await watch.waitFor(HEALTH.NOT_SERVING);
  await waitUntil(async () => (await health()).status === 503, {
    what: "failing health",
  });
  watch.cancel();
});

Deno.test("ratelimit is healthy without any rules unless told otherwise", async () => {
  await using folder = await ConfigFolder.make();
  await using service = await serveHere({ RUNTIME_ROOT: folder.root });
  await using caller = await grpcCaller(service.grpcTarget);
  assertEquals((await request(`${service.httpUrl}/healthcheck`)).status, 200);
  assertEquals(await caller.checkHealth("ratelimit"), HEALTH.SERVING);
});

serviceTest(["redis-server"], {
  name: "ratelimit stays healthy without its store unless told otherwise",
  async fn() {
    await using folder = await ConfigFolder.make({
      "rules.yaml": dailyRule("a", { key: "k", limit: 1 }),
    });
    const server = await startRedisServer();
    try {
      await using service = await serveHere({
        RUNTIME_ROOT: folder.root,
        KVSTORE_URL: `${server.host}:${server.port}`,
        KVSTORE_TIMEOUT: "200ms",
      });
      await using caller = await grpcCaller(service.grpcTarget);
      const decide = async (): Promise<number> =>
        (await caller.decide(createRequest("a", { k: "v" }))).status;
      assertEquals(await decide(), STATUS.OK);
      await server.kill();
      await waitUntil(async () => await decide() === STATUS.UNAVAILABLE, {
        what: "failing calls",
      });
      const { status } = await request(`${service.httpUrl}/healthcheck`);
      assertEquals(status, 200);
      for (const name of ["", "ratelimit"]) {
        assertEquals(await caller.checkHealth(name), HEALTH.SERVING);
      }
    } finally {
      await server.stop();
    }
  },
});
