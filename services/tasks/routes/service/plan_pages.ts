/**
 * The pages of plans and prices: what the API shows, and tables for people.
 *
 * @module
 */

import { textHtml } from "../../../shared/http/html.ts";
import {
  htmlPage,
  type PageLink,
  tableHtml,
} from "../../../shared/http/html_page.ts";
import { DAY_MS } from "../../../shared/duration.ts";
import type { Plan, Price } from "../../domain/records.ts";
import type { PlanBook } from "../../engine/plan_book.ts";
import {
  limitMeanings,
  viewLimits,
  viewPlan,
  viewPrice,
} from "./plan_fields.ts";
import type { PublicPage } from "./public_page.ts";

/** What is in force, and the pages made of it. */
interface Made {
  readonly from: Book;
  readonly plans: PublicPage;
  readonly prices: PublicPage;
}

type Book = Pick<PlanBook, "plans" | "prices">;

/** The pages of the plans in force. They are made when these change. */
export class PlanPages {
  readonly #book: Book;
  #made: Made | undefined;

  /** Makes nothing before a page is asked for. */
  constructor(book: Book) {
    this.#book = book;
  }

  /** The plans with their limits. */
  get plans(): PublicPage {
    return this.#current().plans;
  }

  /** What the plans cost. */
  get prices(): PublicPage {
    return this.#current().prices;
  }

  #current(): Made {
    const { plans, prices } = this.#book;
    const { from } = this.#made ?? {};
    if (
      this.#made !== undefined && from?.plans === plans &&
      from.prices === prices
    ) return this.#made;
    this.#made = {
      from: { plans, prices },
      plans: plansPage(plans, listLinks(prices)),
      prices: pricesPage({ plans, prices }),
    };
    return this.#made;
  }
}

/** The prices are named only where there are any. */
function listLinks(prices: readonly Price[]): readonly PageLink[] {
  return [
    { path: "/plans", text: "Plans" },
    ...prices.length === 0 ? [] : [{ path: "/prices", text: "Prices" }],
    { path: "/docs", text: "Reference of the API" },
  ];
}

function plansPage(
  plans: readonly Plan[],
  links: readonly PageLink[],
): PublicPage {
  return {
    value: { data: plans.map(viewPlan) },
    html: htmlPage({
      service: "tasks",
      heading: "Plans",
      links,
      content: tableHtml({
        label: "Plans",
        head: ["Limit", ...plans.map(({ name }) => name)],
        rows: rowsOfPlans(plans),
      }) + `\n<h2>What the limits are</h2>\n${meaningsHtml()}`,
    }),
  };
}

/** A row for each limit, a column for each plan. */
function rowsOfPlans(plans: readonly Plan[]): readonly (readonly string[])[] {
  const limits = plans.map((plan) => shownLimits(plan));
  const rows = [...limits[0]?.keys() ?? []].map((name) => [
    toWords(name),
    ...limits.map((of) => of.get(name) ?? ""),
  ]);
  return plans.every(({ features }) => features.length === 0) ? rows : [
    ...rows,
    ["Features", ...plans.map(({ features }) => features.join("\n"))],
  ];
}

function meaningsHtml(): string {
  const items = Object.entries(limitMeanings()).map(([name, meaning]) =>
    `<dt>${textHtml(toWords(name))}</dt>\n<dd>${textHtml(meaning)}</dd>`
  );
  return `<dl>\n${items.join("\n")}\n</dl>`;
}

/** The name of a limit in words, such as "Active tasks". */
function toWords(name: string): string {
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}`
    .replaceAll("_", " ");
}

/** The limits as people write them, by name. */
function shownLimits({ limits }: Plan): ReadonlyMap<string, string> {
  const shown = Object.entries(viewLimits(limits)).map(([name, value]) =>
    [name, typeof value === "number" ? countText(value) : "no limit"] as const
  );
  return new Map([
    ...shown,
    ["max_delay", timeText(limits.maxDelayMs)],
    ["min_interval", timeText(limits.minIntervalMs)],
  ]);
}

function countText(count: number): string {
  return new Intl.NumberFormat("en").format(count);
}

const UNITS = [
  ["day", DAY_MS],
  ["hour", 3_600_000],
  ["minute", 60_000],
] as const;

/** A time in the largest unit of which it is a whole number. */
function timeText(ms: number | null): string {
  if (ms === null) return "no limit";
  const [unit, unitMs] = UNITS.find(([, size]) => ms % size === 0) ??
    ["second", 1_000];
  return new Intl.NumberFormat("en", {
    style: "unit",
    unit,
    unitDisplay: "long",
  }).format(ms / unitMs);
}

function pricesPage({ plans, prices }: Book): PublicPage {
  return {
    value: { data: prices.map(viewPrice) },
    html: htmlPage({
      service: "tasks",
      heading: "Prices",
      links: listLinks(prices),
      content: prices.length === 0
        ? "<p>The plans of this service have no prices.</p>"
        : pricesTable(plans, prices),
    }),
  };
}

function pricesTable(
  plans: readonly Plan[],
  prices: readonly Price[],
): string {
  const names = new Map(plans.map(({ id, name }) => [id, name]));
  const isMetered = prices.some(({ metered }) => metered.length > 0);
  return tableHtml({
    label: "Prices",
    head: ["Plan", "Per", "Price", ...isMetered ? ["By use"] : [], "From"],
    rows: prices.map((price) => [
      names.get(price.plan) ?? price.plan,
      price.interval,
      amountText(price.unitAmount, price.currency),
      ...isMetered ? [meteredText(price)] : [],
      price.effectiveFrom,
    ]),
  });
}

function meteredText({ metered, currency }: Price): string {
  return metered.map(({ unit, per, unitAmount }) =>
    `${amountText(unitAmount, currency)} for ${countText(per)} ${unit}`
  ).join("\n") || "nothing";
}

/** An amount with as many decimals as the currency has (ISO 4217). */
function amountText(unitAmount: number, currency: string): string {
  const { maximumFractionDigits: digits = 2 } = new Intl.NumberFormat("en", {
    style: "currency",
    currency,
  }).resolvedOptions();
  const amount = new Intl.NumberFormat("en", {
    minimumFractionDigits: digits,
  }).format(unitAmount / 10 ** digits);
  return `${amount} ${currency}`;
}
