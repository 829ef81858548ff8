/**
 * The routes of plans and prices, on the service's own host.
 *
 * @module
 */

import type { ApiParts } from "../api_parts.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import { PLAN, PRICE } from "./plan_fields.ts";
import { PlanPages } from "./plan_pages.ts";
import {
  described,
  findExample,
  named,
} from "../../../shared/schema/schema.ts";
import { list } from "../../../shared/schema/composite.ts";
import { object } from "../../../shared/schema/object.ts";
import { answerPublicPage, PAGE_TYPE } from "./public_page.ts";

const PLANS = named(
  "PlanList",
  object({
    data: described(list(PLAN, { maxItems: 100 }), "All there are"),
  }),
  {
    description: "The limits of tenants, by plan",
    examples: [{ data: [findExample(PLAN) ?? {}] }],
  },
);

const PRICES = named(
  "PriceList",
  object({
    data: described(list(PRICE, { maxItems: 1_000 }), "All there are"),
  }),
  {
    description: "The prices of plans",
    examples: [{ data: [findExample(PRICE) ?? {}] }],
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
  const pages = new PlanPages(book);
  return [
    defineRoute({
      ...common,
      path: "/plans",
      operationId: "listPlans",
      summary: "Show the plans with their limits",
      answers: {
        200: { description: "All plans", shape: PLANS, pageType: PAGE_TYPE },
      },
      handle: (call) => answerPublicPage(call, pages.plans),
    }),
    defineRoute({
      ...common,
      path: "/prices",
      operationId: "listPrices",
      summary: "Show the prices of the plans",
      answers: {
        200: { description: "All prices", shape: PRICES, pageType: PAGE_TYPE },
      },
      handle: (call) => answerPublicPage(call, pages.prices),
    }),
  ];
}
