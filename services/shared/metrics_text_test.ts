import { assertEquals } from "@std/assert";
import { labelName, metricName, MetricsText } from "./metrics_text.ts";

Deno.test("MetricsText writes families with help, labels and values", () => {
  const text = new MetricsText();
  text.family("calls_total", "counter", "Calls.\nBy \\ kind.");
  text.sample([], 3);
  text.sample([["kind", 'a "b"\n\\c'], ["n", ""]], 0.5);
  text.family("size", "gauge", "");
  text.sample([], Infinity);
  assertEquals(
    text.text(),
    "# HELP calls_total Calls.\\nBy \\\\ kind.\n" +
      "# TYPE calls_total counter\n" +
      "calls_total 3\n" +
      'calls_total{kind="a \\"b\\"\\n\\\\c",n=""} 0.5\n' +
      "# TYPE size gauge\n" +
      "size +Inf\n",
  );
});

Deno.test("MetricsText adds the buckets of a histogram up", () => {
  const text = new MetricsText();
  text.family("took_seconds", "histogram", "");
  text.histogram([["m", "x"]], {
    bounds: [0.1, 1],
    counts: [2, 0, 5],
    sum: 7.5,
  });
  assertEquals(
    text.text(),
    "# TYPE took_seconds histogram\n" +
      'took_seconds_bucket{m="x",le="0.1"} 2\n' +
      'took_seconds_bucket{m="x",le="1"} 2\n' +
      'took_seconds_bucket{m="x",le="+Inf"} 7\n' +
      'took_seconds_sum{m="x"} 7.5\n' +
      'took_seconds_count{m="x"} 7\n',
  );
});

Deno.test("MetricsText writes the quantiles of a summary", () => {
  const text = new MetricsText();
  text.family("took_seconds", "summary", "");
  text.summary([], { quantiles: [[0.5, 1], [0.99, NaN]], sum: 2, count: 1 });
  assertEquals(
    text.text(),
    "# TYPE took_seconds summary\n" +
      'took_seconds{quantile="0.5"} 1\n' +
      'took_seconds{quantile="0.99"} NaN\n' +
      "took_seconds_sum 2\n" +
      "took_seconds_count 1\n",
  );
});

Deno.test("metricName() and labelName() make any text valid", () => {
  assertEquals(metricName("ratelimit.a-b:c_1"), "ratelimit_a_b:c_1");
  assertEquals(metricName("5xx"), "_5xx");
  assertEquals(metricName(""), "_");
  assertEquals(labelName("a:b.c"), "a_b_c");
  assertEquals(labelName("9"), "_9");
});
