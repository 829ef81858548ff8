import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { gzipSync } from "node:zlib";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { fetchAnswer } from "../../shared/http1/testing/test_server.ts";
import { ActivityBench } from "../activity/testing/activity_bench.ts";
import { Explainer } from "../api/explain_page.ts";
import { createRouter } from "../api/router.ts";
import type { CandidateReport } from "../candidate/comparison.ts";
import { NEVER_PAUSING } from "../../shared/slices.ts";
import { StatsRegistry } from "../stats/registry.ts";
import { consoleRoutes } from "./console_routes.ts";
import type { ConsoleSource } from "./page.ts";

const RULES = `domain: d
descriptors:
  - key: user
    detailed_metric: true
    rate_limit: {unit: hour, requests_per_unit: 1}
    rate_limits:
      - {unit: day, requests_per_unit: 9, name: daily, shadow_mode: true}
  - key: ip
    descriptors:
      - {key: path, value: /a/*, rate_limit: {unit: minute, requests_per_unit: 5}}
  - {key: "<b>", value: "<script>", rate_limit: {unlimited: true}}
`;

/** A console that shows a bench. */
class TestConsole {
  readonly bench: ActivityBench;
  readonly source: ConsoleSource;

  constructor(
    bench = new ActivityBench(RULES),
    more: Partial<ConsoleSource> = {},
  ) {
    this.bench = bench;
    const { decider, store } = bench.bench;
    const document = { name: "0.yaml", text: RULES };
    this.source = {
      reports: bench.reports,
      registry: bench.registry,
      candidate: () => undefined,
      explainers: {
        live: new Explainer({
          snapshot: () => decider.snapshot,
          store,
          rules: {
            keyFormat: "escaped",
            nearLimitRatio: 0.8,
            shadowMode: false,
            quotaMode: false,
            stopWhenOver: false,
          },
          clock: bench.clock,
        }),
        candidate: undefined,
      },
      faults: () => [],
      store: "in the memory of this process",
      documents: { inForce: () => [document], lastRead: () => [document] },
      ...more,
    };
  }

  ask(path: string, headers: Record<string, string> = {}): Promise<Response> {
    const routes = consoleRoutes(this.source, new FakeClock());
    const logger = new RecordingLogger();
    const handler = createRouter({ routes, logger });
    return fetchAnswer({ handler }, `/console${path}`, { headers });
  }

  async read(path: string): Promise<string> {
    return await (await this.ask(path)).text();
  }
}

/** The text of a page, without markup. */
function textOf(html: string): string {
  return html.slice(html.indexOf("<main"))
    .replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");
}

Deno.test("the console shows the rules as a tree, those over their limits first, with figures of their branches", async () => {
  const page = new TestConsole();
  page.bench.ask([["ip", "::1"], ["path", "/a/b"]], 3);
  page.bench.ask([["user", "ann"]], 4);
  await page.bench.activity.sample();
  const text = textOf(await page.read(""));
  assertMatch(text, /11 hits in the last minute 3 over limit/);
  assertMatch(
    text,
    /d 4 rules .*user 1 per HOUR .*user · daily 9 per DAY, in shadow mode .*ip 1 rule .*path_\/a\/\* 5 per MINUTE/,
  );
  const byName = textOf(await page.read("?order=name"));
  assertMatch(byName, /&lt;b>_&lt;script> unlimited .*ip 1 rule .*user 1 per/);
  const found = textOf(await page.read("?q=PATH"));
  assertMatch(found, /1 rule Rules Rule .*d\.ip\.path_\/a\/\*/);
  assertStringIncludes(await page.read("?q=nothing"), "No rule has that");
});

Deno.test("the console lets no text of rules, callers and queries be markup, and is safe to load", async () => {
  const page = new TestConsole(new ActivityBench(RULES), {
    faults: () => ["<b>no</b>"],
  });
  page.bench.ask([["user", "<i>"]], 4);
  page.bench.timeline.watch(new RecordingLogger(), "store")
    .error("<b>text</b>", { reason: "<b>x</b>" });
  await page.bench.activity.sample();
  const hostile = encodeURIComponent('"><b>');
  for (
    const path of [
      "",
      `?q=${hostile}`,
      `?at=d&at=${hostile}`,
      `?rule=${hostile}`,
      `?rule=d.user&requests=${hostile}&window=${hostile}`,
      "?rule=d.%3Cb%3E_%3Cscript%3E",
      "/keys",
      `/explain?domain=${hostile}&descriptors=${hostile}`,
      `/explain?domain=d&descriptors=user%3D${hostile}`,
      "/candidate",
      `/timeline?area=${hostile}`,
      "/timeline",
      `/statistics?filter=${hostile}`,
      "/statistics",
    ]
  ) {
    const answer = await page.ask(path);
    const html = await answer.text();
    assert(!/<b>|<i>\W|<script>|style=/.test(html), path);
    assertMatch(
      answer.headers.get("content-security-policy") ?? "",
      /^default-src 'none'; style-src 'self'; script-src 'self'/,
    );
    assertEquals(answer.headers.get("cache-control"), "no-store");
  }
});

