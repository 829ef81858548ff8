import { assert, assertEquals } from "@std/assert";
import { TraceCollector } from "../support/trace_collector.ts";
import { onStores } from "./on_stores.ts";
import { RelayerHome } from "./relayer_home.ts";
import { isProbe } from "./fake_embedder.ts";

const WIDTH = 8;

onStores({
  name:
    "relayer sends spans of requests, model calls and jobs, and passes the trace on",
  fn: async (storage) => {
    await using collector = TraceCollector.http();
    const traceparents: (string | null)[] = [];
    await using model = modelServer(traceparents);
    await using home = await RelayerHome.open({
      storage,
      env: {
        EMBEDDING_API_BASE: model.url,
        EMBEDDING_WIDTH: String(WIDTH),
        TRACING_ENABLED: "true",
        TRACING_SERVICE_NAME: "memories",
        OTEL_EXPORTER_OTLP_ENDPOINT: `http://${collector.address}`,
        OTEL_BSP_SCHEDULE_DELAY: "50",
      },
    });
    await home.mem().rememberAndWait("a secret text about tea");
    await home.mem().recall({ query: "another secret about tea" });
    assertEquals(await home.stop(), 0);

    const named = (wanted: string) =>
      collector.spans.filter(({ name }) => name === wanted);
    const [remember] = named("POST /api/remember");
    const [recall] = named("POST /api/recall");
    const [job] = named("run memory jobs");
    assertEquals(remember?.resource["service.name"], "memories");
    assertEquals([remember?.kind, remember?.parentSpanId], [2, ""]);
    assertEquals(recall?.attributes, {
      "http.request.method": "POST",
      "http.route": "/api/recall",
      "http.response.status_code": 200,
    });
    // A job has a trace of its own, which links to the trace of the request.
    assertEquals([job?.kind, job?.parentSpanId], [1, ""]);
    assertEquals(job?.links, [remember?.traceId ?? ""]);
    assertEquals(job?.attributes, { jobs: 1, "jobs.failed": 0 });

    const calls = named("POST model");
    assertEquals(calls.map(({ parentSpanId }) => parentSpanId), [
      job?.spanId,
      recall?.spanId,
    ]);
    assertEquals(calls[0]?.attributes, {
      "http.request.method": "POST",
      "server.address": "127.0.0.1",
      "server.port": Number(new URL(model.url).port),
      "http.response.status_code": 200,
    });
    assertEquals(
      traceparents,
      calls.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`),
    );
    const shown = JSON.stringify(
      collector.spans,
      (_, value) => typeof value === "bigint" ? String(value) : value,
    );
    assert(!shown.includes("secret"), shown);
  },
});

Deno.test("relayer leaves the spans of its calls to the runtime when OTEL_DENO was set at the start", async () => {
  await using collector = TraceCollector.http();
  const traceparents: (string | null)[] = [];
  await using model = modelServer(traceparents);
  await using home = await RelayerHome.open({
    env: {
      EMBEDDING_API_BASE: model.url,
      EMBEDDING_WIDTH: String(WIDTH),
      TRACING_ENABLED: "true",
      OTEL_DENO: "true",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://${collector.address}`,
      OTEL_BSP_SCHEDULE_DELAY: "50",
    },
  });
  await home.mem().rememberAndWait("a text about tea");
  const [job] = await collector.waitFor(
    1,
    ({ name }) => name === "run memory jobs",
  );
  const [call, ...others] = await collector.waitFor(
    1,
    ({ kind, parentSpanId }) => kind === 3 && parentSpanId === job?.spanId,
  );
  assertEquals(others, []);
  assertEquals(traceparents, [`00-${call?.traceId}-${call?.spanId}-01`]);
  assertEquals(call?.traceId, job?.traceId);
});

Deno.test("relayer passes no trace on when tracing is off", async () => {
  const traceparents: (string | null)[] = [];
  await using model = modelServer(traceparents);
  await using home = await RelayerHome.open({
    env: {
      EMBEDDING_API_BASE: model.url,
      EMBEDDING_WIDTH: String(WIDTH),
      // These variables are for other programs, so errors in their values are
      // not reported.
      OTEL_EXPORTER_OTLP_TIMEOUT: "10s",
      OTEL_TRACES_SAMPLER: "always_on",
      TRACING_SAMPLING_RATE: "0.5",
    },
  });
  await home.mem().rememberAndWait("a text about tea");
  assertEquals(traceparents, [null]);
  const { stderr } = home.service;
  assert(!stderr.includes("OTEL_"), stderr);
  const notice =
    "TRACING_SAMPLING_RATE is set and has no effect: TRACING_ENABLED is not true";
  assert(stderr.includes(notice), stderr);
});

/** Starts an embedding endpoint that records the `traceparent` of each call. */
function modelServer(
  traceparents: (string | null)[],
): AsyncDisposable & { readonly url: string } {
  const server = Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    onListen() {},
  }, async (request) => {
    const { input } = await request.json() as { input: readonly string[] };
    if (!isProbe(input)) traceparents.push(request.headers.get("traceparent"));
    const embedding = [1, ...Array(WIDTH - 1).fill(0)];
    return Response.json({
      data: input.map((_, index) => ({ index, embedding })),
    });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}/v1`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
