import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  RatelimitProcess,
  runRatelimit,
  startRatelimit,
} from "../support/ratelimit_process.ts";
import { createTestAuthority } from "../support/test_certificates.ts";
import { waitUntil } from "../support/wait_until.ts";
import {
  DiscoveryServer,
  type DiscoveryServerOptions,
  type Offer,
  oneLimit,
} from "./discovery_server.ts";
import { readStat } from "./http_caller.ts";
import { quietPort } from "./quiet_port.ts";
import { limitInForce, waitForLimit } from "./rules_in_force.ts";
import { serveHere, ServiceHere } from "./service_here.ts";

const ERRORS = "ratelimit.service.config_load_error";
const PLACE = { domain: "a", key: "user" };

type Env = Readonly<Record<string, string>>;

function envFor(url: string, env: Env = {}): Env {
  return {
    CONFIG_TYPE: "GRPC_XDS_SOTW",
    CONFIG_GRPC_XDS_SERVER_URL: url,
    XDS_CLIENT_BACKOFF_INITIAL_INTERVAL: "50ms",
    XDS_CLIENT_BACKOFF_MAX_INTERVAL: "100ms",
    ...env,
  };
}

function offer(version: string, limit: number): Offer {
  return { version, rules: [oneLimit("a", limit)] };
}

Deno.test("ratelimit keeps its rules while the discovery server is away, and asks it again", async () => {
  let server = await DiscoveryServer.open(offer("1", 1));
  const { port } = server;
  await using service = await startRatelimit({
    env: envFor(server.url, {
      HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED: "true",
    }),
  });
  await server.waitFor("the answer", ({ versionInfo }) => versionInfo === "1");
  await server[Symbol.asyncDispose]();
  const line = await service.waitForLine(
    `Cannot get rules from discovery server`,
  );
  assertStringIncludes(line, `localhost:${port}`);
  assertStringIncludes(line, "the rules loaded before stay in force");
  assertEquals(await limitInForce(service.httpUrl, PLACE), 1);

  server = await DiscoveryServer.open(offer("2", 2), { port });
  try {
    await waitForLimit(service.httpUrl, PLACE, 2);
    const [first] = server.requests;
    assertEquals([first!.versionInfo, first!.responseNonce], ["1", ""]);
    assertEquals(first!.node.id, "default");
  } finally {
    await server[Symbol.asyncDispose]();
  }
  assertEquals(await service.stop(), 0);
});

Deno.test("ratelimit asks on another stream when the discovery server ends one", async () => {
  await using server = await DiscoveryServer.open(offer("1", 1));
  await using service = await serveHere(envFor(server.url));
  await server.waitFor(
    "the answer",
    ({ versionInfo }) => versionInfo === "1",
  );
  for (const version of ["2", "3"]) {
    const stream = server.headers.length;
    server.endStreams();
    const asked = await server.waitFor(
      `stream ${stream}`,
      (request) => request.stream === stream,
    );
    assertEquals(asked.responseNonce, "");
    server.offer(offer(version, Number(version)));
    await waitForLimit(service.httpUrl, PLACE, Number(version));
  }
});

Deno.test("ratelimit connects to the discovery server again after its retry interval", async () => {
  await using server = await DiscoveryServer.open(offer("1", 1));
  await using service = await serveHere(envFor(server.url, {
    CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL: "20ms",
    XDS_CLIENT_BACKOFF_INITIAL_INTERVAL: "1h",
    XDS_CLIENT_BACKOFF_MAX_INTERVAL: "2h",
  }));
  await server.waitFor(
    "the answer",
    ({ versionInfo }) => versionInfo === "1",
  );
  server.endStreams();
  await server.waitFor("a second stream", ({ stream }) => stream === 1);
  assertEquals(await service.stop(), 0);
});

