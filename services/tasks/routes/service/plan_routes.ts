/**
 * The routes of plans and prices, on the service's own host.
 *
 * @module
 */

import type { Plan, Price } from "../../domain/records.ts";
import type { ApiParts } from "../api_parts.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import { PLAN, PRICE, viewPlan, viewPrice } from "./plan_fields.ts";
import { exampleOf, named } from "../../../shared/schema/schema.ts";
import { list } from "../../../shared/schema/composite.ts";
import { object } from "../../../shared/schema/object.ts";
import { answerPublicPage, PAGE_TYPE, type PublicPage } from "./public_page.ts";

const PLANS = named(
  "PlanList",
  object({ data: list(PLAN, { maxItems: 100 }) }),
  {
    examples: [{ data: [exampleOf(PLAN) ?? {}] }],
  },
);

const PRICES = named(
  "PriceList",
  object({ data: list(PRICE, { maxItems: 1_000 }) }),
  {
    examples: [{ data: [exampleOf(PRICE) ?? {}] }],
  },
);

/** The description that all public pages share. */
const DESCRIPTION = "Public; caches may keep it for five minutes. With " +
  "`Accept: text/html` it is a page for people.";

/** The routes of plans and prices. */
export function planRoutes({ plans: book }: ApiParts): readonly AnyRoute[] {
  const common = {
    method: "GET",
    hosts: "apex",
    description: DESCRIPTION,
    tags: ["plans"],
    access: { kind: "public" },
    conditions: "read",
    problems: ["not_acceptable"],
  } as const;
  const planPage = madeOnce((plans: readonly Plan[]): PublicPage => ({
    value: { data: plans.map(viewPlan) },
    title: "Plans",
    rows: rowsOfPlans(plans),
  }));
  const pricePage = madeOnce((prices: readonly Price[]): PublicPage => ({
    value: { data: prices.map(viewPrice) },
    title: "Prices",
    rows: rowsOfPrices(prices),
  }));
  return [
    defineRoute({
      ...common,
      path: "/plans",
      operationId: "listPlans",
      summary: "Show the plans with their limits",
      answers: {
        200: { description: "All plans", shape: PLANS, pageType: PAGE_TYPE },
      },
      handle: (call) => answerPublicPage(call, planPage(book.plans)),
    }),
    defineRoute({
      ...common,
      path: "/prices",
      operationId: "listPrices",
      summary: "Show what the plans cost",
      answers: {
        200: { description: "All prices", shape: PRICES, pageType: PAGE_TYPE },
      },
      handle: (call) => answerPublicPage(call, pricePage(book.prices)),
    }),
  ];
}

/** Makes a page again only when what it is made of was replaced. */
function madeOnce<From>(
  make: (from: From) => PublicPage,
): (from: From) => PublicPage {
  let last: { readonly from: From; readonly page: PublicPage } | undefined;
  return (from) => {
    if (last?.from !== from) last = { from, page: make(from) };
    return last.page;
  };
}

/** A row for each limit, a column for each plan. */
function rowsOfPlans(
  plans: readonly Plan[],
): readonly (readonly string[])[] {
  const limits = plans.map((plan) => new Map(limitsOf(plan)));
  const names = [...limits[0]?.keys() ?? []];
  return [
    ["", ...plans.map(({ name }) => name)],
    ...names.map((name) => [
      name.replaceAll("_", " "),
      ...limits.map((of) => of.get(name) ?? ""),
    ]),
    ["features", ...plans.map(({ features }) => features.join(", "))],
  ];
}

function limitsOf(plan: Plan): readonly (readonly [string, string])[] {
  const { limits = {} } = viewPlan(plan);
  return Object.entries(limits ?? {}).map(([name, value]) =>
    [name, value === null ? "no limit" : String(value)] as const
  );
}

function rowsOfPrices(
  prices: readonly Price[],
): readonly (readonly string[])[] {
  return [
    ["plan", "per", "price", "by use", "from"],
    ...prices.map((price) => [
      price.plan,
      price.interval,
      amountOf(price.unitAmount, price.currency),
      price.metered.map(({ unit, per, unitAmount }) =>
        `${amountOf(unitAmount, price.currency)} for ${per} ${unit}`
      ).join(", "),
      price.effectiveFrom,
    ]),
  ];
}

/** An amount with as many decimals as the currency has (ISO 4217). */
function amountOf(unitAmount: number, currency: string): string {
  const { maximumFractionDigits: digits = 2 } = new Intl.NumberFormat("en", {
    style: "currency",
    currency,
  }).resolvedOptions();
  return `${(unitAmount / 10 ** digits).toFixed(digits)} ${currency}`;
}
