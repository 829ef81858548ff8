import { assert, assertEquals, assertMatch } from "@std/assert";
import { ServerCredentials } from "npm:@grpc/grpc-js@^1.14.0";
import { Buffer } from "node:buffer";
import {
  type RatelimitProcess,
  runRatelimit,
  startRatelimit,
} from "../support/ratelimit_process.ts";
import { GoawayServer } from "../support/goaway_server.ts";
import { RedisServer } from "../support/redis_server.ts";
import { serviceTest } from "../support/services.ts";
import { createTestAuthority } from "../support/test_certificates.ts";
import {
  type CollectedSpan,
  TraceCollector,
} from "../support/trace_collector.ts";
import { waitUntil } from "../support/wait_until.ts";
import { ConfigFolder } from "./config_folder.ts";
import { DECIDE_PATH } from "./grpc_caller.ts";
import { request } from "./http_caller.ts";
import { encodedRequest, ownChannel } from "./own_channel.ts";
import { quietPort } from "./quiet_port.ts";
import { readRefusal } from "./refused_settings.ts";
import { createRequest, dailyRule } from "./requests.ts";

const FILES = {
  "rules.yaml": dailyRule("traced", { key: "user", limit: 3 }),
};
const REQUEST = createRequest("traced", { user: "anybody" }, { other: "b" });
const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT_ID = "00f067aa0ba902b7";
const UUID_4 =
  /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

Deno.test("ratelimit sends a span of each decision to a collector over HTTP when tracing is on", async (t) => {
  await using collector = TraceCollector.http();
  await using folder = await ConfigFolder.make(FILES);
  await using service = await startRatelimit({
    env: {
      RUNTIME_ROOT: folder.root,
      TRACING_ENABLED: "true",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://${collector.address}/base`,
      OTEL_BSP_SCHEDULE_DELAY: "50",
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20first,x-a=b",
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: "x-a=c",
      OTEL_EXPORTER_OTLP_COMPRESSION: "gzip",
      OTEL_SERVICE_NAME: "edge limits",
      OTEL_RESOURCE_ATTRIBUTES:
        "deployment.environment=a%2Cb,service.name=other",
    },
  });

  await t.step("a call over gRPC begins a trace", async () => {
    await decide(service, {});
    const [span] = await collector.waitFor(1);
    assertEquals(span?.name, "ShouldRateLimit Execution");
    assertEquals(span?.kind, 2);
    assertEquals(span?.parentSpanId, "");
    assertMatch(span?.traceId ?? "", /^[\da-f]{32}$/);
    assert(span!.durationNs > 0n);
    assertEquals(span?.attributes, {
      "rpc.system": "grpc",
      "rpc.service": "envoy.service.ratelimit.v3.RateLimitService",
      "rpc.method": "ShouldRateLimit",
      domain: "traced",
      "ratelimit.descriptors": 2,
      "ratelimit.code": "OK",
    });
    assertEquals(span?.resource["service.name"], "edge limits");
    assertEquals(span?.resource["deployment.environment"], "a,b");
    assertMatch(String(span?.resource["service.instance.id"]), UUID_4);
    assertEquals("service.namespace" in span!.resource, false);
  });

  await t.step("the request has the path and the fields", () => {
    const [request] = collector.requests;
    assertEquals(request?.path, "/base/v1/traces");
    assertEquals(request?.headers["authorization"], "Bearer first");
    assertEquals(request?.headers["x-a"], "c");
    assertEquals(request?.headers["content-encoding"], "gzip");
  });

  await t.step("a caller's trace goes on, over both protocols", async () => {
    const before = collector.spans.length;
    const traceparent = `00-${TRACE_ID}-${PARENT_ID}-01`;
    await decide(service, { traceparent, tracestate: "vendor=1" });
    await request(`${service.httpUrl}/json`, {
      method: "POST",
      body: JSON.stringify(REQUEST),
      headers: { b3: `${TRACE_ID}-${PARENT_ID}-1` },
    });
    const [first, second] = (await collector.waitFor(before + 2)).slice(before);
    for (const span of [first, second]) {
      assertEquals(span?.traceId, TRACE_ID);
      assertEquals(span?.parentSpanId, PARENT_ID);
    }
    assertEquals(first?.traceState, "vendor=1");
    assertEquals(second?.attributes["http.route"], "/json");
    assertEquals(second?.attributes["ratelimit.code"], "OK");
  });

  await t.step("what a caller doesn't sample isn't recorded", async () => {
    const before = collector.spans.length;
    await decide(service, { traceparent: `00-${TRACE_ID}-${PARENT_ID}-00` });
    await decide(service, {});
    // The stop sends all remaining spans, so that none can follow.
    assertEquals(await service.stop(), 0);
    const after = collector.spans.slice(before);
    assertEquals(after.length, 1);
    assertEquals(after[0]?.parentSpanId, "");
    assertEquals(after[0]?.attributes["ratelimit.code"], "OVER_LIMIT");
  });
});

