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

Deno.test("GET /metrics tells what was answered, without paths of strangers", async () => {
  const { call } = openTestRelayer();
  await call("GET", "/health", { as: "nobody" });
  await call("GET", "/secret-path", { as: "nobody" });
  const answer = await call("GET", "/metrics", { as: "nobody" });
  assertEquals(answer.status, 200);
  assertEquals(
    answer.headers["content-type"],
    "text/plain; version=0.0.4; charset=utf-8",
  );
  assertStringIncludes(
    answer.text,
    'relayer_answers_total{route="GET /health",status="200"} 1',
  );
  assertEquals(answer.text.includes("secret-path"), false);
});