Deno.test("the console shows a rule with its plots, values, keys, text and the YAML for another limit", async () => {
  const page = new TestConsole();
  page.bench.ask([["user", "ann"]], 4);
  await page.bench.activity.sample();
  const html = await page.read("?rule=d.user");
  const text = textOf(html);
  assertMatch(text, /Over limit: 3 in the last minute, 3 in the last hour/);
  assertMatch(html, /aria-label="Hits in each minute.*: at most 4, now 4"/);
  assertMatch(text, /user=ann 3\.0/);
  assertMatch(text, /By value.* user_ann 4 3 4/);
  assertMatch(
    text,
    /0\.yaml, from line 3 Copy - key: user detailed_metric: true/,
  );
  assertMatch(html, /<a href="\/console\?rule=d.user.daily">/);
  assertMatch(html, /name="descriptors" value="user="/);
  const changed = textOf(
    await page.read(
      "?rule=d.user.daily&requests=50&window=15m&algorithm=token_bucket&burst=99",
    ),
  );
  assertMatch(
    changed,
    /requests_per_unit: 1 rate_limits: - name: daily window: 15m requests_per_unit: 50 algorithm: token_bucket burst: 99/,
  );
  for (
    const [query, fault] of [
      ["requests=x&window=day", "Requests are a whole number"],
      ["requests=5&window=fortnight", "A window is a unit"],
      ["requests=5&window=day&algorithm=guess", "no such algorithm"],
      ["requests=9999999999&window=day", "requests_per_unit"],
    ]
  ) {
    assertStringIncludes(await page.read(`?rule=d.user&${query}`), fault!);
  }
  assertEquals((await page.ask("?rule=d.none")).status, 404);
});

Deno.test("the console explains a request, and tells what is wrong with one", async () => {
  const page = new TestConsole();
  page.bench.ask([["user", "ann"]], 2);
  const path = "/explain?domain=d&descriptors=user%3Dann&descriptors=";
  const text = textOf(await page.read(path));
  assertMatch(text, /The answer would be OVER_LIMIT/);
  assertMatch(
    text,
    /Limit 1 per HOUR Used 2 of 1 .* Limit \(daily\) 9 per DAY/,
  );
  const bad = await page.ask("/explain?domain=d&descriptors=user");
  assertEquals(bad.status, 400);
  assertStringIncludes(await bad.text(), "is not of the form key=value");
  assertMatch(await page.read("/explain"), /name="descriptors" value=""/);
});

Deno.test("the console shows what files on disk are refused for, until they are loaded", async () => {
  const page = new TestConsole();
  const log = page.bench.timeline.watch(new RecordingLogger(), "rules");
  log.info("Loaded configuration", { rules: 4 });
  assert(!(await page.read("")).includes("Cannot load"));
  log.error("Cannot load configuration: 0.yaml:5: bad unit at x; they stay");
  const text = textOf(await page.read(""));
  assertMatch(text, /Cannot load configuration: 0\.yaml:5: bad unit/);
  assertMatch(
    text,
    /0\.yaml, line 5 Copy .*3 \| - key: user .*> 5 \| rate_limit/,
  );
  log.info("Loaded configuration", { rules: 4 });
  assert(!(await page.read("")).includes("Cannot load"));
  const events = textOf(await page.read("/timeline?level=error"));
  assertMatch(events, /error rules Cannot load configuration/);
  assert(!events.includes("Loaded configuration"));
});

Deno.test("the console shows how a candidate differs, with examples that lead to their explanation", async () => {
  const report: CandidateReport = {
    snapshot: new ActivityBench(RULES).bench.decider.snapshot,
    sinceSeconds: 1_800_000_000,
    totals: {
      ...{ compared: 5, same: 2, would_refuse: 3, would_allow: 0 },
      ...{ other_limit: 0, other_rule: 0, too_early: 0, requests_failed: 0 },
      ...{
        requests_compared: 5,
        requests_would_refuse: 3,
        requests_dropped: 0,
      },
      requests_would_allow: 0,
    },
    differences: [{
      kind: "would_refuse",
      ...{ live: "d.user", liveLimit: "1 per HOUR" },
      ...{ candidate: "d.user", candidateLimit: "0 per HOUR", count: 3 },
      ...{ firstSeconds: 1_800_000_001, lastSeconds: 1_800_000_002 },
      example: '"user=ann"',
    }],
    otherDifferences: 0,
  };
  const page = new TestConsole(undefined, { candidate: () => report });
  const html = await page.read("/candidate");
  assertMatch(
    textOf(html),
    /would refuse 3 d\.user 1 per HOUR d\.user 0 per HOUR .*user=ann/,
  );
  assertStringIncludes(
    html,
    "/console/explain?domain=d&amp;descriptors=user%3Dann&amp;rules=candidate",
  );
  assertStringIncludes(
    await page.read("/candidate?kind=other_rule"),
    "no such differences",
  );
  const none = new TestConsole();
  assertStringIncludes(await none.read("/candidate"), "CANDIDATE_CONFIG_DIR");
});

