import { assertEquals, assertStringIncludes } from "@std/assert";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { ActivityBench } from "../activity/testing/activity_bench.ts";
import { activityPage, keysPage, timelinePage } from "./activity_pages.ts";

const RULES = `domain: d
descriptors:
  - key: user
    detailed_metric: true
    rate_limit: {unit: hour, requests_per_unit: 1}
  - {key: ip, rate_limit: {unit: hour, requests_per_unit: 9}}
`;

async function world(): Promise<ActivityBench> {
  const bench = new ActivityBench(RULES);
  bench.ask([["ip", "::1"]], 5);
  bench.ask([["user", "ann"]], 3);
  await bench.activity.sample();
  return bench;
}

Deno.test("activityPage() lists rules with hits, those over their limits first", async () => {
  const { reports } = await world();
  const page = await activityPage(new URLSearchParams(), reports);
  assertEquals(
    page.text().split("\n").map((line) => line.split("; last hour")[0]),
    [
      "d.user: last minute 3 hits, 2 over, 1 near, 0 in shadow",
      "d.ip: last minute 5 hits, 0 over, 0 near, 0 in shadow",
      "",
    ],
  );
  const some = await activityPage(new URLSearchParams("filter=ip"), reports);
  const { rules } = some.json?.() as { rules: { rule: string }[] };
  assertEquals(rules.map(({ rule }) => rule), ["d.ip"]);
});

Deno.test("activityPage() shows a rule with its history, values and keys", async () => {
  const { reports } = await world();
  const page = await activityPage(new URLSearchParams("rule=d.user"), reports);
  const json = page.json?.() as Record<string, unknown>;
  assertEquals([json["file"], json["line"]], ["0.yaml", 3]);
  assertEquals(json["keys"], [{
    rule: "d.user",
    key: "d_user_ann_hour_",
    entries: [["user", "ann"]],
    perMinute: 2,
    maxError: 0,
  }]);
  assertStringIncludes(page.text(), '"user=ann": 2.0 a minute\n');
  assertStringIncludes(page.text(), "d.user_ann: last minute 3 hits");
  const none = await activityPage(new URLSearchParams("rule=x"), reports);
  assertEquals(none.status, 404);
});

Deno.test("keysPage() and timelinePage() show keys and events as text and JSON", async () => {
  const { reports, timeline } = await world();
  timeline.watch(new RecordingLogger(), "store").warn("redis is away", {
    reason: "a\nb",
  });
  assertEquals(
    (await keysPage(reports)).text(),
    'd.user: "user=ann": 2.0 a minute\n',
  );
  const page = timelinePage(reports);
  assertEquals(
    page.text(),
    '2026-11-30T12:00:00.000Z warning store: redis is away reason="a\\nb"\n',
  );
  assertEquals(page.json?.(), {
    events: [{
      time: "2026-11-30T12:00:00.000Z",
      number: 1,
      area: "store",
      level: "warning",
      text: "redis is away",
      fields: { reason: "a\nb" },
      times: 1,
    }],
  });
});

Deno.test("activityPage() and keysPage() say why there is nothing to show", async () => {
  const { reports } = new ActivityBench(undefined, { topKeys: false });
  assertEquals(
    (await activityPage(new URLSearchParams(), reports)).status,
    503,
  );
  assertStringIncludes((await keysPage(reports)).text(), "TOP_KEYS");
});
