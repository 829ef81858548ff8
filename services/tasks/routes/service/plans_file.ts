/**
 * Reads plans and prices from a YAML file.
 *
 * @module
 */

import { parse } from "@std/yaml";
import { quote } from "../../../shared/quote.ts";
import type { Plan, Price } from "../../domain/records.ts";
import { PLAN, PRICE } from "./plan_fields.ts";
import { list, refined } from "../../../shared/schema/composite.ts";
import { object, withDefault } from "../../../shared/schema/object.ts";
import { readWhole } from "../../../shared/schema/schema.ts";

/** The outcome of reading a plan file. */
export type PlansOutcome =
  | {
    readonly kind: "ok";
    readonly plans: readonly Plan[];
    readonly prices: readonly Price[];
  }
  | {
    readonly kind: "invalid";
    /** The faults, each with its place, as messages for the operator. */
    readonly problems: readonly string[];
  };

const FILE = refined(
  object({
    plans: list(PLAN, { minItems: 1, maxItems: 100 }),
    prices: withDefault(list(PRICE, { maxItems: 1_000 }), []),
  }),
  ({ plans, prices }) => {
    const ids = plans.map(({ id }) => id);
    const doubled = plans.flatMap(({ id }, index) =>
      ids.indexOf(id) === index ? [] : [{
        pointer: `/plans/${index}/id`,
        code: "repeated",
        reason: `Cannot take plan ${quote(id)}: an earlier one has that id`,
      }]
    );
    const homeless = prices.flatMap(({ plan }, index) =>
      ids.includes(plan) ? [] : [{
        pointer: `/prices/${index}/plan`,
        code: "unknown_plan",
        reason: `Cannot take price of plan ${quote(plan)}: there is none such`,
      }]
    );
    return [...doubled, ...homeless];
  },
);

/**
 * Reads a plan file: `plans`, the first of which is the plan of new tenants
 * unless a setting names another, and `prices`. The names are those of the API;
 * limits that are left out are those of the unlimited plan.
 */
export function parsePlansFile(text: string): PlansOutcome {
  let value: unknown;
  try {
    // Days stay text, since this YAML schema has no dates.
    value = parse(text, { schema: "core" });
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const [first = ""] = error.message.split("\n");
    return invalid([`Cannot read plan file: ${first}`]);
  }
  const outcome = readWhole(FILE, value ?? {});
  if (outcome.kind === "invalid") {
    return invalid(
      outcome.faults.map(({ pointer, detail }) =>
        pointer === "" ? detail : `${formatPlace(pointer)}: ${detail}`
      ),
    );
  }
  return { kind: "ok", ...outcome.value };
}

function invalid(problems: readonly string[]): PlansOutcome {
  return { kind: "invalid", problems };
}

/** A JSON pointer as people write places: `plans[0].limits.workers`. */
function formatPlace(pointer: string): string {
  return pointer.slice(1).split("/").map((token, index) => {
    if (/^\d+$/.test(token)) return `[${token}]`;
    const name = token.replaceAll("~1", "/").replaceAll("~0", "~");
    return index === 0 ? name : `.${name}`;
  }).join("");
}
