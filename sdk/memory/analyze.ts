/**
 * Has facts extracted from a text and remembered.
 *
 * @module
 */

import {
  readArray,
  readCount,
  readNonEmptyString,
  readOptionalString,
  readString,
  readStrings,
} from "./answer_reader.ts";
import type {
  AnalyzeAndWaitOptions,
  AnalyzeAndWaitResult,
  AnalyzedFact,
  AnalyzeOptions,
  AnalyzeResult,
} from "./analyze_types.ts";
import { describe, requireName, requireText } from "./arguments.ts";
import type { ClientParts } from "./client_parts.ts";
import { waitForRememberJobs } from "./wait_for_jobs.ts";

/** A language model reads the text first, so it has a deadline of its own. */
const ANALYZE_TIMEOUT_MS = 60_000;
const RFC_3339 =
  /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/;

/**
 * Has facts extracted, and returns as soon as jobs to store them are accepted.
 *
 * @throws {TypeError} When an argument is not what it must be.
 * @throws {MemError} When the relayer does not do it.
 */
export async function analyze(
  parts: ClientParts,
  text: string,
  options: AnalyzeOptions = {},
): Promise<AnalyzeResult> {
  const { namespace = parts.namespace, occurredAt } = options;
  const { json } = await parts.exchange.send({
    method: "POST",
    path: "/api/analyze",
    body: {
      text: requireText(text, "text"),
      namespace: requireName(namespace, "namespace"),
      occurred_at: instantOf(occurredAt),
    },
    timeoutMs: ANALYZE_TIMEOUT_MS,
  });
  return {
    job_ids: readStrings(json, "job_ids"),
    facts: readArray(json, "facts").map(factOf),
    fact_count: readCount(json, "fact_count"),
    status: readString(json, "status"),
    owner: readString(json, "owner"),
  };
}

/**
 * Has facts extracted and waits until each is stored. What becomes of one of
 * them is in the result, never an exception.
 *
 * @throws {TypeError} When an argument is not what it must be.
 * @throws {MemError} When the relayer does not do it, or refuses to tell.
 */
export async function analyzeAndWait(
  parts: ClientParts,
  text: string,
  options: AnalyzeAndWaitOptions = {},
): Promise<AnalyzeAndWaitResult> {
  const { job_ids, facts, owner } = await analyze(parts, text, options);
  const { namespace = parts.namespace } = options;
  const outcome = await waitForRememberJobs(parts, job_ids, {
    ...options,
    namespaces: job_ids.map(() => namespace),
  });
  return { ...outcome, facts, owner };
}

function factOf(json: unknown): AnalyzedFact {
  const id = readNonEmptyString(json, "id");
  return {
    text: readString(json, "text"),
    id,
    job_id: readOptionalString(json, "job_id") ?? id,
  };
}

/** RFC 3339 stays as it is: its offset says which day "yesterday" was. */
function instantOf(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "string" && RFC_3339.test(value)) return value;
  if (typeof value !== "string" && !(value instanceof Date)) {
    throw new TypeError(
      `Cannot use occurredAt: it is ${
        describe(value)
      } instead of a Date or a ` +
        `string`,
    );
  }
  const date = new Date(value);
  if (!Number.isNaN(date.getTime())) return date.toISOString();
  throw new TypeError("Cannot use occurredAt: it is no valid date");
}
