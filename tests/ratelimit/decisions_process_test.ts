import { assert, assertEquals } from "@std/assert";
import {
  type RatelimitProcess,
  startRatelimit,
} from "../support/ratelimit_process.ts";
import { type RedisServer, startRedisServer } from "../support/redis_server.ts";
import { serviceTest } from "../support/services.ts";
import { ConfigFolder } from "./config_folder.ts";
import { CODES, type GrpcCaller, grpcCaller, STATUS } from "./grpc_caller.ts";
import { postJson, readStats } from "./http_caller.ts";
import { awayFromBorder, createRequest } from "./requests.ts";

const FILES = {
  "basic.yaml": `domain: basic
descriptors:
  - key: key1
    rate_limit:
      unit: second
      requests_per_unit: 50
`,
  "another.yaml": `domain: another
descriptors:
  - key: key2
    rate_limit:
      unit: minute
      requests_per_unit: 20
  - key: key3
    rate_limit:
      unit: hour
      requests_per_unit: 10
  - key: key4
    rate_limit:
      unit: day
      requests_per_unit: 20
`,
};

const MINUTE = 2;

/**
 * The longest time for a scenario, in milliseconds; each starts when at least
 * that much of its window is left.
 */
const SCENARIO_MS = 6_000;

Deno.test("ratelimit decides over gRPC and HTTP with counters in memory", async () => {
  await decide({ BACKEND_TYPE: "memory" });
});

redisTest(
  "ratelimit decides with Redis over TCP, set by the original names",
  (server) => ({
    BACKEND_TYPE: "redis",
    REDIS_SOCKET_TYPE: "tcp",
    REDIS_URL: `${server.host}:${server.port}`,
  }),
);

redisTest(
  "ratelimit decides with Redis over a unix socket, set by the neutral names",
  (server) => ({
    BACKEND_TYPE: "kvstore",
    KVSTORE_SOCKET_TYPE: "unix",
    KVSTORE_URL: server.socketPath,
  }),
);

function redisTest(
  name: string,
  env: (server: RedisServer) => Record<string, string>,
): void {
  serviceTest(["redis-server"], {
    name,
    async fn() {
      const server = await startRedisServer();
      try {
        await decide(env(server));
      } finally {
        await server.stop();
      }
    },
  });
}

async function decide(env: Record<string, string>): Promise<void> {
  await using folder = await ConfigFolder.make(FILES);
  await using service = await startRatelimit({
    env: { ...env, RUNTIME_ROOT: folder.root },
  });
  await awayFromBorder(60, SCENARIO_MS);
  {
    await using caller = await grpcCaller(service.grpcTarget);
    await answersWithoutLimit(caller);
    await countsDown(caller, service);
    await aggregates(caller);
    await sharesCountersWithHttp(caller, service);
  }
  assertEquals(await service.stop(), 0);
}

async function answersWithoutLimit(caller: GrpcCaller): Promise<void> {
  const unknown = await caller.decide(
    createRequest("unknown", { key1: "foo" }),
  );
  assertEquals(unknown.status, STATUS.OK);
  assertEquals(unknown.overallCode, CODES.OK);
  assertEquals(unknown.statuses.length, 1);
  assertEquals(unknown.statuses[0]?.currentLimit, null);
  const first = await caller.decide(createRequest("basic", { key1: "foo" }));
  assertEquals(first.overallCode, CODES.OK);
  assertEquals(first.statuses[0]?.limitRemaining, 49);
}

async function countsDown(
  caller: GrpcCaller,
  service: RatelimitProcess,
): Promise<void> {
  const path = "ratelimit.service.rate_limit.another.key2";
  for (let call = 1; call <= 25; call++) {
    const { overallCode, statuses } = await caller.decide(
      createRequest("another", { key2: "same" }),
    );
    const expected = call <= 20 ? CODES.OK : CODES.OVER_LIMIT;
    assertEquals(overallCode, expected, `call ${call}`);
    const [status] = statuses;
    assertEquals(status?.code, expected);
    assertEquals(status?.limitRemaining, Math.max(0, 20 - call));
    const { requestsPerUnit, unit } = status?.currentLimit ?? {};
    assertEquals([requestsPerUnit, unit], [20, MINUTE]);
    const seconds = status?.durationUntilReset?.seconds ?? 0;
    assert(seconds > 0 && seconds <= 60, `${seconds} s until reset`);
    const stats = await readStats(service.debugUrl, path);
    assertEquals(stats.get(`${path}.total_hits`), call);
    assertEquals(stats.get(`${path}.over_limit`) ?? 0, Math.max(0, call - 20));
  }
}

async function aggregates(caller: GrpcCaller): Promise<void> {
  for (let call = 1; call <= 15; call++) {
    const { overallCode, statuses } = await caller.decide(
      createRequest("another", { key2: "fresh" }, { key3: "fresh" }),
    );
    const expected = call <= 10 ? CODES.OK : CODES.OVER_LIMIT;
    assertEquals(overallCode, expected, `call ${call}`);
    assertEquals(statuses.map(({ code }) => code), [CODES.OK, expected]);
    assertEquals(
      statuses.map(({ limitRemaining }) => limitRemaining),
      [20 - call, Math.max(0, 10 - call)],
    );
  }
}

async function sharesCountersWithHttp(
  caller: GrpcCaller,
  service: RatelimitProcess,
): Promise<void> {
  const request = createRequest("another", { key4: "both" });
  const overGrpc = await caller.decide({ ...request, hitsAddend: 18 });
  assertEquals(overGrpc.statuses[0]?.limitRemaining, 2);
  const within = await postJson(service.httpUrl, { ...request, hitsAddend: 2 });
  assertEquals(within.status, 200);
  assertEquals(within.headers.get("content-type"), "application/json");
  const answer = JSON.parse(within.text);
  assertEquals(answer.overallCode, "OK");
  assertEquals(answer.statuses[0].currentLimit, {
    requestsPerUnit: 20,
    unit: "DAY",
  });
  const over = await postJson(service.httpUrl, request);
  assertEquals(over.status, 429);
  assertEquals(JSON.parse(over.text).overallCode, "OVER_LIMIT");
  const after = await caller.decide(request);
  assertEquals(after.overallCode, CODES.OVER_LIMIT);
}
