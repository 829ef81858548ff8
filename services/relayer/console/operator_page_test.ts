import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RelayerMetrics } from "../metrics/relayer_metrics.ts";
import { ActivityLog } from "./activity_log.ts";
import { quantileOf, readSamples, sumOf } from "./metric_samples.ts";
import { answerOperator, operatorHtml } from "./operator_page.tsx";

const MEMBER = {
  ...{ id: "ins_a", epoch: 1, version: "1.2.3", address: "10.0.0.1:8000" },
  ...{ joinedAtMs: 0, seenAtMs: 0 },
};
const INSTANCES = {
  id: "ins_a",
  members: [MEMBER, { ...MEMBER, id: "ins_b", address: "10.0.0.2:8000" }],
  duties: [{ name: "sweep", holder: "ins_b", fence: 1 }],
};

function someMetrics(): RelayerMetrics {
  const metrics = new RelayerMetrics(new FakeClock(), {
    agentSessions: () => 0,
    index: () => ({ size: 7, bytes: 2_097_152, evictions: 3 }),
    renewal: () => undefined,
    questions: () => undefined,
    isWriteReady: () => true,
    instances: () => ({ ...INSTANCES, isFenced: false }),
  });
  const route = "POST /api/recall";
  for (const tookMs of [4, 4, 900]) {
    metrics.http.count({ route, status: 200, tookMs });
  }
  metrics.http.count({ route, status: 503, tookMs: 4 });
  return metrics;
}

Deno.test("readSamples() reads what the registry writes", () => {
  const samples = readSamples(someMetrics().registry.text());
  const name = "relayer_http_requests_total";
  assertEquals(sumOf(samples, name), 4);
  assertEquals(sumOf(samples, name, ({ status }) => status === "503"), 1);
  assertEquals(sumOf(samples, "relayer_index_bytes"), 2_097_152);
  assertEquals(sumOf(samples, "nothing"), 0);
  const times = "relayer_http_request_duration_seconds";
  assertEquals(quantileOf(samples, times, { share: 0.5 }), 0.005);
  assertEquals(quantileOf(samples, times, { share: 0.99 }), 1);
  assertEquals(quantileOf(samples, "nothing", { share: 0.5 }), undefined);
});

Deno.test("readSamples() reads labels with quotes, backslashes and braces", () => {
  const [sample] = readSamples('a_total{b="x\\"} \\\\ y",c="d"} 5').get(
    "a_total",
  ) ?? [];
  assertEquals(sample, { labels: { b: 'x"} \\ y', c: "d" }, value: 5 });
});

Deno.test("ActivityLog tells what each step added, for an hour", () => {
  const metrics = someMetrics();
  const log = new ActivityLog();
  log.note(metrics.registry.text());
  assertEquals(log.activity.requests.length, 360);
  assertEquals(log.activity.requests.at(-1), 0);
  metrics.http.count({ route: "GET /health", status: 500, tookMs: 1 });
  log.note(metrics.registry.text());
  assertEquals(log.activity.requests.at(-1), 1);
  assertEquals(log.activity.failures.at(-1), 1);
  for (let steps = 0; steps < 360; steps++) log.note(metrics.registry.text());
  assertEquals(log.activity.requests.length, 360);
  assertEquals(log.activity.requests.includes(1), false);
});

Deno.test("operatorHtml() shows counts, quantiles and instances", () => {
  const html = operatorHtml({
    metrics: someMetrics().registry.text(),
    activity: new ActivityLog().activity,
    instances: INSTANCES,
    version: "1.2.3",
  });
  for (
    const text of [
      ...["POST /api/recall", "5 ms", "1 s", "7 memories in 2.0 MiB"],
      ...["ins_a (this one)", "10.0.0.2:8000", "sweep"],
    ]
  ) assertStringIncludes(html, text);
});

Deno.test("answerOperator() serves the page and its parts to GET alone", async () => {
  const ask = (target: string, method = "GET") =>
    answerOperator(
      { method, target, headers: { get: () => undefined, all: () => [] } },
      () =>
        Promise.resolve({
          metrics: "",
          activity: new ActivityLog().activity,
          instances: undefined,
          version: "1.2.3",
        }),
    );
  const { status, body } = await ask("/console");
  assertEquals(status, 200);
  const [, style = ""] = /href="([^"]+\.css)"/.exec(String(body)) ?? [];
  assertEquals((await ask(style)).status, 200);
  assertEquals((await ask("/console/x")).status, 404);
  assertEquals((await ask("/console", "POST")).status, 405);
  assert(!String(body).includes("undefined"));
});
