import { assert, assertEquals } from "@std/assert";
import { parser } from "npm:@prometheus-io/lezer-promql@^0.315.0";
import { parse as parseYaml } from "@std/yaml";
import { defaultMapping } from "../services/ratelimit/stats/default_mapping.ts";
import { KeyServerMetrics } from "../services/keyserver/key_server_metrics.ts";
import { LedgerMetrics } from "../services/relayer/metrics/ledger_metrics.ts";
import { RelayerMetrics } from "../services/relayer/metrics/relayer_metrics.ts";
import {
  addCallsInFlight,
  addInbox,
  meteredCaller,
  TasksMetrics,
} from "../services/tasks/metrics/tasks_metrics.ts";
import { addInstances } from "../services/shared/metrics/instance_metrics.ts";
import type {
  FamilyFacts,
  MetricRegistry,
} from "../services/shared/metrics/registry.ts";
import { FakeClock } from "./support/fake_clock.ts";
import { metricsFaults } from "./support/metrics_lint.ts";
import { RecordingLogger } from "./support/recording_logger.ts";

const FOLDER = new URL("../docs/monitoring/", import.meta.url);

/** Labels that Prometheus adds to every series. */
const TARGET_LABELS = ["job", "instance"];

/**
 * Statistics named in the specification, and those of `outageTally`, from which
 * the metric names of ratelimit are derived.
 */
const RATELIMIT_STATISTICS = [
  ["ratelimit.service.rate_limit.d.k_v.k2.near_limit", "counter"],
  ["ratelimit.service.rate_limit.d.k_v.k2.over_limit", "counter"],
  ["ratelimit.service.rate_limit.d.k_v.k2.total_hits", "counter"],
  ["ratelimit.service.rate_limit.d.k_v.k2.within_limit", "counter"],
  ["ratelimit.service.rate_limit.d.k_v.k2.shadow_mode", "counter"],
  ["ratelimit.service.rate_limit.d.domain_not_found", "counter"],
  ["ratelimit.service.domain_not_found", "counter"],
  ["ratelimit.service.call.should_rate_limit.service_error", "counter"],
  ["ratelimit.service.config_load_success", "counter"],
  ["ratelimit.service.config_load_error", "counter"],
  ["ratelimit.redis_pool.breakers_open", "gauge"],
  ["ratelimit.redis_per_second_pool.breakers_open", "gauge"],
  ["ratelimit.memcache.breakers_open", "gauge"],
  ["ratelimit_server.ShouldRateLimit.total_requests", "counter"],
  ["ratelimit_server.ShouldRateLimit.response_time", "timer"],
] as const;

/** Two instances, of which this one has a duty. */
const INSTANCES = {
  id: "boot_1",
  members: [],
  duties: [{ name: "sweep", holder: "boot_1" }],
  isFenced: false,
};

/** How a database may be. */
const HEALTH = {
  oldestTransactionSeconds: 0,
  horizonTransactions: 0,
  tables: [{
    ...{ table: "tasks", liveRows: 1, deadRows: 0 },
    ...{ rowBytes: 8_192, indexBytes: 16_384 },
  }],
  standbys: { synchronous: 1, asynchronous: 0 },
  standbyLagBytes: 0,
};

/** Returns the metrics of the services, but of ratelimit. */
function registries(): Readonly<Record<string, MetricRegistry>> {
  const clock = new FakeClock();
  const tasks = new TasksMetrics({
    store: { tenantQueues: () => Promise.resolve([]) },
    clock,
    logger: new RecordingLogger(),
  });
  const call = { outcome: "ok", waitedMs: 0, tookMs: 1 } as const;
  tasks.database.noteCall(call);
  tasks.database.note({
    ...HEALTH,
    unfoldedRows: 0,
    floorMisses: { count: 0, gapMs: 0 },
  });
  addCallsInFlight(tasks.registry, () => 0);
  addInbox(tasks.registry, () => undefined);
  addInstances(tasks.registry, {
    service: "tasks",
    instances: () => INSTANCES,
  });
  meteredCaller(
    { call: () => Promise.reject(new Error("Cannot call: it is a test")) },
    { registry: tasks.registry, clock },
  );
  const relayer = new RelayerMetrics(clock, {
    agentSessions: () => 0,
    index: () => ({ size: 0, bytes: 0, evictions: 0 }),
    renewal: () => undefined,
    questions: () => ({ kept: 0, shared: 0, asked: 0 }),
    isWriteReady: () => true,
    instances: () => INSTANCES,
  });
  relayer.database.noteCall(call);
  relayer.database.note({ ...HEALTH, leasedJobs: new Map([["boot_1", 2]]) });
  const keyServer = new KeyServerMetrics(clock);
  const ledger = new LedgerMetrics(clock, {
    entries: () => 0,
    accounts: () => 0,
    isWriteReady: () => true,
  });
  return {
    tasks: tasks.registry,
    relayer: relayer.registry,
    keyserver: keyServer.registry,
    ledger: ledger.registry,
  };
}