Deno.test("ratelimit sends spans over gRPC with the names that settings give", async () => {
  await using collector = await TraceCollector.grpc();
  await using folder = await ConfigFolder.make(FILES);
  await using service = await startRatelimit({
    env: {
      RUNTIME_ROOT: folder.root,
      TRACING_ENABLED: "true",
      TRACING_EXPORTER_PROTOCOL: "grpc",
      TRACING_SERVICE_NAME: "limits",
      TRACING_SERVICE_NAMESPACE: "edge",
      TRACING_SERVICE_INSTANCE_ID: "limits-0",
      OTEL_SERVICE_NAME: "other",
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1",
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: collector.address,
      OTEL_EXPORTER_OTLP_INSECURE: "true",
      OTEL_EXPORTER_OTLP_HEADERS: "Authorization=Bearer%20first",
    },
  });
  await decide(service, {});
  assertEquals(await service.stop(), 0);
  const [span] = collector.spans;
  assertEquals(span?.name, "ShouldRateLimit Execution");
  assertEquals(span?.resource, {
    "service.name": "limits",
    "service.namespace": "edge",
    "service.instance.id": "limits-0",
  });
  assertEquals(collector.requests[0]?.headers["authorization"], "Bearer first");
  assert(!service.stderr.includes("Cannot send spans"), service.stderr);
});

for (const protocol of ["http", "grpc"]) {
  Deno.test(`ratelimit sends spans over ${protocol} with TLS and a certificate when files name them`, async () => {
    const prefix = protocol === "grpc"
      ? "OTEL_EXPORTER_OTLP_TRACES_"
      : "OTEL_EXPORTER_OTLP_";
    const authority = createTestAuthority();
    const server = authority.issue("127.0.0.1");
    const client = authority.issue("client");
    await using collector = protocol === "http"
      ? TraceCollector.http(() => undefined, {
        cert: server.certPem,
        key: server.keyPem,
      })
      : await TraceCollector.grpc(ServerCredentials.createSsl(
        Buffer.from(authority.caPem),
        [{
          private_key: Buffer.from(server.keyPem),
          cert_chain: Buffer.from(server.certPem),
        }],
        true,
      ));
    await using folder = await ConfigFolder.make(FILES);
    const files = { ca: authority.caPem, ...client };
    await Deno.writeTextFile(`${folder.root}/ca.pem`, files.ca);
    await Deno.writeTextFile(`${folder.root}/cert.pem`, files.certPem);
    await Deno.writeTextFile(`${folder.root}/key.pem`, files.keyPem);
    await using service = await startRatelimit({
      env: {
        RUNTIME_ROOT: folder.root,
        TRACING_ENABLED: "true",
        TRACING_EXPORTER_PROTOCOL: protocol,
        OTEL_EXPORTER_OTLP_ENDPOINT: `https://${collector.address}`,
        OTEL_BSP_SCHEDULE_DELAY: "50",
        // The settings for traces take precedence over these general ones.
        ...protocol === "grpc"
          ? {
            OTEL_EXPORTER_OTLP_CERTIFICATE: "/none",
            OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: "/none",
            OTEL_EXPORTER_OTLP_CLIENT_KEY: "/none",
          }
          : {},
        [`${prefix}CERTIFICATE`]: `${folder.root}/ca.pem`,
        [`${prefix}CLIENT_CERTIFICATE`]: `${folder.root}/cert.pem`,
        [`${prefix}CLIENT_KEY`]: `${folder.root}/key.pem`,
      },
    });
    await decide(service, {});
    assertEquals(await service.stop(), 0, service.stderr);
    assertEquals(collector.spans.length, 1, service.stderr);
  });
}

