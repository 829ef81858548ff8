/**
 * Schema of retry policies.
 *
 * @module
 */

import { parseRetryPolicy } from "./parse_retry_policy.ts";
import {
  type JsonValue,
  named,
  type Schema,
} from "../../shared/schema/schema.ts";
import { asGiven, type Parsed, parsed } from "../../shared/schema/composite.ts";
import { duration } from "./value_schemas.ts";

/**
 * A retry policy or null, which means none. It is checked by the domain's
 * parser and read as it was written, which is how it is kept.
 */
export function retryPolicy(): Schema<JsonValue> {
  const delay = duration();
  const json = {
    type: ["object", "null"],
    properties: {
      limit: {
        type: ["integer", "null"],
        minimum: 0,
        maximum: 1_000_000,
        description: "Retries after the first try; absent means for ever " +
          "where an interval is given",
      },
      interval: {
        anyOf: [
          delay.json,
          { type: "array", items: delay.json, minItems: 1, maxItems: 100 },
          { type: "null" },
        ],
        description: "The delay, the first delay, or all delays in a list",
      },
      backoff: {
        enum: ["fixed", "linear", "exponential", "list", null],
        description: "How the delay grows; an interval alone is fixed",
      },
      factor: { type: ["number", "null"], minimum: 1, maximum: 100 },
      max_interval: { anyOf: [delay.json, { type: "null" }] },
      jitter: { enum: ["none", "equal", "full", null] },
      for: {
        anyOf: [delay.json, { type: "null" }],
        description: "How long to go on after the first try",
      },
      on: {
        type: ["array", "null"],
        items: { type: ["string", "integer"] },
        minItems: 1,
        maxItems: 100,
        description: 'What is retried: statuses (429), classes ("5xx"), ' +
          'error codes ("timed_out"); absent means everything retryable',
      },
    },
    additionalProperties: false,
    examples: [{ limit: 3, interval: "PT10S" }],
  } as const;
  const schema = parsed(
    asGiven(json, [delay]),
    (value): Parsed<JsonValue> => {
      const outcome = parseRetryPolicy(value);
      if (outcome.kind === "ok") {
        // Values come from JSON, and the parser found nothing else in it.
        return { kind: "ok", value: value as JsonValue };
      }
      return {
        kind: "invalid",
        problems: outcome.problems.map((problem) => ({
          ...problem,
          code: "bad_retry",
        })),
      };
    },
  );
  return named("RetryPolicy", schema);
}