/** Returns the names of all services' samples, each with its labels. */
function knownSamples(): ReadonlyMap<string, ReadonlySet<string>> {
  const mapping = defaultMapping({
    isResponseTimeMs: false,
    names: "reference",
  });
  const ratelimit = RATELIMIT_STATISTICS.flatMap(([name, kind]) => {
    const target = mapping({ name, kind });
    return target === undefined ? [] : [{
      name: target.name,
      kind: kind === "timer" ? "histogram" : kind,
      labels: target.labels.map(([label]) => label),
    }];
  });
  const families: readonly FamilyFacts[] = [
    ...Object.values(registries()).flatMap((registry) => registry.facts()),
    ...ratelimit as readonly FamilyFacts[],
  ];
  const samples = new Map<string, ReadonlySet<string>>();
  for (const { name, kind, labels } of families) {
    const own = [...labels, ...TARGET_LABELS];
    if (kind !== "histogram") samples.set(name, new Set(own));
    else {
      samples.set(`${name}_bucket`, new Set([...own, "le"]));
      samples.set(`${name}_sum`, new Set(own));
      samples.set(`${name}_count`, new Set(own));
    }
  }
  return samples;
}

/** Returns what is wrong with a PromQL expression. */
function findFaults(
  expression: string,
  samples: ReadonlyMap<string, ReadonlySet<string>>,
): readonly string[] {
  const text = expression.replaceAll("$__rate_interval", "5m");
  const faults: string[] = [];
  const names: string[] = [];
  const labels: string[] = [];
  parser.parse(text).iterate({
    enter: ({ type, from, to }) => {
      const part = text.slice(from, to);
      if (type.isError) faults.push(`at ${from}: it cannot be read`);
      if (type.name === "Identifier") names.push(part);
      if (type.name === "LabelName") labels.push(part);
    },
  });
  for (const name of names) {
    if (!samples.has(name)) faults.push(`there is no metric ${name}`);
  }
  for (const label of labels) {
    const isThere = names.some((name) => samples.get(name)?.has(label));
    if (!isThere) faults.push(`no metric of it has a label ${label}`);
  }
  if (names.length === 0) faults.push("it names no metric");
  return faults.map((fault) => `${expression}: ${fault}`);
}

/** A metric, with its selector where it has one. */
const SELECTOR = /\b([a-z_]+[a-z])\b(?:\{([^}]*)\})?/g;

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: {
    readonly x: number;
    readonly y: number;
    readonly w: number;
    readonly h: number;
  };
  readonly targets?: readonly {
    readonly expr: string;
    readonly legendFormat: string;
  }[];
}

/** A variable that queries of panels have in their selectors. */
interface Variable {
  readonly name: string;
  readonly type: string;
  readonly definition?: string;
  readonly allValue?: string;
}

interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly schemaVersion: number;
  readonly templating: { readonly list: readonly Variable[] };
  readonly panels: readonly Panel[];
}

async function readDashboard(): Promise<Dashboard> {
  const text = await Deno.readTextFile(new URL("dashboard.json", FOLDER));
  const dashboard: Dashboard = JSON.parse(text);
  assertEquals([dashboard.uid, dashboard.title], ["tercet", "Tercet"]);
  assert(Number.isInteger(dashboard.schemaVersion));
  return dashboard;
}

async function readPanels(): Promise<readonly Panel[]> {
  return (await readDashboard()).panels;
}

interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

async function readAlerts(): Promise<readonly AlertRule[]> {
  const text = await Deno.readTextFile(new URL("alerts.yaml", FOLDER));
  const { groups } = parseYaml(text) as {
    readonly groups: readonly {
      readonly name: string;
      readonly rules: readonly AlertRule[];
    }[];
  };
  assertEquals(new Set(groups.map(({ name }) => name)).size, groups.length);
  return groups.flatMap(({ rules }) => rules);
}

Deno.test("the metrics of the services have names and help by the conventions of Prometheus", () => {
  for (const [service, registry] of Object.entries(registries())) {
    assertEquals(metricsFaults(registry.text()), [], service);
  }
});

Deno.test("findFaults() finds unknown metrics and labels, and what is no PromQL", () => {
  const samples = new Map([["x_total", new Set(["a"])]]);
  const wrong: readonly (readonly [string, string])[] = [
    ["sum(rate(y_total[5m]))", "no metric y_total"],
    ['sum by (b) (x_total{a="1"})', "a label b"],
    ['x_total{c=~"1"}', "a label c"],
    ["sum(rate(x_total[5m])", "cannot be read"],
    ["1 + 1", "names no metric"],
  ];
  for (const [expression, fault] of wrong) {
    const found = findFaults(expression, samples).join();
    assert(found.includes(fault), `${expression}: ${found}`);
  }
  assertEquals(
    findFaults("sum by (a) (rate(x_total[$__rate_interval]))", samples),
    [],
  );
});

