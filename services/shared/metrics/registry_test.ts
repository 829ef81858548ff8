import { assertEquals, assertThrows } from "@std/assert";
import { MetricRegistry } from "./registry.ts";

Deno.test("MetricRegistry.text() tells counters by their labels, escaped", () => {
  const registry = new MetricRegistry();
  const answers = registry.counter({
    name: "x_answers_total",
    help: "Answers.",
    labels: ["route", "status"],
  });
  answers.of({ route: "GET /", status: "200" }).add();
  answers.of({ status: "200", route: "GET /" }).add(2);
  answers.of({ route: 'a"b\\c\nd', status: "404" }).add();
  assertEquals(registry.text().split("\n"), [
    "# HELP x_answers_total Answers.",
    "# TYPE x_answers_total counter",
    'x_answers_total{route="GET /",status="200"} 3',
    'x_answers_total{route="a\\"b\\\\c\\nd",status="404"} 1',
    "",
  ]);
});

Deno.test("MetricRegistry.text() tells histograms with sums up to each bound", () => {
  const registry = new MetricRegistry();
  const times = registry.histogram({
    name: "x_seconds",
    help: "Times.",
    labels: [],
    bounds: [0.5, 2],
  }).of({});
  for (const value of [0.25, 0.5, 1, 3]) times.note(value);
  assertEquals(registry.text().split("\n").slice(2, -1), [
    'x_seconds_bucket{le="0.5"} 2',
    'x_seconds_bucket{le="2"} 3',
    'x_seconds_bucket{le="+Inf"} 4',
    "x_seconds_sum 4.75",
    "x_seconds_count 4",
  ]);
});

Deno.test("MetricRegistry.text() tells a family of one series before it has counted", () => {
  const registry = new MetricRegistry();
  registry.counter({ name: "x_total", help: "X.", labels: [] });
  assertEquals(registry.text().split("\n").at(-2), "x_total 0");
});

Deno.test("MetricRegistry.read() asks for values with each text", () => {
  const registry = new MetricRegistry();
  let value = 1;
  registry.read({
    kind: "gauge",
    name: "x_depth",
    help: "Depth.",
    labels: ["queue"],
    read: () => [{ labels: { queue: "a" }, value: value++ }],
  });
  registry.text();
  assertEquals(registry.text().split("\n").at(-2), 'x_depth{queue="a"} 2');
});

Deno.test("MetricRegistry.forget() drops the series with a value of a label, in all families", () => {
  const registry = new MetricRegistry();
  const [first, second] = ["x_total", "y_total"].map((name) =>
    registry.counter({ name, help: "", labels: ["kind", "tenant"] })
  );
  for (const tenant of ["a", "b"]) {
    first?.of({ kind: "k", tenant }).add();
    second?.of({ kind: "a", tenant }).add();
  }
  registry.forget("tenant", "a");
  assertEquals(
    registry.text().split("\n").filter((line) => line.includes("{")),
    ['x_total{kind="k",tenant="b"} 1', 'y_total{kind="a",tenant="b"} 1'],
  );
});

Deno.test("MetricRegistry keeps a bounded number of series, and counts the others together", () => {
  const registry = new MetricRegistry();
  const family = registry.counter({
    name: "x_total",
    help: "",
    labels: ["id"],
  });
  for (let id = 0; id < 10_000; id++) family.of({ id: String(id) }).add();
  const lines = registry.text().split("\n").slice(1, -1);
  assertEquals(lines.length, 2_001);
  assertEquals(lines.at(-1), 'x_total{id="others"} 8000');
});

Deno.test("MetricRegistry refuses a second family of a name", () => {
  const registry = new MetricRegistry();
  registry.counter({ name: "x_total", help: "", labels: [] });
  assertThrows(
    () => registry.counter({ name: "x_total", help: "", labels: [] }),
    Error,
    'Cannot add the metric "x_total"',
  );
});
