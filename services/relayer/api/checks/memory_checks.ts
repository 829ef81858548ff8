/**
 * Checks of what the memory routes have in common.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import type { Ordering } from "../../recall/recall_request.ts";
import type { Metadata } from "../../vault/vault.ts";
import {
  bad,
  type Check,
  type Checked,
  closedFields,
  good,
  isJsonObject,
  optional,
  withDefault,
} from "./check.ts";
import { number } from "./number_checks.ts";
import { shortName, word } from "./text_checks.ts";

/** The namespace of whoever names none. */
export const DEFAULT_NAMESPACE = "default";

const MAX_METADATA_MEMBERS = 32;
const MAX_METADATA_NAME_BYTES = 64;
const MAX_METADATA_VALUE_BYTES = 1_024;
/** A hundred years. */
const MAX_HALF_LIFE_DAYS = 36_500;
const MIN_HALF_LIFE_DAYS = 1e-6;
const CONTROL = /\p{Cc}/u;

/** Takes a namespace. */
export const namespace: Check<string> = withDefault(
  shortName,
  DEFAULT_NAMESPACE,
);

/** Takes how much a memory matters. */
export const importance: Check<number | undefined> = optional(
  number({ min: 0, max: 1 }),
);

/** Takes what a client says of a memory. */
export function metadata(
  value: unknown,
  name: string,
): Checked<Metadata> {
  if (!isJsonObject(value)) return bad(name, "is no object");
  const entries = Object.entries(value);
  if (entries.length > MAX_METADATA_MEMBERS) {
    return bad(name, `has more than ${MAX_METADATA_MEMBERS} members`);
  }
  const checked: [string, string | number | boolean][] = [];
  for (const [key, member] of entries) {
    if (!isMetadataName(key)) {
      return bad(
        name,
        `has a name that is not 1 to ${MAX_METADATA_NAME_BYTES} bytes ` +
          "without control characters",
      );
    }
    const outcome = metadataValue(member, `${name}.${key}`);
    if (outcome.kind === "bad") return outcome;
    checked.push([key, outcome.value]);
  }
  return good(Object.fromEntries(checked));
}

/** Members that say how hits are put in order. */
export const orderingChecks: {
  readonly sort: Check<"relevance" | "recent" | undefined>;
  readonly scoring_weights: Check<Weights | undefined>;
} = {
  sort: optional(word(["relevance", "recent"])),
  scoring_weights: optional(scoringWeights),
};

/** Weights as clients send them. */
export interface Weights {
  /** Of the similarity. */
  readonly semantic: number;
  /** Of how new it is. */
  readonly recency: number;
  /** Days in which the term of recency halves. */
  readonly recency_half_life_days: number;
  /** Of how much it matters. */
  readonly importance: number;
}

/**
 * How hits are put in order. An order that is named is the order; weights of
 * nothing but the similarity leave the order of distances as it is.
 */
export function orderingOf(
  { sort, scoring_weights: weights }: {
    readonly sort?: "relevance" | "recent" | undefined;
    readonly scoring_weights: Weights | undefined;
  },
): Ordering {
  if (sort !== undefined) return { kind: sort };
  if (weights === undefined) return { kind: "relevance" };
  const { semantic, recency, importance } = weights;
  if (recency === 0 && importance === 0) return { kind: "relevance" };
  const recencyHalfLifeDays = Math.max(
    weights.recency_half_life_days,
    MIN_HALF_LIFE_DAYS,
  );
  return {
    kind: "weighed",
    weights: { semantic, recency, recencyHalfLifeDays, importance },
  };
}

const WEIGHT = number({ min: 0, max: 100 });

const WEIGHTS = closedFields({
  semantic: withDefault(WEIGHT, 1),
  recency: withDefault(WEIGHT, 0),
  recency_half_life_days: withDefault(
    number({ min: 0, max: MAX_HALF_LIFE_DAYS }),
    30,
  ),
  importance: withDefault(WEIGHT, 0),
});

function scoringWeights(value: unknown, name: string): Checked<Weights> {
  const checked = WEIGHTS(value, name);
  if (checked.kind === "bad") return checked;
  const { recency, recency_half_life_days: halfLifeDays } = checked.value;
  return recency > 0 && halfLifeDays < MIN_HALF_LIFE_DAYS
    ? bad(
      `${name}.recency_half_life_days`,
      `is below ${MIN_HALF_LIFE_DAYS}`,
    )
    : checked;
}

function metadataValue(
  value: unknown,
  name: string,
): Checked<string | number | boolean> {
  switch (typeof value) {
    case "boolean":
      return good(value);
    case "number":
      return Number.isFinite(value)
        ? good(value)
        : bad(name, "is no finite number");
    case "string":
      if (!value.isWellFormed()) return bad(name, "has half a surrogate pair");
      return Buffer.byteLength(value) > MAX_METADATA_VALUE_BYTES
        ? bad(name, `has more than ${MAX_METADATA_VALUE_BYTES} bytes`)
        : good(value);
    default:
      return bad(name, "is no string, number or boolean");
  }
}

function isMetadataName(name: string): boolean {
  const bytes = Buffer.byteLength(name);
  return bytes > 0 && bytes <= MAX_METADATA_NAME_BYTES && !CONTROL.test(name) &&
    name.isWellFormed();
}