Deno.test("the dashboard asks for metrics and labels that the services have", async () => {
  const samples = knownSamples();
  const panels = await readPanels();
  const targets = panels.flatMap(({ targets = [] }) => targets);
  assert(targets.length > 40, `${targets.length} queries`);
  assertEquals(targets.flatMap(({ expr }) => findFaults(expr, samples)), []);
  for (const { expr, legendFormat } of targets) {
    for (const [, label = ""] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) {
      const isKept = TARGET_LABELS.includes(label) ||
        new RegExp(`\\bby \\([^)]*\\b${label}\\b`).test(expr);
      assert(isKept, `${legendFormat} of ${expr}`);
    }
  }
});

Deno.test("the dashboard shows every metric that the services have", async () => {
  const panels = await readPanels();
  const text = panels.flatMap(({ targets = [] }) =>
    targets.map(({ expr }) => expr)
  ).join("\n");
  // Metrics that the dashboard need not show: other panels imply them, or they
  // are rare.
  const left = [
    "ratelimit_service_domain_not_found",
    "ratelimit_service_rate_limit_shadow_mode",
    "ratelimit_service_rate_limit_within_limit",
    "relayer_store_commits_total",
    "tasks_attempt_duration_seconds",
    "tasks_attempts_recovered_total",
  ];
  const missing = [...knownSamples().keys()]
    .map((name) => name.replace(/_(bucket|sum|count)$/, ""))
    .filter((name) => !text.includes(name) && !left.includes(name));
  assertEquals([...new Set(missing)], []);
});

Deno.test("the dashboard's variables choose among values that there are, in every query that has their label", async () => {
  const samples = knownSamples();
  const { panels, templating } = await readDashboard();
  const variables = templating.list.filter(({ type }) => type === "query");
  const names = variables.map(({ name }) => name);
  assertEquals(names, ["instance", "domain", "tenant"]);
  for (const { name, definition = "", allValue } of variables) {
    const [, metric = ""] = /^label_values\((\w+), (\w+)\)$/.exec(definition) ??
      [];
    assertEquals(definition, `label_values(${metric}, ${name})`);
    assert(samples.get(metric)?.has(name), definition);
    // The choice of all keeps series without the label, too.
    assertEquals(allValue, ".*");
  }
  for (const { expr } of panels.flatMap(({ targets = [] }) => targets)) {
    for (const [, metric = "", selector = ""] of expr.matchAll(SELECTOR)) {
      const labels = samples.get(metric);
      if (labels === undefined) continue;
      const missing = names.filter((name) =>
        labels.has(name) !== selector.includes(`${name}=~"$${name}"`)
      );
      assertEquals(missing, [], expr);
    }
  }
});

Deno.test("the dashboard's panels have ids and places of their own", async () => {
  const panels = await readPanels();
  assertEquals(new Set(panels.map(({ id }) => id)).size, panels.length);
  const taken = new Set<string>();
  for (const { title, type, description, gridPos } of panels) {
    assert(type === "row" || (description ?? "") !== "", title);
    const { x, y, w, h } = gridPos;
    assert(x >= 0 && x + w <= 24, title);
    for (let column = x; column < x + w; column++) {
      for (let line = y; line < y + h; line++) {
        assert(!taken.has(`${column} ${line}`), `${title} covers another one`);
        taken.add(`${column} ${line}`);
      }
    }
  }
});

Deno.test("the alert rules ask for metrics and labels that the services have", async () => {
  const samples = knownSamples();
  const rules = await readAlerts();
  assertEquals(rules.flatMap(({ expr }) => findFaults(expr, samples)), []);
  assertEquals(new Set(rules.map(({ alert }) => alert)).size, rules.length);
  for (const rule of rules) {
    const { alert, labels, annotations } = rule;
    assert(/^[A-Z][A-Za-z]+$/.test(alert), alert);
    assert(/[<>=]/.test(rule.expr), `${alert} compares nothing`);
    assert(/^\d+[smh]$/.test(rule.for ?? "1m"), alert);
    assert(["page", "ticket"].includes(labels["severity"] ?? ""), alert);
    assert((annotations["summary"] ?? "").length > 10, alert);
    const members = new Set(Object.keys(rule));
    for (const member of ["alert", "expr", "for", "labels", "annotations"]) {
      members.delete(member);
    }
    assertEquals([...members], [], alert);
  }
});
