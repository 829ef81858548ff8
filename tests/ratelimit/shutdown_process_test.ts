import { assert, assertEquals } from "@std/assert";
import { startRatelimit } from "../support/ratelimit_process.ts";
import { startRedisServer } from "../support/redis_server.ts";
import { serviceTest } from "../support/services.ts";
import { waitUntil } from "../support/wait_until.ts";
import { ConfigFolder } from "./config_folder.ts";
import { CODES, grpcCaller, HEALTH, STATUS } from "./grpc_caller.ts";
import { postJson, readStat, request } from "./http_caller.ts";
import { RawPost } from "./raw_post.ts";
import { createRequest, dailyRule } from "./requests.ts";
import { StatsdServer } from "./statsd_server.ts";

const FILES = {
  "rules.yaml": dailyRule("stop", { key: "user", limit: 1_000_000 }),
};
const REQUEST = createRequest("stop", { user: "anybody" });

serviceTest(["redis-server"], {
  name: "ratelimit answers all calls that run when SIGTERM comes",
  async fn() {
    const server = await startRedisServer();
    await using folder = await ConfigFolder.make(FILES);
    await using service = await startRatelimit({
      env: {
        RUNTIME_ROOT: folder.root,
        KVSTORE_URL: `${server.host}:${server.port}`,
        KVSTORE_TIMEOUT: "10s",
      },
    });
    await using caller = await grpcCaller(service.grpcTarget);
    try {
      assertEquals((await caller.decide(REQUEST)).status, STATUS.OK);
      server.pause();
      const calls = Array.from({ length: 50 }, () => caller.decide(REQUEST));
      const post = await RawPost.begin(service.httpUrl, REQUEST);
      await waitUntil(
        async () =>
          await readStat(
            service.debugUrl,
            "ratelimit_server.ShouldRateLimit.total_requests",
          ) === 51,
        { what: "50 running calls" },
      );
      await post.finish();
      // When the service stops, it drops a body that it has not read. Once
      // later requests are answered, the body has been read.
      for (let round = 0; round < 10; round++) {
        const health = await fetch(`${service.httpUrl}/healthcheck`);
        await health.body?.cancel();
      }
      service.signal("SIGTERM");
      await waitUntil(() => refused(service.httpUrl), {
        what: "no new connections",
      });
      assertEquals(service.exitCode, undefined);
      server.resume();
      const answers = await Promise.all(calls);
      assertEquals(
        answers.map(({ status, overallCode }) => [status, overallCode]),
        answers.map(() => [STATUS.OK, CODES.OK]),
      );
      assertEquals(await post.status(), 200);
      assertEquals(await service.waitForExit(), 0);
    } finally {
      await server.stop();
    }
  },
});

Deno.test("ratelimit counts no call it has not answered when SIGTERM comes under load", async () => {
  await using statsd = new StatsdServer();
  await using folder = await ConfigFolder.make(FILES);
  await using service = await startRatelimit({
    env: {
      RUNTIME_ROOT: folder.root,
      DISABLE_STATS: "false",
      STATSD_HOST: "127.0.0.1",
      STATSD_PORT: String(statsd.port),
      STATS_FLUSH_INTERVAL: "1h",
    },
  });
  let answered = 0;
  const failures: number[] = [];
  const callOverGrpc = async (): Promise<void> => {
    await using caller = await grpcCaller(service.grpcTarget);
    for (;;) {
      const { status } = await caller.decide(REQUEST);
      if (status !== STATUS.OK) return void failures.push(status);
      answered++;
    }
  };
  const callOverHttp = async (): Promise<void> => {
    for (;;) {
      const status = await postJson(service.httpUrl, REQUEST)
        .then((answer) => answer.status, () => 0);
      if (status !== 200) return void failures.push(status);
      answered++;
    }
  };
  const load = Promise.all([
    ...Array.from({ length: 8 }, callOverGrpc),
    ...Array.from({ length: 4 }, callOverHttp),
  ]);
  await waitUntil(() => answered >= 500, { what: "load" });
  assertEquals(await service.stop(), 0);
  await load;
  // HTTP callers see a refused connection, gRPC callers UNAVAILABLE.
  assertEquals(failures.toSorted((a, b) => a - b), [
    ...Array.from({ length: 4 }, () => 0),
    ...Array.from({ length: 8 }, () => STATUS.UNAVAILABLE),
  ]);
  await waitUntil(() => statsd.isIdle, { what: "the last statistics" });
  assertEquals(
    statsd.sum("ratelimit.service.rate_limit.stop.user.total_hits"),
    answered,
  );
});

Deno.test("ratelimit fails its health and goes on serving until the drain delay is over", async () => {
  await using folder = await ConfigFolder.make(FILES);
  await using service = await startRatelimit({
    env: { RUNTIME_ROOT: folder.root, SHUTDOWN_DRAIN_DELAY: "2s" },
  });
  await using caller = await grpcCaller(service.grpcTarget);
  const watch = caller.watchHealth("ratelimit");
  await watch.waitFor(HEALTH.SERVING);
  service.signal("SIGTERM");
  await watch.waitFor(HEALTH.NOT_SERVING);
  const health = await request(`${service.httpUrl}/healthcheck`);
  assertEquals(health.status, 503);
  assert(health.text.includes("the service is stopping"), health.text);
  assertEquals(await caller.checkHealth("ratelimit"), HEALTH.NOT_SERVING);
  assertEquals(await caller.checkHealth(""), HEALTH.NOT_SERVING);
  assertEquals((await caller.decide(REQUEST)).status, STATUS.OK);
  assertEquals((await postJson(service.httpUrl, REQUEST)).status, 200);
  // The open watch does not delay the end.
  assertEquals(await service.waitForExit(), 0);
  assertEquals(watch.seen, [HEALTH.SERVING, HEALTH.NOT_SERVING]);
});

serviceTest(["redis-server"], {
  name: "ratelimit stops within the grace when calls hang",
  async fn() {
    const server = await startRedisServer();
    await using folder = await ConfigFolder.make(FILES);
    await using service = await startRatelimit({
      env: {
        RUNTIME_ROOT: folder.root,
        KVSTORE_URL: server.socketPath,
        KVSTORE_TIMEOUT: "1h",
        SHUTDOWN_GRACE: "500ms",
      },
    });
    await using caller = await grpcCaller(service.grpcTarget);
    try {
      assertEquals((await caller.decide(REQUEST)).status, STATUS.OK);
      server.pause();
      const calls = Array.from({ length: 5 }, () => caller.decide(REQUEST));
      const post = await RawPost.begin(service.httpUrl, REQUEST);
      await post.finish();
      await waitUntil(
        async () =>
          await readStat(
            service.debugUrl,
            "ratelimit_server.ShouldRateLimit.total_requests",
          ) === 6,
        { what: "running calls" },
      );
      const began = performance.now();
      service.signal("SIGTERM");
      await service.waitForExit();
      const tookMs = performance.now() - began;
      assert(tookMs >= 450, `the grace was not given: ${tookMs} ms`);
      const answers = await Promise.all(calls);
      assertEquals(
        answers.map(({ status }) => status),
        answers.map(() => STATUS.UNAVAILABLE),
      );
      assertEquals(await post.status(), 503);
    } finally {
      await server.stop();
    }
  },
});

async function refused(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  try {
    (await Deno.connect({ hostname, port: Number(port) })).close();
    return false;
  } catch (error) {
    if (error instanceof Deno.errors.ConnectionRefused) return true;
    throw error;
  }
}
