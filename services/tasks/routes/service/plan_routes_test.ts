import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type Plan, type Price, UNLIMITED_PLAN } from "../../domain/records.ts";
import type { Answer } from "../../http/answer.ts";
import { demoCall } from "../../http/testing/demo_call.ts";
import { openTestApi, SERVICE_HOST } from "../testing/test_api.ts";
import { planRoutes } from "./plan_routes.ts";

const PLANS: readonly Plan[] = [
  { ...UNLIMITED_PLAN, id: "free", name: "Free <b>&" },
  {
    ...UNLIMITED_PLAN,
    id: "team",
    name: "Team",
    limits: { ...UNLIMITED_PLAN.limits, workers: 5, maxDelayMs: 3_600_000 },
    features: ["Cron", '"Audit"'],
  },
];

const PRICES: readonly Price[] = [{
  plan: "team",
  currency: "EUR",
  interval: "month",
  unitAmount: 4_905,
  metered: [{ unit: "executions", per: 1_000, unitAmount: 5 }],
  effectiveFrom: "2026-01-01",
}, {
  plan: "team",
  currency: "JPY",
  interval: "year",
  unitAmount: 4_905,
  metered: [],
  effectiveFrom: "2026-01-01",
}];

const CALL = { host: SERVICE_HOST, key: null };

Deno.test("GET /plans and /prices are public JSON for caches", async () => {
  const api = await openTestApi({
    routes: planRoutes,
    plans: PLANS,
    prices: PRICES,
  });
  const plans = await api.call("GET", "/plans", CALL);
  assertEquals(plans.status, 200);
  assertEquals(plans.headers["content-type"], "application/json");
  assertEquals(plans.headers["cache-control"], "public, max-age=300");
  assertEquals(plans.headers["vary"], "accept");
  assertEquals(plans.at("data", 1, "id"), "team");
  assertEquals(plans.at("data", 1, "limits", "workers"), 5);
  assertEquals(plans.at("data", 1, "limits", "max_delay"), "PT1H");
  assertEquals(plans.at("data", 1, "features"), ["Cron", '"Audit"']);
  const prices = await api.call("GET", "/prices", CALL);
  assertEquals(prices.at("data", 0), {
    plan: "team",
    currency: "EUR",
    interval: "month",
    unit_amount: 4_905,
    metered: [{ unit: "executions", per: 1_000, unit_amount: 5 }],
    effective_from: "2026-01-01",
  });
  const same = await api.call("GET", "/plans", {
    ...CALL,
    headers: { "if-none-match": plans.headers["etag"] ?? "" },
  });
  assertEquals([same.status, same.text], [304, ""]);
  assertEquals(same.headers["cache-control"], "public, max-age=300");
  const head = await api.call("HEAD", "/prices", CALL);
  assertEquals([head.status, head.text], [200, ""]);
  assertEquals(head.headers["etag"], prices.headers["etag"]);
  await api.close();
});

Deno.test("GET /plans and /prices show the plans in force", async () => {
  const api = await openTestApi({ routes: planRoutes, plans: PLANS });
  const before = await api.call("GET", "/plans", CALL);
  assertEquals(before.at("data", 0, "id"), "free");
  api.parts.plans.replace(PLANS.slice(1), PRICES);
  const plans = await api.call("GET", "/plans", CALL);
  assertEquals(plans.at("data", 0, "id"), "team");
  const prices = await api.call("GET", "/prices", CALL);
  assertEquals(prices.at("data", 1, "currency"), "JPY");
  await api.close();
});

Deno.test("plans and prices are on the service's own host alone", async () => {
  const api = await openTestApi({ routes: planRoutes });
  for (const path of ["/plans", "/prices"]) {
    assertEquals((await api.call("GET", path)).status, 404);
    const host = `accounts.${SERVICE_HOST}`;
    assertEquals((await api.call("GET", path, { host })).status, 404);
    assertEquals((await api.call("POST", path, CALL)).status, 405);
  }
  const none = await api.call("GET", "/prices", CALL);
  assertEquals(none.json, { data: [] });
  const picture = await api.call("GET", "/plans", {
    ...CALL,
    headers: { accept: "image/png" },
  });
  assertEquals([picture.status, picture.at("code")], [406, "not_acceptable"]);
  await api.close();
});

Deno.test("GET /plans is a table for people, with nothing to run in it", async () => {
  const html = await fetchPage("/plans", { plans: PLANS, prices: PRICES });
  for (
    const part of [
      '<th scope="col">Free &lt;b&gt;&amp;</th>',
      '<th scope="row">Workers</th><td>no limit</td><td>5</td>',
      '<th scope="row">Max delay</th><td>no limit</td><td>1 hour</td>',
      ">Payload bytes</th><td>1,048,576</td>",
      'Cron\n"Audit"',
      "<dd>Tasks that are not final</dd>",
      '<a href="/prices">Prices</a>',
    ]
  ) assertStringIncludes(html.text, part);
  assert(!html.text.includes("<b>"));
  assertStringIncludes(
    html.headers?.["content-security-policy"] ?? "",
    "default-src 'none'",
  );
  assertEquals(html.headers?.["x-content-type-options"], "nosniff");
  assertEquals(html.contentType, "text/html; charset=utf-8");
});

Deno.test("GET /plans shows no more than there is when there is no file", async () => {
  const { text } = await fetchPage("/plans", { plans: [] });
  const columns = [...text.matchAll(/<th scope="col">([^<]*)</g)];
  assertEquals(columns.map(([, name]) => name), ["Limit", "Unlimited"]);
  for (const absent of ["/prices", "Features", "webhooks", "sse"]) {
    assert(!text.toLowerCase().includes(absent.toLowerCase()), absent);
  }
});

Deno.test("GET /prices writes amounts with the decimals of their currency", async () => {
  const { text } = await fetchPage("/prices", { plans: PLANS, prices: PRICES });
  for (
    const part of [
      '<th scope="row">Team</th><td>month</td><td>49.05 EUR</td>',
      "0.05 EUR for 1,000 executions",
      "<td>4,905 JPY</td><td>nothing</td>",
    ]
  ) assertStringIncludes(text, part);
});

Deno.test("GET /prices says so when nothing has a price, and lacks a column of nothing", async () => {
  const none = await fetchPage("/prices", { plans: PLANS });
  assertStringIncludes(none.text, "The plans of this service have no prices.");
  assert(!none.text.includes("<table"));
  const unmetered = PRICES.slice(1);
  const some = await fetchPage("/prices", { plans: PLANS, prices: unmetered });
  assert(!some.text.includes("By use"));
});

/**
 * The page that a browser gets. The route is called without the test caller,
 * since the document promises the JSON only.
 */
async function fetchPage(
  path: string,
  book: {
    readonly plans?: readonly Plan[];
    readonly prices?: readonly Price[];
  },
): Promise<Extract<Answer, { readonly kind: "text" }>> {
  const api = await openTestApi({ routes: planRoutes, ...book });
  const route = planRoutes(api.parts).find((one) => one.path === path);
  assert(route !== undefined);
  const answer = await route.answer(
    demoCall({
      tenant: undefined,
      header: (name) => name === "accept" ? "text/html,*/*;q=0.8" : undefined,
    }),
    undefined,
  );
  await api.close();
  assert(answer.kind === "text");
  return answer;
}
