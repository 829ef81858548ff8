import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { RequestMetrics } from "./request_metrics.ts";
import { openTestRelayer } from "./testing/test_relayer.ts";

const GAUGES = { memories: 3, isWriteReady: true };

Deno.test("RequestMetrics.text() counts answers by route and status", () => {
  const metrics = new RequestMetrics();
  const route = "POST /api/recall";
  metrics.count({ route, status: 200, tookMs: 4 });
  metrics.count({ route, status: 200, tookMs: 30 });
  metrics.count({ route, status: 401, tookMs: 100_000 });
  const text = metrics.text(GAUGES);
  for (
    const line of [
      "relayer_memories 3",
      "relayer_write_ready 1",
      'relayer_answers_total{route="POST /api/recall",status="200"} 2',
      'relayer_answers_total{route="POST /api/recall",status="401"} 1',
      'relayer_answer_seconds_bucket{route="POST /api/recall",le="0.005"} 1',
      'relayer_answer_seconds_bucket{route="POST /api/recall",le="0.05"} 2',
      'relayer_answer_seconds_bucket{route="POST /api/recall",le="30"} 2',
      'relayer_answer_seconds_bucket{route="POST /api/recall",le="+Inf"} 3',
      'relayer_answer_seconds_count{route="POST /api/recall"} 3',
    ]
  ) {
    assertStringIncludes(text, `${line}\n`);
  }
});

Deno.test("RequestMetrics.text() is lines of the format and nothing else", () => {
  const metrics = new RequestMetrics();
  metrics.count({ route: "GET /health", status: 200, tookMs: 1.5 });
  const LINE = /^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[^}]*\})? [0-9.e+-]+)$/;
  const lines = metrics.text(GAUGES).trimEnd().split("\n");
  for (const line of lines) assertMatch(line, LINE);
});

Deno.test("RequestMetrics counts what the handler answered, without paths of strangers", async () => {
  const metrics = new RequestMetrics();
  const { call } = openTestRelayer({ metrics });
  await call("GET", "/health", { as: "nobody" });
  await call("GET", "/secret-path", { as: "nobody" });
  const text = metrics.text(GAUGES);
  assertStringIncludes(
    text,
    'relayer_answers_total{route="GET /health",status="200"} 1',
  );
  assertEquals(text.includes("secret-path"), false);
});

Deno.test("GET /metrics is not there for those who reach the relayer's own port", async () => {
  const { call } = openTestRelayer();
  for (const as of ["nobody", "ann"] as const) {
    const answer = await call("GET", "/metrics", { as });
    assertEquals([as, answer.status], [as, 404]);
  }
});
