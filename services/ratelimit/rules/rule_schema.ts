/**
 * A JSON Schema of rule files, for editors that complete and check them. What
 * the reader takes beyond it are other ways of YAML 1.1 to write the same, such
 * as `yes` and `1_000`, and empty values.
 *
 * @module
 */

import { ALGORITHM_WORDS } from "./algorithm.ts";
import { UNIT_WORDS } from "./unit.ts";

/** A part of the schema; draft 7, which editors know best. */
interface Schema {
  readonly [word: string]: unknown;
}

const MAX_UINT32 = 0xffff_ffff;

const FLAG: Schema = { type: "boolean", default: false };
const COUNT: Schema = { type: "integer", minimum: 0, maximum: MAX_UINT32 };

/** Accepts words in any case, and proposes them as they are. */
function words(values: readonly string[]): Schema {
  const patterns = values.map((word) =>
    word.replaceAll(
      /[a-z]/g,
      (letter) => `[${letter}${letter.toUpperCase()}]`,
    )
  );
  return {
    type: "string",
    anyOf: [{ enum: values }, { pattern: `^(?:${patterns.join("|")})$` }],
  };
}

/** The words that all limits have. */
const LIMIT: Readonly<Record<string, Schema>> = {
  unit: {
    ...words(UNIT_WORDS),
    description:
      "Length of the window: a month has 30 days, a year 365. In place of it: window.",
  },
  window: {
    type: "string",
    pattern: "^(?:[Pp].+|(?:[0-9]+(?:\\.[0-9]+)?(?:w|d|h|m|s|ms))+)$",
    description:
      "Length of the window in place of unit: whole seconds up to 366 days, such as 90s, 15m, 1h30m or 7d.",
  },
  requests_per_unit: {
    ...COUNT,
    description: "Requests allowed in one window; 0 refuses all.",
  },
  algorithm: {
    ...words(ALGORITHM_WORDS),
    default: ALGORITHM_WORDS[0],
    description:
      "How requests are counted. With sliding_window and token_bucket, those that are refused are not charged.",
  },
  burst: {
    ...COUNT,
    minimum: 1,
    description:
      "Requests that a full token bucket holds; requests_per_unit unless it is set.",
  },
  name: {
    type: "string",
    description:
      "Name by which another limit may replace this one; of an item of rate_limits also the last level of its statistics.",
  },
  replaces: {
    type: ["array", "null"],
    description:
      "Limits that do not count where this one matches a descriptor of the same call.",
    items: {
      type: "object",
      additionalProperties: false,
      required: ["name"],
      properties: { name: { type: "string", minLength: 1 } },
    },
  },
};

const ONE_WINDOW: Schema = {
  oneOf: [{ required: ["unit"] }, { required: ["window"] }],
};
const BUCKET: Schema = {
  if: { required: ["burst"] },
  then: {
    required: ["algorithm"],
    properties: { algorithm: words(["token_bucket"]) },
  },
};

const UNLIMITED: Schema = {
  type: "object",
  required: ["unlimited"],
  properties: { unlimited: { const: true } },
};

const RATE_LIMIT: Schema = {
  type: ["object", "null"],
  description: "The limit of requests that match.",
  additionalProperties: false,
  properties: {
    ...LIMIT,
    unlimited: { ...FLAG, description: "Whether there is no limit." },
  },
  allOf: [{
    if: UNLIMITED,
    then: {
      properties: {
        unit: false,
        window: false,
        algorithm: false,
        burst: false,
      },
    },
    else: { if: { type: "object" }, then: ONE_WINDOW },
  }, BUCKET],
};

const RATE_LIMITS: Schema = {
  type: ["array", "null"],
  description:
    "Further limits, beside rate_limit or in place of it: all of them count, and the strictest answers.",
  items: {
    type: "object",
    additionalProperties: false,
    properties: {
      ...LIMIT,
      shadow_mode: {
        ...FLAG,
        description: "Whether this limit counts and never refuses.",
      },
    },
    allOf: [ONE_WINDOW, BUCKET],
  },
};

const DESCRIPTORS: Schema = {
  type: ["array", "null"],
  items: { $ref: "#/definitions/descriptor" },
};

const DESCRIPTOR: Schema = {
  type: "object",
  additionalProperties: false,
  required: ["key"],
  properties: {
    key: {
      type: ["string", "integer", "boolean"],
      minLength: 1,
      description: "The key that an entry of a request must have.",
    },
    value: {
      type: ["string", "integer", "boolean", "null"],
      description:
        "The value that it must have; * stands for any characters. Without it every value matches, and is counted on its own.",
    },
    rate_limit: RATE_LIMIT,
    rate_limits: RATE_LIMITS,
    descriptors: {
      ...DESCRIPTORS,
      description: "Rules for requests that have more entries.",
    },
    shadow_mode: {
      ...FLAG,
      description: "Whether the rule counts and never refuses.",
    },
    quota_mode: {
      ...FLAG,
      description:
        "Whether the rule refuses only when all quotas of a call are used up.",
    },
    detailed_metric: {
      ...FLAG,
      description: "Whether statistics are kept for each value.",
    },
    value_to_metric: {
      ...FLAG,
      description: "Whether the names of statistics show the request's value.",
    },
    share_threshold: {
      ...FLAG,
      description:
        "Whether all values that match the asterisk share one counter.",
    },
    metadata: {
      type: ["object", "null"],
      description: "What the proxy gets when the rule matched.",
    },
  },
  allOf: [{
    if: {
      required: ["share_threshold"],
      properties: { share_threshold: { const: true } },
    },
    then: {
      required: ["value"],
      properties: { value: { type: "string", pattern: "\\*" } },
    },
  }, {
    if: { required: ["rate_limit"], properties: { rate_limit: UNLIMITED } },
    then: { properties: { rate_limits: { maxItems: 0 } } },
  }],
};

/** The schema of one rule file. */
export const RULE_SCHEMA: Schema = {
  $schema: "http://json-schema.org/draft-07/schema#",
  title: "Rules of ratelimit",
  type: "object",
  additionalProperties: false,
  required: ["domain"],
  properties: {
    domain: {
      type: ["string", "integer", "boolean"],
      minLength: 1,
      description: "The domain that requests name.",
    },
    count_when_limited: {
      type: "boolean",
      default: true,
      description:
        "Whether a request that one limit refuses is charged to its other limits.",
    },
    descriptors: {
      ...DESCRIPTORS,
      description: "The rules; of each level the first that matches best.",
    },
  },
  definitions: { descriptor: DESCRIPTOR },
};

/** Returns the schema as the text of a file. */
export function ruleSchemaText(): string {
  return `${JSON.stringify(RULE_SCHEMA, undefined, 2)}\n`;
}
