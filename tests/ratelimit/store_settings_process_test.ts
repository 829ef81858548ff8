import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { makeTlsMaterial } from "../counters/kvstore_tls_subject.ts";
import { startMemcachedServer } from "../support/memcached_server.ts";
import { runRatelimit, startRatelimit } from "../support/ratelimit_process.ts";
import { type RedisServer, startRedisServer } from "../support/redis_server.ts";
import { serviceTest } from "../support/services.ts";
import { waitUntil } from "../support/wait_until.ts";
import { ConfigFolder } from "./config_folder.ts";
import { postJson } from "./http_caller.ts";
import { createRequest } from "./requests.ts";
import { serveHere, type ServiceHere } from "./service_here.ts";

const RULES = `domain: shop
descriptors:
  - key: daily
    rate_limit: {unit: day, requests_per_unit: 100000}
  - key: quick
    rate_limit: {unit: second, requests_per_unit: 100000}
`;
const DAILY = createRequest("shop", { daily: "v" });
const QUICK = createRequest("shop", { quick: "v" });

type Env = Readonly<Record<string, string>>;

/** What a service in this process and one of its own have in common. */
type Service = Pick<
  ServiceHere,
  "grpcTarget" | "httpUrl" | "waitForLine" | "stop"
>;

/** Starts a service in a process of its own. */
async function withProcess(
  env: Env,
  use: (service: Service) => Promise<void>,
): Promise<void> {
  await using folder = await ConfigFolder.make({ "rules.yaml": RULES });
  await using service = await startRatelimit({
    env: { RUNTIME_ROOT: folder.root, ...env },
  });
  await use(service);
  assertEquals(await service.stop(), 0);
}

/** Starts a service in this process. */
async function withService(
  env: Env,
  use: (service: Service) => Promise<void>,
): Promise<void> {
  await using folder = await ConfigFolder.make({ "rules.yaml": RULES });
  await using service = await serveHere({ RUNTIME_ROOT: folder.root, ...env });
  await use(service);
  assertEquals(await service.stop(), 0);
}

/**
 * Starts a service and requests a decision; returns the status, which is 503
 * when the store does not answer.
 */
async function fetchStatus(
  env: Env,
  { call = DAILY, within = withService }: {
    readonly call?: typeof DAILY;
    readonly within?: typeof withService;
  } = {},
): Promise<number> {
  let status = 0;
  await within(env, async ({ httpUrl }) => {
    ({ status } = await postJson(httpUrl, call));
  });
  return status;
}

const formatAddress = ({ host, port }: RedisServer): string =>
  `${host}:${port}`;

const TCP = { KVSTORE_SOCKET_TYPE: "tcp", KVSTORE_TIMEOUT: "2s" } as const;

serviceTest(["redis-server"], {
  name:
    "ratelimit shows KVSTORE_AUTH to its server, a password or a user with one",
  async fn() {
    const server = await startRedisServer({ password: "secret" });
    try {
      await server.ask("ACL", "SETUSER", "ada", "on", ">hers", "~*", "+@all");
      const env = { ...TCP, KVSTORE_URL: formatAddress(server) };
      const statuses = [];
      for (const auth of ["", "wrong", "secret", "ada:hers", "ada:his"]) {
        statuses.push(await fetchStatus({ ...env, KVSTORE_AUTH: auth }));
      }
      assertEquals(statuses, [503, 503, 200, 200, 503]);
      const hers = { ...env, KVSTORE_AUTH: "ada:hers" };
      assertEquals(await fetchStatus(hers, { within: withProcess }), 200);
    } finally {
      await server.stop();
    }
  },
});

serviceTest(["redis-server"], {
  name:
    "ratelimit keeps limits by the second on the server of KVSTORE_PERSECOND, with settings of its own",
  async fn() {
    const main = await startRedisServer();
    const second = await startRedisServer({ password: "secret" });
    try {
      const env = {
        ...TCP,
        KVSTORE_URL: formatAddress(main),
        KVSTORE_PERSECOND: "true",
        KVSTORE_PERSECOND_SOCKET_TYPE: "unix",
        KVSTORE_PERSECOND_URL: second.socketPath,
        KVSTORE_PERSECOND_TYPE: "SINGLE",
        KVSTORE_PERSECOND_AUTH: "secret",
        KVSTORE_PERSECOND_POOL_SIZE: "3",
      };
      await withProcess(env, async ({ httpUrl }) => {
        for (const call of [DAILY, QUICK]) {
          assertEquals((await postJson(httpUrl, call)).status, 200);
        }
        const keys = [
          await main.ask("KEYS", "*"),
          await second.ask("KEYS", "*"),
        ];
        assert(/^shop_daily_v_day_\d+$/.test(keys[0]!), keys[0]);
        assert(/^shop_quick_v_second_\d+$/.test(keys[1]!), keys[1]);
        await waitUntil(async () => await countClients(second) === 3, {
          what: "the pool of the second server",
        });
      });
      assertEquals(
        await fetchStatus({ ...env, KVSTORE_PERSECOND_AUTH: "wrong" }, {
          call: QUICK,
        }),
        503,
      );
    } finally {
      await main.stop();
      await second.stop();
    }
  },
});

