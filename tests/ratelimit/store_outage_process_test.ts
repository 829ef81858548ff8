import { assert, assertEquals } from "@std/assert";
import { startRatelimit } from "../support/ratelimit_process.ts";
import { RedisServer } from "../support/redis_server.ts";
import { serviceTest } from "../support/services.ts";
import { waitUntil } from "../support/wait_until.ts";
import { ConfigFolder } from "./config_folder.ts";
import {
  type CallOutcome,
  type GrpcCaller,
  grpcCaller,
  HEALTH,
  STATUS,
} from "./grpc_caller.ts";
import { type HttpAnswer, postJson, readStat, request } from "./http_caller.ts";
import { quietPort } from "./quiet_port.ts";
import { createRequest, dailyRule } from "./requests.ts";

const FILES = {
  "rules.yaml": dailyRule("store", { key: "user", limit: 1_000 }),
};
const REQUEST = createRequest("store", { user: "anybody" });
const TIMEOUT_MS = 500;

serviceTest(["redis-server"], {
  name: "ratelimit outlives every outage of its store",
  async fn(t) {
    const server = new RedisServer({ port: quietPort() });
    await using folder = await ConfigFolder.make(FILES);
    // The service starts and opens its ports without the store.
    await using service = await startRatelimit({
      env: {
        RUNTIME_ROOT: folder.root,
        REDIS_URL: `redis://${server.host}:${server.port}`,
        REDIS_TIMEOUT: `${TIMEOUT_MS}ms`,
        REDIS_POOL_SIZE: "3",
        REDIS_HEALTH_CHECK_ACTIVE_CONNECTION: "true",
      },
    });
    const { httpUrl } = service;
    await using caller = await grpcCaller(service.grpcTarget);
    const pool = (what: string): Promise<number> =>
      readStat(service.debugUrl, `ratelimit.redis_pool.${what}`);
    const health = async (): Promise<number> =>
      (await request(`${httpUrl}/healthcheck`)).status;
    try {
      await t.step("a store that is away at the start", async () => {
        await assertUnavailable(caller, httpUrl);
        assertEquals(await health(), 503);
        assertEquals(await caller.checkHealth(""), HEALTH.NOT_SERVING);
        assertEquals(
          await caller.checkHealth("ratelimit"),
          HEALTH.NOT_SERVING,
        );
        assertEquals(await pool("cx_total"), 0);
        await server.start();
        await waitUntilDecided(caller, httpUrl);
        assertEquals(await health(), 200);
        await waitUntil(async () => await pool("cx_active") === 3, {
          what: "all connections of the pool",
        });
        await waitUntil(
          async () => await caller.checkHealth("ratelimit") === HEALTH.SERVING,
          { what: "health over gRPC" },
        );
      });

      await t.step("a store that is killed and restarted", async () => {
        await server.kill();
        await waitUntil(async () => await health() === 503, {
          what: "failing health",
        });
        assertEquals(await pool("cx_active"), 0);
        assert(await pool("cx_local_close") >= 3);
        await assertUnavailable(caller, httpUrl);
        await server.restart();
        await waitUntilDecided(caller, httpUrl);
        assertEquals(await health(), 200);
      });

      await t.step("a store that hangs", async () => {
        server.pause();
        await assertUnavailable(caller, httpUrl);
        await waitUntil(async () => await pool("breakers_open") === 1, {
          what: "an open breaker",
        });
        server.resume();
        await waitUntilDecided(caller, httpUrl);
      });

      await t.step("a store that refuses all writes", async () => {
        await server.command("CONFIG", "SET", "maxmemory", "1");
        await waitUntil(
          async () => {
            await caller.decide(REQUEST);
            return await pool("breakers_open") === 1;
          },
          { what: "an open breaker" },
        );
        await assertUnavailable(caller, httpUrl);
        // Though connections are up.
        assert(await pool("cx_active") > 0);
        assertEquals(await health(), 503);
        await server.command("CONFIG", "SET", "maxmemory", "0");
        await waitUntilDecided(caller, httpUrl);
        assertEquals(await health(), 200);
        assertEquals(await pool("breakers_open"), 0);
      });

      await t.step("what it has told of that", async () => {
        const name = "ratelimit.service.call.should_rate_limit.redis_error";
        assert(await readStat(service.debugUrl, name) >= 6);
        // Each outage is logged twice, and not each call.
        assertEquals(await pool("outages"), 4);
        for (const what of ["unavailable", "available"]) {
          const lines = service.lines.filter((line) =>
            line.includes(`kvstore is ${what}`)
          );
          assertEquals(lines.length, 4, service.stderr);
        }
        assert(service.lines.length < 25, service.stderr);
      });
    } finally {
      await server.stop();
    }
  },
});

async function assertUnavailable(
  caller: GrpcCaller,
  httpUrl: string,
): Promise<void> {
  const [overGrpc, overHttp]: [CallOutcome, HttpAnswer] = await Promise.all([
    caller.decide(REQUEST),
    postJson(httpUrl, REQUEST),
  ]);
  assertEquals(overGrpc.status, STATUS.UNAVAILABLE, overGrpc.details);
  assert(overGrpc.details !== "");
  assertEquals(overHttp.status, 503, overHttp.text);
  assertEquals(
    overHttp.headers.get("content-type"),
    "application/problem+json",
  );
  assertEquals(JSON.parse(overHttp.text).status, 503);
}

async function waitUntilDecided(
  caller: GrpcCaller,
  httpUrl: string,
): Promise<void> {
  await waitUntil(
    async () =>
      (await caller.decide(REQUEST)).status === STATUS.OK &&
      (await postJson(httpUrl, REQUEST)).status === 200,
    { what: "decisions again", intervalMs: 20 },
  );
}