serviceTest(["redis-server"], {
  name: "ratelimit makes a span of the store's batch under that of the call",
  async fn() {
    const redis = new RedisServer({ port: quietPort() });
    await redis.start();
    try {
      await using collector = TraceCollector.http();
      await using folder = await ConfigFolder.make(FILES);
      await using service = await startRatelimit({
        env: {
          RUNTIME_ROOT: folder.root,
          REDIS_URL: `redis://${redis.host}:${redis.port}`,
          TRACING_ENABLED: "true",
          OTEL_EXPORTER_OTLP_TRACES_ENDPOINT:
            `http://${collector.address}/own/path`,
          OTEL_EXPORTER_OTLP_COMPRESSION: "none",
          OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: "gzip",
        },
      });
      await decide(service, {});
      await redis.stop();
      await decide(service, {});
      assertEquals(await service.stop(), 0);
      const [sent] = collector.requests;
      assertEquals(sent?.path, "/own/path");
      assertEquals(sent?.headers["content-encoding"], "gzip");
      const [first, second] = namedSpans(
        collector,
        "ShouldRateLimit Execution",
      );
      const [good, bad] = namedSpans(collector, "KVSTORE Pipeline Execution");
      assertEquals(good?.parentSpanId, first?.spanId);
      assertEquals(good?.traceId, first?.traceId);
      assertEquals(good?.kind, 3);
      assertEquals(good?.status, 0);
      assertEquals(good?.attributes, {
        "db.system.name": "redis",
        "db.operation.batch.size": 1,
      });
      assertEquals(bad?.parentSpanId, second?.spanId);
      assertEquals([bad?.status, second?.status], [2, 2]);
    } finally {
      await redis.stop();
    }
  },
});

Deno.test("ratelimit records the share of the traces that the sampling rate says", async () => {
  await using collector = TraceCollector.http();
  await using folder = await ConfigFolder.make(FILES);
  await using service = await startRatelimit({
    env: {
      RUNTIME_ROOT: folder.root,
      TRACING_ENABLED: "true",
      TRACING_SAMPLING_RATE: "0.25",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://${collector.address}`,
      OTEL_BSP_SCHEDULE_DELAY: "50",
    },
  });
  const calls = 1_200;
  await decide(service, {}, calls);
  const traceparent = `00-${TRACE_ID}-${PARENT_ID}-01`;
  await decide(service, { traceparent }, 10);
  assertEquals(await service.stop(), 0);
  const own = collector.spans.filter(({ parentSpanId }) => parentSpanId === "");
  // 90 is six standard deviations of the binomial distribution.
  assert(Math.abs(own.length - calls / 4) < 90, `${own.length} of ${calls}`);
  // Sampling selects trace ids below a quarter of the largest one.
  assert(own.every(({ traceId }) => traceId.slice(16, 18) < "40"));
  assertEquals(own[0]?.resource["service.name"], "RateLimit");
  assertEquals(collector.requests[0]?.headers["content-encoding"], undefined);
  // Traces that the caller has sampled are all recorded.
  assertEquals(collector.spans.length - own.length, 10);
});

