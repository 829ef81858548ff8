import { assert, assertEquals } from "@std/assert";
import {
  type RatelimitProcess,
  startRatelimit,
} from "../support/ratelimit_process.ts";
import { startRedisServer } from "../support/redis_server.ts";
import { serviceTest } from "../support/services.ts";
import { waitUntil } from "../support/wait_until.ts";
import { ConfigFolder } from "./config_folder.ts";
import { CODES, type GrpcCaller, grpcCaller } from "./grpc_caller.ts";
import { postJson, readStats, request } from "./http_caller.ts";
import { createRequest } from "./requests.ts";
import { runHere, serveHere } from "./service_here.ts";

const FILES = {
  "rules.yaml": `domain: algo
descriptors:
  - key: sliding
    rate_limit:
      unit: hour
      requests_per_unit: 3
      algorithm: sliding_window
  - key: bucket
    rate_limit:
      unit: second
      requests_per_unit: 2
      algorithm: token_bucket
      burst: 6
`,
};

Deno.test("ratelimit counts by sliding windows and token buckets in memory", async () => {
  await decide({ BACKEND_TYPE: "memory" });
});

for (const cacheBytes of ["0", "1000000"]) {
  serviceTest(["redis-server"], {
    name: "ratelimit counts by sliding windows and token buckets on Redis, " +
      `with a local cache of ${cacheBytes} bytes`,
    async fn() {
      const server = await startRedisServer();
      try {
        await decide({
          REDIS_URL: `redis://${server.host}:${server.port}`,
          LOCAL_CACHE_SIZE_IN_BYTES: cacheBytes,
        });
      } finally {
        await server.stop();
      }
    },
  });
}

async function decide(env: Record<string, string>): Promise<void> {
  await using folder = await ConfigFolder.make(FILES);
  await using service = await startRatelimit({
    env: {
      ...env,
      RUNTIME_ROOT: folder.root,
      LIMIT_RESPONSE_HEADERS_ENABLED: "true",
    },
  });
  {
    await using caller = await grpcCaller(service.grpcTarget);
    await slides(caller, service);
    await refills(caller, service);
  }
  const { text } = await request(`${service.debugUrl}/rlconfig`);
  assertEquals(text.trim().split("\n"), [
    "algo.sliding: unit=HOUR requests_per_unit=3, shadow_mode: false, " +
    "quota_mode: false, algorithm: sliding_window",
    "algo.bucket: unit=SECOND requests_per_unit=2, shadow_mode: false, " +
    "quota_mode: false, algorithm: token_bucket, burst: 6",
  ]);
  assertEquals(await service.stop(), 0);
}

async function slides(
  caller: GrpcCaller,
  service: RatelimitProcess,
): Promise<void> {
  const call = createRequest("algo", { sliding: "ada" });
  for (let left = 2; left >= 0; left--) {
    const { overallCode, statuses } = await caller.decide(call);
    assertEquals([overallCode, statuses[0]?.limitRemaining], [CODES.OK, left]);
    assertEquals(statuses[0]?.currentLimit?.requestsPerUnit, 3);
  }
  for (let time = 0; time < 3; time++) {
    const over = await postJson(service.httpUrl, call);
    assertEquals(over.status, 429);
    const [status] = JSON.parse(over.text).statuses;
    assertEquals(status.limitRemaining ?? 0, 0);
    const seconds = Number.parseInt(status.durationUntilReset);
    assert(seconds > 3_500 && seconds <= 3_601, `${seconds} s`);
  }
  // Refused hits were not charged, so returning one hit leaves room for exactly
  // one.
  const back = { ...call.descriptors[0], isNegativeHits: true };
  await caller.decide({ ...call, descriptors: [back] });
  assertEquals((await caller.decide(call)).overallCode, CODES.OK);
  assertEquals((await caller.decide(call)).overallCode, CODES.OVER_LIMIT);
  const path = "ratelimit.service.rate_limit.algo.sliding";
  const stats = await readStats(service.debugUrl, path);
  const seen = (name: string): number => stats.get(`${path}.${name}`) ?? 0;
  assertEquals(seen("total_hits"), 8);
  assertEquals(seen("within_limit"), 4);
  assertEquals(seen("over_limit"), 4);
  assertEquals(seen("near_limit"), 2);
  assertEquals(seen("total_negative_hits"), 1);
}

/**
 * Checks that a token bucket admits a request again after exactly the time that
 * the refusal named.
 */
async function refills(
  caller: GrpcCaller,
  service: RatelimitProcess,
): Promise<void> {
  const call = createRequest("algo", { bucket: "ada" });
  const burst = { ...call, hitsAddend: 6 };
  assertEquals((await caller.decide(burst)).overallCode, CODES.OK);
  const refused = await caller.decide(burst);
  assertEquals(refused.overallCode, CODES.OVER_LIMIT);
  const seconds = Number(refused.statuses[0]?.durationUntilReset?.seconds);
  assert(seconds >= 1 && seconds <= 3, `${seconds} s`);
  await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  const { text } = await postJson(service.httpUrl, burst);
  const answer = JSON.parse(text);
  assertEquals(answer.overallCode, "OK", text);
  assertEquals(
    answer.responseHeadersToAdd.map(
      ({ key, value }: { readonly key: string; readonly value: string }) =>
        `${key}: ${value}`,
    ),
    ["RateLimit-Limit: 2", "RateLimit-Remaining: 0", "RateLimit-Reset: 1"],
  );
}