Deno.test("the console says why it has nothing to show", async () => {
  const page = new TestConsole(
    new ActivityBench(undefined, { topKeys: false }),
  );
  assertStringIncludes(await page.read(""), "No rules are loaded yet");
  assertStringIncludes(await page.read("/keys"), "TOP_KEYS is false");
  assertEquals((await page.ask("?rule=d.user")).status, 404);
});

/** A console with two domains of many rules, all busy: one flat, one deep. */
async function openBusyConsole(rulesOfDomain: number): Promise<TestConsole> {
  const domains = [1, 40].map((groups) =>
    `domain: domain_${groups}\ndescriptors:\n` +
    Array.from(
      { length: groups },
      (_, group) =>
        `  - key: group\n    value: g${group}\n    descriptors:\n` +
        Array.from({ length: rulesOfDomain / groups }, (_, rule) =>
          `      - {key: path, value: /api/v1/resource/${group}/${rule}, ` +
          "rate_limit: {unit: minute, requests_per_unit: 1}}\n").join(""),
    ).join(
      "",
    )
  );
  const registry = new StatsRegistry({ maxNames: 1_000_000 });
  const page = new TestConsole(new ActivityBench(domains, { registry }));
  await page.bench.bench.decider.showStatistics(NEVER_PAUSING);
  registry.watch((cell) => {
    const isOver = cell.name.endsWith(".total_hits") ||
      cell.name.endsWith(".over_limit");
    if (cell.kind === "counter" && isOver) cell.add(12_345);
  });
  await page.bench.activity.sample();
  return page;
}

Deno.test("pages of ten thousand busy rules are small", async () => {
  const page = await openBusyConsole(5_000);
  const busy = "at=domain_1&at=group_g0&from=50";
  for (const query of ["", "?order=name", `?${busy}`, "?q=resource"]) {
    const { length } = gzipSync(await page.read(query));
    assert(length < 15_000, `${query}: ${length}`);
  }
  assertStringIncludes(textOf(await page.read("")), "123,450,000 hits");
});

Deno.test("a single domain of many rules is shown a level at a time", async () => {
  const groups = Array.from(
    { length: 60 },
    (_, group) =>
      `  - key: group${group}\n    descriptors:\n` +
      Array.from(
        { length: 10 },
        (_, rule) =>
          `      - {key: path${rule}, rate_limit: {unit: day, requests_per_unit: 1}}\n`,
      )
        .join(""),
  ).join("");
  const yaml = `domain: d\ndescriptors:\n${groups}`;
  const page = new TestConsole(new ActivityBench(yaml));
  const text = textOf(await page.read("?order=file"));
  assertMatch(text, /All rules \/ d .*group0 10 rules .*group49 10 rules/);
  assertMatch(text, /1 to 50 of 60 Next page/);
  const last = await page.read("?at=d&order=file&from=50");
  assertMatch(textOf(last), /group59 10 rules .*51 to 60 of 60/);
});

Deno.test("the tree of rules leads to each of them", async () => {
  const page = await openBusyConsole(480);
  const seen = new Set<string>();
  const rules = new Set<string>();
  const wait = ["?order=name"];
  for (let path = wait.pop(); path !== undefined; path = wait.pop()) {
    if (seen.has(path)) continue;
    seen.add(path);
    for (const [, href = ""] of (await page.read(path)).matchAll(LINK)) {
      const query = href.replaceAll("&amp;", "&");
      if (query.startsWith("?rule=")) rules.add(query);
      else if (!query.includes("order=file")) wait.push(query);
    }
  }
  assertEquals(rules.size, 960);
});

const LINK = /href="\/console(\?[^"#]*)"/g;

Deno.test("the console serves its style and script for good, by names of their contents", async () => {
  const page = new TestConsole();
  const html = await page.read("");
  const names = [...html.matchAll(/"\/console(\/assets\/[^"]+)"/g)]
    .map(([, name]) => name!);
  assertEquals(names.length, 2);
  for (const name of names) {
    const answer = await page.ask(name, { "accept-encoding": "gzip" });
    assertEquals(answer.status, 200);
    assertStringIncludes(answer.headers.get("cache-control")!, "immutable");
    await answer.body?.cancel();
  }
  const none = await page.ask("/assets/console-0.css");
  assertEquals(none.status, 404);
  await none.body?.cancel();
});