Deno.test("ratelimit goes on and stops in time when the collector is away, refuses or stalls", async () => {
  const answering = (init: ResponseInit): Opened => {
    const collector = TraceCollector.http(() => new Response(null, init));
    return {
      address: collector.address,
      close: () => collector[Symbol.asyncDispose](),
    };
  };
  const cases: Readonly<Record<string, () => Opened>> = {
    "is away": () => ({
      address: `127.0.0.1:${quietPort()}`,
      close: () => Promise.resolve(),
    }),
    "stalls": stalledListener,
    "refuses with 400": () => answering({ status: 400 }),
    "asks for a pause": () =>
      answering({ status: 429, headers: { "retry-after": "60" } }),
  };
  const run = async (open: () => Opened, protocol: string): Promise<void> => {
    const { address, close } = open();
    await using folder = await ConfigFolder.make(FILES);
    await using service = await startRatelimit({
      env: {
        RUNTIME_ROOT: folder.root,
        TRACING_ENABLED: "true",
        TRACING_EXPORTER_PROTOCOL: protocol,
        OTEL_EXPORTER_OTLP_ENDPOINT: `http://${address}`,
        OTEL_BSP_SCHEDULE_DELAY: "50",
        // The timeout for traces, which is short, takes precedence over the
        // general one.
        OTEL_EXPORTER_OTLP_TIMEOUT: "600000",
        OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: "500",
        SHUTDOWN_GRACE: "5s",
      },
    });
    await decide(service, {}, 700);
    await service.waitForLine("Cannot send spans to the collector", {
      timeoutMs: 10_000,
    });
    await decide(service, {}, 20);
    assertEquals(await service.stop(), 0, service.stderr);
    const complaints = service.lines.filter((line) =>
      line.includes("Cannot send spans")
    );
    assertEquals(complaints.length, 1, service.stderr);
    await close();
  };
  // The runs wait most of the time, so all of them wait at the same time.
  const runs = ["http", "grpc"].flatMap((protocol) =>
    Object.entries(cases).map(async ([name, open]) => {
      try {
        await run(open, protocol);
      } catch (cause) {
        throw new Error(`Collector ${name}, over ${protocol}`, { cause });
      }
    })
  );
  for (const outcome of await Promise.allSettled(runs)) {
    if (outcome.status === "rejected") throw outcome.reason;
  }
});

Deno.test("ratelimit goes on when the collector sends GOAWAY at every frame, and sends spans once it has come back", async () => {
  const hostile = new GoawayServer();
  await using folder = await ConfigFolder.make(FILES);
  await using service = await startRatelimit({
    env: {
      RUNTIME_ROOT: folder.root,
      TRACING_ENABLED: "true",
      TRACING_EXPORTER_PROTOCOL: "grpc",
      OTEL_EXPORTER_OTLP_ENDPOINT: `127.0.0.1:${hostile.port}`,
      OTEL_BSP_SCHEDULE_DELAY: "50",
      OTEL_EXPORTER_OTLP_INSECURE: "false",
      OTEL_EXPORTER_OTLP_TRACES_INSECURE: "true",
      OTEL_EXPORTER_OTLP_TIMEOUT: "300",
    },
  });
  try {
    // Spans are sent batch after batch for as long as there are any.
    await waitUntil(async () => {
      await decide(service, {}, 5);
      return hostile.accepted >= 20;
    }, { what: "twenty connections", intervalMs: 40 });
    // More than the queue has room for.
    await decide(service, {}, 5_000);
  } finally {
    await hostile[Symbol.asyncDispose]();
  }
  await using collector = await TraceCollector.ownGrpc(hostile.port);
  await decide(service, {});
  assertEquals(await service.stop(), 0, service.stderr);
  assert(collector.spans.length > 0, service.stderr);
  // Spans for which the queue has no room are dropped.
  assert(collector.spans.length <= 2_048 + 1_024, service.stderr);
});