Deno.test("ratelimit does not load what is larger than XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES", async () => {
  await using server = await DiscoveryServer.open(offer("1", 1));
  await using service = await serveHere(
    envFor(server.url, { XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES: "2048" }),
  );
  const large = {
    ...oneLimit("a", 2),
    name: "x".repeat(4_096),
  };
  server.offer({ version: "2", rules: [large] });
  const line = await service.waitForLine("RESOURCE_EXHAUSTED");
  assertStringIncludes(line, "XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES");
  assertEquals(await limitInForce(service.httpUrl, PLACE), 1);
  assert(await readStat(service.debugUrl, ERRORS) >= 1);
  server.offer(offer("3", 3));
  await waitForLimit(service.httpUrl, PLACE, 3);
});

Deno.test("ratelimit waits for the discovery server as its settings say", async () => {
  const url = `127.0.0.1:${quietPort()}`;
  const measureWaits = async (env: Env): Promise<readonly number[]> => {
    await using service = await ServiceHere.begin({
      ...envFor(url),
      LOG_LEVEL: "debug",
      ...env,
    });
    const waits = (): readonly number[] =>
      service.lines.flatMap((line) => {
        const found = /is to be asked again.*waitMs"?[=:]"?(\d+)/.exec(line);
        return found === null ? [] : [Number(found[1])];
      });
    await waitUntil(() => waits().length >= 6, { what: "six attempts" });
    assertEquals(await service.stop(), 0);
    return waits().slice(0, 6);
  };
  const plain = {
    CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL: "10ms",
    XDS_CLIENT_BACKOFF_INITIAL_INTERVAL: "20ms",
    XDS_CLIENT_BACKOFF_MAX_INTERVAL: "100ms",
    XDS_CLIENT_BACKOFF_RANDOM_FACTOR: "1",
    XDS_CLIENT_BACKOFF_JITTER: "false",
  };
  assertEquals(await measureWaits(plain), [10, 20, 40, 80, 100, 100]);
  assertEquals(
    await measureWaits({ ...plain, XDS_CLIENT_BACKOFF_RANDOM_FACTOR: "0.5" }),
    [10, 20, 30, 45, 68, 100],
  );
  const jittered = await measureWaits({
    ...plain,
    XDS_CLIENT_BACKOFF_JITTER: "true",
  });
  for (const [at, fullMs] of [10, 20, 40, 80, 100, 100].entries()) {
    const waitMs = jittered[at]!;
    assert(waitMs >= fullMs / 2 && waitMs <= fullMs, `${jittered}`);
  }
  assert(jittered.join() !== "10,20,40,80,100,100", `${jittered}`);
});