/**
 * Returns the number of connections to a server, without that of the command
 * itself.
 */
async function countClients(server: RedisServer): Promise<number> {
  const list = await server.ask("CLIENT", "LIST");
  return list.trim().split("\n").length - 1;
}

serviceTest(["redis-server"], {
  name: "ratelimit keeps KVSTORE_POOL_SIZE connections",
  async fn() {
    const server = await startRedisServer();
    try {
      for (const size of [1, 4]) {
        const env = {
          ...TCP,
          KVSTORE_URL: formatAddress(server),
          KVSTORE_POOL_SIZE: String(size),
        };
        await withService(env, async ({ httpUrl }) => {
          await postJson(httpUrl, DAILY);
          await waitUntil(async () => await countClients(server) === size, {
            what: `${size} connections`,
          });
        });
      }
    } finally {
      await server.stop();
    }
  },
});

serviceTest(["redis-server"], {
  name:
    "ratelimit speaks TLS to its servers as KVSTORE_TLS and the settings of its files say",
  async fn() {
    const material = await makeTlsMaterial("server.example");
    const server = await startRedisServer({ tls: material.files });
    const folder = await Deno.makeTempDir();
    const { certPem, keyPem } = material.authority.issue("client.example");
    const files = { cert: `${folder}/c.pem`, key: `${folder}/k.pem` };
    await Deno.writeTextFile(files.cert, certPem);
    await Deno.writeTextFile(files.key, keyPem);
    const good = {
      ...TCP,
      KVSTORE_URL: formatAddress(server),
      KVSTORE_TLS: "true",
      KVSTORE_TLS_CACERT: material.files.caPath,
      KVSTORE_TLS_CLIENT_CERT: files.cert,
      KVSTORE_TLS_CLIENT_KEY: files.key,
      KVSTORE_TLS_SKIP_HOSTNAME_VERIFICATION: "true",
    };
    try {
      assertEquals(await fetchStatus(good, { within: withProcess }), 200);
      const without: readonly Env[] = [
        { ...good, KVSTORE_TLS: "false" },
        { ...good, KVSTORE_TLS_CACERT: "" },
        { ...good, KVSTORE_TLS_CLIENT_CERT: "", KVSTORE_TLS_CLIENT_KEY: "" },
        // The server's certificate is for another name.
        { ...good, KVSTORE_TLS_SKIP_HOSTNAME_VERIFICATION: "false" },
      ];
      for (const env of without) assertEquals(await fetchStatus(env), 503);
      const plain = await startRedisServer();
      try {
        const both = {
          ...good,
          KVSTORE_TLS: "false",
          KVSTORE_URL: formatAddress(plain),
          KVSTORE_PERSECOND: "true",
          KVSTORE_PERSECOND_SOCKET_TYPE: "tcp",
          KVSTORE_PERSECOND_URL: formatAddress(server),
        };
        const tls = { ...both, KVSTORE_PERSECOND_TLS: "true" };
        assertEquals(await fetchStatus(tls, { call: QUICK }), 200);
        assertEquals(await fetchStatus(both, { call: QUICK }), 503);
      } finally {
        await plain.stop();
      }
    } finally {
      await server.stop();
      await material.remove();
      await Deno.remove(folder, { recursive: true });
    }
  },
});

