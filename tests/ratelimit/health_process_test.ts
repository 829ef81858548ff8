import { assertEquals } from "@std/assert";
import { startRatelimit } from "../support/ratelimit_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { ConfigFolder } from "./config_folder.ts";
import { grpcCaller, HEALTH } from "./grpc_caller.ts";
import { request } from "./http_caller.ts";
import { dailyRule } from "./requests.ts";

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
  assertEquals(await caller.checkHealth(""), HEALTH.SERVING);
  assertEquals(await caller.checkHealth("other"), undefined);
  assertEquals(await caller.listHealth(), {
    "": { status: HEALTH.SERVING },
    ratelimit: { status: HEALTH.NOT_SERVING },
  });

  await folder.write("rules.yaml", dailyRule("a", { key: "k", limit: 1 }));
  await watch.waitFor(HEALTH.SERVING);
  const after = await health();
  assertEquals([after.status, after.text], [200, "OK"]);
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
  await using service = await startRatelimit({
    env: { RUNTIME_ROOT: folder.root },
  });
  await using caller = await grpcCaller(service.grpcTarget);
  assertEquals((await request(`${service.httpUrl}/healthcheck`)).status, 200);
  assertEquals(await caller.checkHealth("ratelimit"), HEALTH.SERVING);
});