Deno.test("ratelimit reaches the discovery server over a unix socket", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const socket = `${folder}/control.sock`;
    await using server = await DiscoveryServer.open(offer("1", 1), { socket });
    await using service = await startRatelimit({
      env: envFor(`unix:${socket}`),
    });
    assertEquals(await limitInForce(service.httpUrl, PLACE), 1);
    assertEquals(server.requests[0]!.versionInfo, "");
    assertEquals(await service.stop(), 0);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("ratelimit stops at once while the discovery server does not answer", async () => {
  using silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  await using service = await startRatelimit({
    env: envFor(`127.0.0.1:${silent.addr.port}`, {
      FORCE_START_WITHOUT_INITIAL_CONFIG: "true",
      SHUTDOWN_GRACE: "2s",
    }),
  });
  using _held = await silent.accept();
  service.signal("SIGHUP");
  // On SIGHUP the service opens another connection.
  using _second = await silent.accept();
  assertEquals(await service.stop(), 0);
});

Deno.test("ratelimit reaches the discovery server over TLS", async (t) => {
  const folder = await Deno.makeTempDir();
  const authority = createTestAuthority();
  const foreign = createTestAuthority("Foreign authority");
  const write = async (name: string, text: string): Promise<string> => {
    await Deno.writeTextFile(`${folder}/${name}`, text);
    return `${folder}/${name}`;
  };
  const client = authority.issue("ratelimit.test");
  const tlsEnv = {
    CONFIG_GRPC_XDS_SERVER_USE_TLS: "true",
    CONFIG_GRPC_XDS_CLIENT_TLS_CERT: await write("cert.pem", client.certPem),
    CONFIG_GRPC_XDS_CLIENT_TLS_KEY: await write("key.pem", client.keyPem),
    CONFIG_GRPC_XDS_SERVER_TLS_CACERT: await write("ca.pem", authority.caPem),
    CONFIG_GRPC_XDS_SERVER_TLS_SAN: "control.test",
  };
  const serverTls: DiscoveryServerOptions = {
    tls: { ...authority.issue("control.test"), caPem: authority.caPem },
  };
  await using shared = await DiscoveryServer.open(offer("1", 1), serverTls);
  /** Returns whether the service gets rules with these settings. */
  const isServed = async (
    env: Env,
    { server = shared, host = "localhost" }: {
      readonly server?: DiscoveryServer;
      readonly host?: string;
    } = {},
  ): Promise<boolean> => {
    await using service = await ServiceHere.begin(
      envFor(`${host}:${server.port}`, env),
    );
    const tells = (text: string): boolean => service.stderr.includes(text);
    const opened = "Listening for HTTP on";
    await waitUntil(() => tells(opened) || tells("Cannot get rules from"), {
      what: "rules or a failure",
    });
    const isListening = tells(opened);
    assertEquals(await service.stop(), 0);
    return isListening;
  };
  try {
    await t.step("not with another name", async () => {
      assertEquals(
        await isServed({
          ...tlsEnv,
          CONFIG_GRPC_XDS_SERVER_TLS_SAN: "other.test",
        }),
        false,
      );
    });
    await t.step("not by the host alone, for which it is not", async () => {
      assertEquals(
        await isServed({ ...tlsEnv, CONFIG_GRPC_XDS_SERVER_TLS_SAN: "" }),
        false,
      );
    });
    await t.step("by the host or address that it is for", async () => {
      for (const host of ["localhost", "127.0.0.1"]) {
        await using server = await DiscoveryServer.open(offer("1", 1), {
          tls: authority.issue(host),
        });
        const env = { ...tlsEnv, CONFIG_GRPC_XDS_SERVER_TLS_SAN: "" };
        assertEquals(await isServed(env, { server, host }), true, host);
      }
    });
    await t.step("not from another authority", async () => {
      assertEquals(
        await isServed({
          ...tlsEnv,
          CONFIG_GRPC_XDS_SERVER_TLS_CACERT: await write(
            "foreign.pem",
            foreign.caPem,
          ),
        }),
        false,
      );
    });
    await t.step("not without a client certificate", async () => {
      assertEquals(
        await isServed({
          ...tlsEnv,
          CONFIG_GRPC_XDS_CLIENT_TLS_CERT: "",
          CONFIG_GRPC_XDS_CLIENT_TLS_KEY: "",
        }),
        false,
      );
    });
    await t.step("not without TLS", async () => {
      assertEquals(
        await isServed({ ...tlsEnv, CONFIG_GRPC_XDS_SERVER_USE_TLS: "false" }),
        false,
      );
    });
    // Comes last of those that share the server: it shows that the server was
    // there for the others, which it refused.
    await t.step("with a client certificate and the right name", async () => {
      assertEquals(await isServed(tlsEnv), true);
    });
    await t.step("a file that is missing ends the start", async () => {
      const { code, stderr } = await runRatelimit({
        env: envFor("localhost:1", {
          ...tlsEnv,
          CONFIG_GRPC_XDS_SERVER_TLS_CACERT: `${folder}/none.pem`,
        }),
      });
      assertEquals(code, 1);
      assertStringIncludes(stderr, `Cannot read "${folder}/none.pem"`);
    });
    await t.step("replaced files count for the next connection", async () => {
      await using server = await DiscoveryServer.open(
        offer("1", 1),
        serverTls,
      );
      const stranger = foreign.issue("ratelimit.test");
      await write("cert.pem", stranger.certPem);
      await write("key.pem", stranger.keyPem);
      await using service = new RatelimitProcess({
        env: envFor(server.url, tlsEnv),
      });
      await service.waitForLine("Cannot get rules from");
      await write("cert.pem", client.certPem);
      await write("key.pem", client.keyPem);
      await service.waitForListener("HTTP");
      assertEquals(await limitInForce(service.httpUrl, PLACE), 1);
      assertEquals(await service.stop(), 0);
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