for (const part of ["", "PERSECOND_"]) {
  serviceTest(["redis-server"], {
    name:
      `ratelimit waits KVSTORE_${part}PIPELINE_WINDOW for commands to go together, up to KVSTORE_${part}PIPELINE_LIMIT`,
    async fn() {
      const server = await startRedisServer();
      try {
        const env = {
          ...TCP,
          KVSTORE_URL: formatAddress(server),
          KVSTORE_POOL_SIZE: "1",
          KVSTORE_PERSECOND: part === "" ? "false" : "true",
          KVSTORE_PERSECOND_SOCKET_TYPE: "tcp",
          KVSTORE_PERSECOND_URL: formatAddress(server),
          KVSTORE_PERSECOND_POOL_SIZE: "1",
          // A window lasts at most a quarter of the time limit.
          KVSTORE_PERSECOND_TIMEOUT: "2s",
          [`KVSTORE_${part}PIPELINE_WINDOW`]: "400ms",
        };
        const call = part === "" ? DAILY : QUICK;
        await withService(env, async ({ httpUrl }) => {
          // A call may join a window that another command has opened, such as
          // one of the connection's start or of a look at its health, and a
          // timer may fire within the millisecond before its time.
          let longestMs = 0;
          for (let count = 0; count < 3; count++) {
            const beginMs = performance.now();
            assertEquals((await postJson(httpUrl, call)).status, 200);
            longestMs = Math.max(longestMs, performance.now() - beginMs);
          }
          assert(longestMs >= 399, `${longestMs} ms`);
        });
        // Two calls fill the pipeline, so that they are sent at once; a single
        // call would wait for the whole window of an hour.
        const filled = {
          ...env,
          [`KVSTORE_${part}PIPELINE_WINDOW`]: "1h",
          [`KVSTORE_${part}PIPELINE_LIMIT`]: "2",
        };
        await withService(filled, async ({ httpUrl }) => {
          const two = [postJson(httpUrl, call), postJson(httpUrl, call)];
          const answers = await Promise.all(two);
          assertEquals(answers.map(({ status }) => status), [200, 200]);
        });
      } finally {
        await server.stop();
      }
    },
  });
}

const MEMCACHED = { BACKEND_TYPE: "altcache", ALTCACHE_TIMEOUT: "2s" } as const;

serviceTest(["memcached"], {
  name:
    "ratelimit speaks TLS to memcached as ALTCACHE_TLS and the settings of its files say",
  async fn() {
    const material = await makeTlsMaterial("server.example");
    const { certPath, keyPath, caPath } = material.files;
    const folder = await Deno.makeTempDir();
    const { certPem, keyPem } = material.authority.issue("client.example");
    await Deno.writeTextFile(`${folder}/c.pem`, certPem);
    await Deno.writeTextFile(`${folder}/k.pem`, keyPem);
    const server = await startMemcachedServer({
      tls: { certPath, keyPath, clientCaPath: caPath },
    });
    const good = {
      ...MEMCACHED,
      ALTCACHE_HOST_PORT: `${server.host}:${server.port}`,
      ALTCACHE_TLS: "true",
      ALTCACHE_TLS_CACERT: caPath,
      ALTCACHE_TLS_CLIENT_CERT: `${folder}/c.pem`,
      ALTCACHE_TLS_CLIENT_KEY: `${folder}/k.pem`,
      ALTCACHE_TLS_SKIP_HOSTNAME_VERIFICATION: "true",
    };
    try {
      assertEquals(await fetchStatus(good, { within: withProcess }), 200);
      const without: readonly Env[] = [
        { ...good, ALTCACHE_TLS: "false" },
        { ...good, ALTCACHE_TLS_CACERT: "" },
        { ...good, ALTCACHE_TLS_CLIENT_CERT: "", ALTCACHE_TLS_CLIENT_KEY: "" },
        { ...good, ALTCACHE_TLS_SKIP_HOSTNAME_VERIFICATION: "false" },
      ];
      for (const env of without) assertEquals(await fetchStatus(env), 503);
    } finally {
      await server.stop();
      await material.remove();
      await Deno.remove(folder, { recursive: true });
    }
  },
});

Deno.test("ratelimit takes the servers of memcached from ALTCACHE_HOST_PORT or from ALTCACHE_SRV, not from both", async () => {
  const { code, stderr } = await runRatelimit({
    env: {
      ...MEMCACHED,
      ALTCACHE_HOST_PORT: "127.0.0.1:11211",
      ALTCACHE_SRV: "_memcache._tcp.example.invalid",
    },
  });
  assertEquals(code, 1);
  assertStringIncludes(stderr, "ALTCACHE_SRV");
  assertStringIncludes(stderr, "ALTCACHE_HOST_PORT");
});

Deno.test("ratelimit asks for the record of ALTCACHE_SRV, and says when it can't be found", async () => {
  const env = {
    ...MEMCACHED,
    ALTCACHE_SRV: "_memcache._tcp.example.invalid",
    ALTCACHE_SRV_REFRESH: "1s",
  };
  await withService(env, async (service) => {
    const line = await service.waitForLine("altcache is unavailable");
    assertStringIncludes(line, "_memcache._tcp.example.invalid");
    assertEquals((await postJson(service.httpUrl, DAILY)).status, 503);
  });
});
