/**
 * Reads the forms that a recall may be written in.
 *
 * @module
 */

import {
  describe,
  optionalNumber,
  requireName,
  requireText,
} from "./arguments.ts";
import { isJobId } from "./job_ids.ts";
import { checkMetadata } from "./metadata.ts";
import type {
  RecallOptions,
  RecallParams,
  TruncationStrategy,
} from "./recall_types.ts";
import type { Metadata } from "./remember_types.ts";
import { checkScoringWeights, type WireWeights } from "./scoring_weights.ts";

const DEFAULT_LIMIT = 10;
const STRATEGIES: readonly TruncationStrategy[] = [
  "high-relevance-only",
  "per-hit-cap",
  "drop-tail",
];

/** What `recall` was called with. */
export type RecallArguments = readonly [
  query: string | RecallParams,
  limitOrOptions?: number | RecallOptions | undefined,
  namespace?: string | undefined,
];

/** A recall, in whatever form it was written. */
export interface RecallQuestion {
  /** What is looked for. */
  readonly query: string;
  /** Most memories. */
  readonly limit: number;
  /** Where to look; undefined for the client's namespace. */
  readonly namespace: string | undefined;
  /** What is this far or farther is left out. */
  readonly maxDistance: number | undefined;
  /** The order. */
  readonly sort: "relevance" | "recent" | undefined;
  /** What counts for the order, as it is sent. */
  readonly scoringWeights: WireWeights | undefined;
  /** What the metadata must say. */
  readonly filter: Metadata | undefined;
  /** The only memories that count. */
  readonly ids: readonly string[] | undefined;
  /** Milliseconds it may take, 0 for no end, undefined for the client's. */
  readonly timeoutMs: number | undefined;
  /** Most tokens. */
  readonly maxTokens: number | undefined;
  /** What to leave out when there are more. */
  readonly truncationStrategy: TruncationStrategy | undefined;
  /** Counts tokens. */
  readonly countTokens: ((text: string) => number) | undefined;
}

/**
 * Reads one of `({ query, … })`, `(query)`, `(query, limit)`,
 * `(query, limit, namespace)` and `(query, options)`.
 *
 * @throws {TypeError} For `(query, namespace)`, which looks like it worked and
 * would search elsewhere, and for anything else.
 */
export function readRecallArguments(args: RecallArguments): RecallQuestion {
  const [query, second, namespace] = args;
  if (typeof query === "object" && query !== null) {
    if (second === undefined && namespace === undefined) {
      return questionOf(query.query, query);
    }
    throw fault("all options belong in the one object");
  }
  if (second === undefined || typeof second === "number") {
    return questionOf(query, { limit: second, namespace });
  }
  if (typeof second === "string") {
    throw fault(
      `the second argument is no namespace; write ` +
        `recall({ query, namespace: ${JSON.stringify(second)} })`,
    );
  }
  if (typeof second !== "object" || second === null) {
    throw fault(`the second argument is ${describe(second)}`);
  }
  if (namespace !== undefined) {
    throw fault("the namespace belongs in the options");
  }
  return questionOf(query, second);
}

function questionOf(query: unknown, options: RecallOptions): RecallQuestion {
  const { namespace, sort, truncationStrategy, countTokens } = options;
  if (sort !== undefined && sort !== "relevance" && sort !== "recent") {
    throw fault(`sort is neither "relevance" nor "recent"`);
  }
  if (
    truncationStrategy !== undefined && !STRATEGIES.includes(truncationStrategy)
  ) {
    throw fault(
      `truncationStrategy is none of "${STRATEGIES.join('", "')}"`,
    );
  }
  if (countTokens !== undefined && typeof countTokens !== "function") {
    throw fault(`countTokens is ${describe(countTokens)}`);
  }
  const ids = idsOf(options.ids);
  return {
    query: requireText(query, "query"),
    limit: optionalNumber(options.topK, "topK") ??
      optionalNumber(options.limit, "limit") ?? ids?.length ?? DEFAULT_LIMIT,
    namespace: namespace === undefined
      ? undefined
      : requireName(namespace, "namespace"),
    maxDistance: optionalNumber(options.maxDistance, "maxDistance"),
    sort,
    scoringWeights: checkScoringWeights(options.scoringWeights),
    filter: checkMetadata(options.filter, "filter"),
    ids,
    timeoutMs: options.timeoutMs,
    maxTokens: boundOf(options.maxTokens),
    truncationStrategy,
    countTokens,
  };
}

function idsOf(ids: unknown): readonly string[] | undefined {
  if (ids === undefined) return undefined;
  if (!Array.isArray(ids) || ids.length === 0) {
    throw fault("ids is no list of ids with at least one");
  }
  return ids.map((id: unknown) => {
    if (isJobId(id)) return id;
    throw fault("ids has a member that is no id of a memory");
  });
}

/** Without an end is the same as not given. */
function boundOf(maxTokens: number | undefined): number | undefined {
  return maxTokens === Infinity
    ? undefined
    : optionalNumber(maxTokens, "maxTokens");
}

function fault(state: string): TypeError {
  return new TypeError(`Cannot recall: ${state}`);
}