Deno.test("ratelimit refuses tracing settings that cannot be followed and tells why", async () => {
  const on = { TRACING_ENABLED: "true" };
  const grpc = { TRACING_EXPORTER_PROTOCOL: "grpc" };
  const cases: readonly (readonly [Record<string, string>, string])[] = [
    [{ TRACING_EXPORTER_PROTOCOL: "udp" }, "expected one of http, grpc"],
    [{ TRACING_SAMPLING_RATE: "1.5" }, "TRACING_SAMPLING_RATE"],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "ftp://a" }, "not an http or https URL"],
    [
      { ...grpc, OTEL_EXPORTER_OTLP_COMPRESSION: "gzip" },
      "OTEL_EXPORTER_OTLP_COMPRESSION is gzip",
    ],
    [{ OTEL_EXPORTER_OTLP_CLIENT_KEY: "/a" }, "go together"],
    [{ OTEL_EXPORTER_OTLP_HEADERS: "a=%zz" }, "not percent-encoded"],
    [{ OTEL_EXPORTER_OTLP_HEADERS: "a=%0d%0ax:y" }, "HTTP doesn't allow"],
  ];
  for (const [env, expected] of cases) {
    const text = await readRefusal({ ...on, ...env });
    assert(text.includes(expected), text);
    assertEquals(text.includes("    at "), false, text);
  }
  // The start itself ends with what it tells, also of a file.
  const { code, stderr } = await runRatelimit({
    env: { ...on, OTEL_EXPORTER_OTLP_CERTIFICATE: "/does/not/exist" },
  });
  assertEquals(code, 1, stderr);
  assert(
    stderr.includes('Cannot read a file of tracing, "/does/not/exist"'),
    stderr,
  );
  assertEquals(stderr.includes("    at "), false, stderr);
});

Deno.test("ratelimit leaves spans to the runtime when OTEL_DENO was set at the start", async () => {
  await using collector = TraceCollector.http();
  await using folder = await ConfigFolder.make(FILES);
  await using service = await startRatelimit({
    env: {
      RUNTIME_ROOT: folder.root,
      TRACING_ENABLED: "true",
      TRACING_SAMPLING_RATE: "0",
      OTEL_DENO: "true",
      OTEL_SERVICE_NAME: "by the runtime",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://${collector.address}`,
      OTEL_BSP_SCHEDULE_DELAY: "100",
    },
  });
  const traceparent = `00-${TRACE_ID}-${PARENT_ID}-01`;
  await decide(service, { traceparent });
  const [span] = await collector.waitFor(
    1,
    ({ name }) => name === "ShouldRateLimit Execution",
  );
  assertEquals(span?.resource["service.name"], "by the runtime");
  assertEquals(span?.traceId, TRACE_ID);
  assertEquals(span?.parentSpanId, PARENT_ID);
  assertEquals(namedSpans(collector, span!.name).length, 1);
  assert(
    service.stderr.includes(
      "TRACING_SAMPLING_RATE is set and has no effect: the runtime sends",
    ),
    service.stderr,
  );
});

interface Opened {
  readonly address: string;
  close(): Promise<void>;
}

/** Starts a listener that accepts connections and never answers. */
function stalledListener(): Opened {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const connections: Deno.Conn[] = [];
  const accepting = (async () => {
    for await (const connection of listener) connections.push(connection);
  })();
  return {
    address: `127.0.0.1:${listener.addr.port}`,
    async close() {
      listener.close();
      await accepting;
      for (const connection of connections) connection.close();
    },
  };
}

function namedSpans(
  { spans }: TraceCollector,
  wanted: string,
): readonly CollectedSpan[] {
  return spans.filter(({ name }) => name === wanted);
}

/** Calls that are under way at once, which costs less than one by one. */
const AT_ONCE = 50;

/** Requests decisions over gRPC with these metadata, `times` times. */
async function decide(
  service: RatelimitProcess,
  metadata: Readonly<Record<string, string>>,
  times = 1,
): Promise<void> {
  const channel = ownChannel(service.grpcTarget);
  const request = await encodedRequest(REQUEST);
  for (let left = times; left > 0; left -= AT_ONCE) {
    await Promise.all(
      Array.from(
        { length: Math.min(left, AT_ONCE) },
        () =>
          channel.unary(DECIDE_PATH, request, { metadata, deadlineMs: 10_000 }),
      ),
    );
  }
  channel.close();
}
