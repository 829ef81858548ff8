import { assert, assertEquals, assertMatch } from "@std/assert";
import { runTasks, startTasks } from "../support/tasks_process.ts";
import { TraceCollector } from "../support/trace_collector.ts";
import { waitUntil } from "../support/wait_until.ts";
import { DataFolder } from "./data_folder.ts";
import { PushReceiver } from "./push_receiver.ts";
import type { TaskJson } from "./tasks_client.ts";
import { makeTenant } from "./tenant_client.ts";

const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT_ID = "00f067aa0ba902b7";

for (const protocol of ["http", "grpc"]) {
  Deno.test(`tasks sends spans of requests and deliveries over ${protocol}, and workers get the trace`, async () => {
    await using collector = protocol === "http"
      ? TraceCollector.http()
      : await TraceCollector.grpc();
    await using folder = await DataFolder.make();
    await using receiver = new PushReceiver((_, index) =>
      index === 0
        ? Response.json({ sent: true })
        : new Response("secret words", { status: 400 })
    );
    await using service = await startTasks({
      dataDir: folder.path,
      env: {
        TRACING_ENABLED: "true",
        TRACING_EXPORTER_PROTOCOL: protocol,
        OTEL_EXPORTER_OTLP_ENDPOINT: `http://${collector.address}`,
        OTEL_BSP_SCHEDULE_DELAY: "50",
        TRACING_SERVICE_NAMESPACE: "back",
      },
    });
    using client = await makeTenant(service);
    await client.expect(201, ["POST", "/api/v1/workers", {
      name: "hook",
      url: receiver.url,
    }]);
    const made = await client.call<TaskJson>("POST", "/api/v1/tasks", {
      body: { worker: "hook", data: { greet: "secret data" } },
      headers: { traceparent: `00-${TRACE_ID}-${PARENT_ID}-01` },
    });
    assertEquals(made.status, 201);
    await client.call("GET", `/api/v1/tasks/${made.json.id}?secret=query`, {
      headers: { traceparent: `00-${TRACE_ID}-${PARENT_ID}-00` },
    });
    await waitUntil(() => receiver.calls.length === 1, { what: "a call" });
    await client.expect(201, ["POST", "/api/v1/tasks", { worker: "hook" }]);
    await waitUntil(() => receiver.calls.length === 2, { what: "two calls" });
    assertEquals(await service.stop(), 0, service.stderr);

    const creation = collector.spans.find(({ parentSpanId }) =>
      parentSpanId === PARENT_ID
    );
    assertEquals(creation?.name, "POST /v1/tasks");
    assertEquals(creation?.kind, 2);
    assertEquals(creation?.traceId, TRACE_ID);
    assertEquals(creation?.attributes, {
      "http.request.method": "POST",
      "http.route": "/v1/tasks",
      "http.response.status_code": 201,
    });
    assertEquals(creation?.resource["service.name"], "tasks");
    assertEquals(creation?.resource["service.namespace"], "back");
    // The other request's caller does not sample its trace.
    assert(!collector.spans.some(({ name }) => name.startsWith("GET")));

    const [good, bad] = collector.spans.filter(({ name }) =>
      name === "deliver task"
    );
    assertEquals([good?.kind, good?.parentSpanId], [3, ""]);
    assertEquals(good?.attributes, {
      "task.id": made.json.id,
      "task.run": 0,
      "task.outcome": "complete",
      "http.response.status_code": 200,
    });
    assertEquals([good?.status, bad?.status], [0, 2]);
    assertEquals(bad?.attributes["http.response.status_code"], 400);
    const sent = receiver.calls.map(({ headers }) => headers.traceparent);
    assertEquals(
      sent,
      [good, bad].map((span) => `00-${span?.traceId}-${span?.spanId}-01`),
    );
    assertEquals(
      JSON.stringify(collector.spans, noBigints).includes("secret"),
      false,
    );
  });
}

Deno.test("tasks records nothing and hands out traces that are not sampled when the rate is 0", async () => {
  await using collector = TraceCollector.http();
  await using folder = await DataFolder.make();
  await using receiver = new PushReceiver(() => Response.json({}));
  await using service = await startTasks({
    dataDir: folder.path,
    env: {
      TRACING_ENABLED: "true",
      TRACING_SAMPLING_RATE: "0",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://${collector.address}`,
      OTEL_BSP_SCHEDULE_DELAY: "50",
    },
  });
  using client = await makeTenant(service);
  await client.expect(201, ["POST", "/api/v1/workers", {
    name: "hook",
    url: receiver.url,
  }]);
  await client.expect(201, ["POST", "/api/v1/tasks", { worker: "hook" }]);
  await waitUntil(() => receiver.calls.length === 1, { what: "a call" });
  assertEquals(await service.stop(), 0);
  assertEquals(collector.spans, []);
  const sent = receiver.calls[0]?.headers.traceparent ?? "";
  assertMatch(sent, /^00-[\da-f]{32}-[\da-f]{16}-00$/);
});

Deno.test("tasks refuses tracing settings that cannot be followed", async () => {
  await using folder = await DataFolder.make();
  const { code, stderr } = await runTasks({
    dataDir: folder.path,
    env: { TRACING_ENABLED: "true", OTEL_EXPORTER_OTLP_ENDPOINT: "nowhere" },
  });
  assertEquals(code, 1);
  assert(stderr.includes("OTEL_EXPORTER_OTLP_ENDPOINT is not an http"), stderr);
});

function noBigints(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}