serviceTest(["redis-server"], {
  name:
    "ratelimit processes that share a Redis admit together what a rule allows, and go on so when one is started again",
  async fn() {
    const server = await startRedisServer();
    await using folder = await ConfigFolder.make({
      "rules.yaml": ["sliding_window", "token_bucket"].reduce(
        (text, algorithm) =>
          `${text}  - key: ${algorithm}
    rate_limit:
      unit: day
      requests_per_unit: 100
      algorithm: ${algorithm}
`,
        "domain: algo\ndescriptors:\n",
      ),
    });
    const start = (): Promise<RatelimitProcess> =>
      startRatelimit({
        env: {
          RUNTIME_ROOT: folder.root,
          REDIS_URL: `redis://${server.host}:${server.port}`,
        },
      });
    const [first, second] = await Promise.all([start(), start()]);
    try {
      for (const key of ["sliding_window", "token_bucket"]) {
        const call = createRequest("algo", { [key]: "ada" });
        const answers = await Promise.all(
          Array.from(
            { length: 160 },
            (_, i) => postJson([first, second][i % 2]!.httpUrl, call),
          ),
        );
        const admitted = answers.filter(({ status }) => status === 200);
        assertEquals(admitted.length, 100, key);
      }
      await second.stop();
      await using third = await start();
      for (const key of ["sliding_window", "token_bucket"]) {
        const call = createRequest("algo", { [key]: "ada" });
        assertEquals((await postJson(third.httpUrl, call)).status, 429);
      }
      await third.stop();
    } finally {
      await first.stop();
      await second.stop();
      await server.stop();
    }
  },
});

Deno.test("ratelimit takes another algorithm with a reload, and keeps the rules in force when its name is wrong", async () => {
  const rule = (algorithm: string): string =>
    `domain: algo
descriptors:
  - key: user
    rate_limit: {unit: day, requests_per_unit: 2, algorithm: ${algorithm}}
`;
  await using folder = await ConfigFolder.make({
    "rules.yaml": rule("fixed_window"),
  });
  await using service = await startRatelimit({
    env: { RUNTIME_ROOT: folder.root, RUNTIME_WATCH_ROOT: "false" },
  });
  const user = createRequest("algo", { user: "ada" });
  const statuses = async (): Promise<readonly number[]> => {
    const seen: number[] = [];
    for (let call = 0; call < 3; call++) {
      seen.push((await postJson(service.httpUrl, user)).status);
    }
    return seen;
  };
  assertEquals(await statuses(), [200, 200, 429]);
  await folder.write("rules.yaml", rule("token_bucket"));
  const rules = async (): Promise<string> =>
    (await request(`${service.debugUrl}/rlconfig`)).text;
  await waitUntil(
    async () => (await rules()).includes("algorithm: token_bucket, burst: 2"),
    { what: "the new rules" },
  );
  // The token bucket is a separate counter, which starts full.
  assertEquals(await statuses(), [200, 200, 429]);
  await folder.write("rules.yaml", rule("tokenbucket"));
  await service.waitForLine("did you mean 'token_bucket'");
  assertEquals(await statuses(), [429, 429, 429]);
  assert((await rules()).includes("algorithm: token_bucket, burst: 2"));
  await service.stop();
});

Deno.test("ratelimit refuses algorithms that memcached can't count exactly, with file and line", async () => {
  await using folder = await ConfigFolder.make(FILES);
  await using service = await serveHere({
    RUNTIME_ROOT: folder.root,
    BACKEND_TYPE: "memcache",
    MEMCACHE_HOST_PORT: "127.0.0.1:1",
    FORCE_START_WITHOUT_INITIAL_CONFIG: "true",
  });
  await service.waitForLine("rules.yaml:7: algorithm 'sliding_window' needs");
  await service.waitForLine("rules.yaml:12: algorithm 'token_bucket' needs");
});

Deno.test("ratelimit check shows algorithms, and refuses them for memcached", async () => {
  await using folder = await ConfigFolder.make(FILES);
  const check = ["check", "-config_dir", `${folder.root}/config`];
  const good = await runHere([...check, "-rules"]);
  assertEquals(good.code, 0, good.stderr);
  assert(good.stdout.includes("algorithm: token_bucket, burst: 6"));
  const bad = await runHere([...check, "-backend_type", "altcache"]);
  assertEquals(bad.code, 1);
  assert(bad.stderr.includes("rules.yaml:7: algorithm 'sliding_window' needs"));
});
