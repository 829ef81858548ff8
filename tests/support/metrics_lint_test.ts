import { assertEquals } from "@std/assert";
import { metricsFaults } from "./metrics_lint.ts";

/** Returns the text of one metric with a value. */
function metric(name: string, kind: string, sample = name): string {
  return `# HELP ${name} What it is.\n# TYPE ${name} ${kind}\n${sample} 1\n`;
}

Deno.test("metricsFaults() finds nothing in metrics that keep to the rules", () => {
  const text =
    metric("a_calls_total", "counter", 'a_calls_total{x="le=\\"{"}') +
    metric("a_bytes", "gauge") +
    metric("a_seconds", "histogram", 'a_seconds_bucket{le="+Inf"}') +
    "a_seconds_sum 1\na_seconds_count 1\n" +
    metric("b_seconds", "summary", 'b_seconds{quantile="0.5"}') +
    metric("a_threads_1_calls_total", "counter");
  assertEquals(metricsFaults(text), []);
});

Deno.test("metricsFaults() finds what promtool finds", () => {
  // Each was given to promtool 2.42 as well, which found it too, but for those
  // without samples and those whose metric has no type or comes twice.
  const cases: readonly (readonly [string, string])[] = [
    ["# TYPE a_x gauge\na_x 1\n", "a_x: it has no help"],
    ["# TYPE a_x gauge\n", "a_x: it has no help"],
    ["# HELP a_x \n# TYPE a_x gauge\na_x 1\n", "a_x: it has no help"],
    [
      metric("a_calls", "counter"),
      "a_calls: its name has no _total at the end, and it is a counter",
    ],
    [
      metric("a_total", "gauge"),
      "a_total: its name has _total at the end, and it is no counter",
    ],
    [
      metric("a_count", "gauge"),
      "a_count: its name ends like a sample of a histogram",
    ],
    [metric("a_gauge", "gauge"), "a_gauge: its name has its type"],
    [metric("aB", "gauge"), "aB: its name has upper case"],
    [metric("a:b", "gauge"), "a:b: its name has a colon"],
    [metric("a_ms", "gauge"), "a_ms: its name has an abbreviated unit"],
    [
      metric("a_milliseconds", "gauge"),
      "a_milliseconds: its name has no base unit",
    ],
    [metric("a_x", "gauge", 'a_x{le="1"}'), "a_x: it has a label le"],
    [
      metric("a_x", "gauge", 'a_x{quantile="1"}'),
      "a_x: it has a label quantile",
    ],
    [metric("a_x", "gauge", 'a_x{userId="1"}'), "a_x: a label has upper case"],
    ["a_x 1\n", "a_x 1: its metric has no type"],
    [metric("a_x", "gauge") + metric("a_x", "gauge"), "a_x: it comes twice"],
  ];
  for (const [text, fault] of cases) assertEquals(metricsFaults(text), [fault]);
});
