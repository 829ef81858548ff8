/**
 * Finds memories by a question.
 *
 * @module
 */

import {
  isObject,
  omitUndefined,
  readArray,
  readNumber,
  readOptionalBoolean,
  readOptionalNumber,
  readOptionalString,
  readString,
  readStrings,
} from "./answer_reader.ts";
import {
  describe,
  optionalNumber,
  requireName,
  requireText,
} from "./arguments.ts";
import { type ClientParts, rankingMembers } from "./client_parts.ts";
import { isJobId } from "./job_status.ts";
import { checkMetadata, readMetadata } from "./memory_notes.ts";
import {
  checkRankingOptions,
  checkScoringWeights,
  readExplanation,
  readRelevance,
  type WireWeights,
} from "./ranking.ts";
import type {
  RankingOptions,
  RecallMemory,
  RecallOptions,
  RecallParams,
  RecallResult,
  TruncationStrategy,
} from "./recall_types.ts";
import { applyTokenBudget } from "./token_budget.ts";

const DEFAULT_LIMIT = 10;
const STRATEGIES: readonly TruncationStrategy[] = [
  "high-relevance-only",
  "per-hit-cap",
  "drop-tail",
];

/** The arguments of `recall`. */
type RecallArguments = readonly [
  query: string | RecallParams,
  limitOrOptions?: number | RecallOptions | undefined,
  namespace?: string | undefined,
];

/** The checked arguments of a recall, whichever form they were given in. */
interface RecallQuestion extends
  Required<
    Omit<
      RecallParams,
      "topK" | "scoringWeights" | "signal" | keyof RankingOptions
    >
  > {
  /** The largest number of memories to return. */
  readonly limit: number;
  /** Weights that decide the order, in the form in which they are sent. */
  readonly scoringWeights: WireWeights | undefined;
  /** How memories are ranked, and whether that is explained. */
  readonly ranking: RankingOptions;
}

/**
 * Reads the arguments of a call in one of the forms `({ query, … })`,
 * `(query)`, `(query, limit)`, `(query, limit, namespace)` and
 * `(query, options)`.
 *
 * @throws {TypeError} For `(query, namespace)`, which would search in another
 * namespace than meant, and for any other form.
 */
export function readRecallArguments(args: RecallArguments): RecallQuestion {
  const [query, second, namespace] = args;
  if (typeof query === "object" && query !== null) {
    if (second === undefined && namespace === undefined) {
      return readQuestion(query.query, query);
    }
    throw fault("all options belong in the one object");
  }
  if (second === undefined || typeof second === "number") {
    return readQuestion(query, { limit: second, namespace });
  }
  if (typeof second === "string") {
    throw fault(
      "the second argument is not a namespace; write recall({ query, " +
        `namespace: ${JSON.stringify(second)} })`,
    );
  }
  if (typeof second !== "object" || second === null) {
    throw fault(`the second argument is ${describe(second)}`);
  }
  if (namespace !== undefined) {
    throw fault("the namespace belongs in the options");
  }
  return readQuestion(query, second);
}

function readQuestion(query: unknown, options: RecallOptions): RecallQuestion {
  const { namespace, sort, truncationStrategy, countTokens } = options;
  if (sort !== undefined && sort !== "relevance" && sort !== "recent") {
    throw fault(`sort is neither "relevance" nor "recent"`);
  }
  if (
    truncationStrategy !== undefined && !STRATEGIES.includes(truncationStrategy)
  ) {
    throw fault(
      `truncationStrategy is not one of "${STRATEGIES.join('", "')}"`,
    );
  }
  if (countTokens !== undefined && typeof countTokens !== "function") {
    throw fault(`countTokens is ${describe(countTokens)}`);
  }
  const ids = readIds(options.ids);
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
    ranking: checkRankingOptions(options),
    filter: checkMetadata(options.filter, "filter"),
    ids,
    timeoutMs: options.timeoutMs,
    maxTokens: readMaxTokens(options.maxTokens),
    truncationStrategy,
    countTokens,
  };
}

function readIds(ids: unknown): readonly string[] | undefined {
  if (ids === undefined) return undefined;
  if (!Array.isArray(ids) || ids.length === 0) {
    throw fault("ids is not a list of ids with at least one");
  }
  return ids.map((id: unknown) => {
    if (isJobId(id)) return id;
    throw fault("ids has a member that is not an id of a memory");
  });
}

/** An infinite limit is the same as no limit. */
function readMaxTokens(maxTokens: number | undefined): number | undefined {
  return maxTokens === Infinity
    ? undefined
    : optionalNumber(maxTokens, "maxTokens");
}

function fault(state: string): TypeError {
  return new TypeError(`Cannot recall: ${state}`);
}

/**
 * The relayer's deadline is this many milliseconds before the client's, so that
 * the answer arrives in time.
 */
const ANSWER_MARGIN_MS = 1_000;

/**
 * Does what {@linkcode Mem.recall} says; the forms of the arguments are those
 * of {@linkcode readRecallArguments}.
 */
export async function recall(
  parts: ClientParts,
  args: RecallArguments,
): Promise<RecallResult> {
  const question = readRecallArguments(args);
  const timeoutMs = readTimeout(question.timeoutMs, parts.recallTimeoutMs);
  const { json } = await parts.exchange.send({
    method: "POST",
    path: "/api/recall",
    readsMemories: true,
    body: {
      query: question.query,
      limit: question.limit,
      namespace: question.namespace ?? parts.namespace,
      deadline_ms: Number.isFinite(timeoutMs)
        ? Math.max(1, Math.floor(timeoutMs - ANSWER_MARGIN_MS))
        : undefined,
      sort: question.sort,
      scoring_weights: question.scoringWeights,
      ...await rankingMembers(parts, question.ranking),
      filter: question.filter,
      ids: question.ids,
    },
    timeoutMs,
  });
  const memories = readArray(json, "results").map(readRecallMemory);
  const dropped = readOptionalNumber(json, "dropped_count") ?? 0;
  const isTruncated = readOptionalBoolean(json, "truncated") === true;
  return omitUndefined({
    ...selectMemories(memories, {
      question,
      total: readOptionalNumber(json, "total") ?? memories.length,
    }),
    dropped_count: dropped > 0 ? dropped : undefined,
    truncated: isTruncated ? true : undefined,
    omitted_ids: isTruncated ? readStrings(json, "omitted_ids") : undefined,
    partial: readOptionalBoolean(json, "partial") === true ? true : undefined,
  });
}

/**
 * Applies the options that the client itself applies: the largest distance and
 * the number of tokens.
 */
function selectMemories(
  memories: readonly RecallMemory[],
  { question, total }: {
    readonly question: RecallQuestion;
    readonly total: number;
  },
): RecallResult {
  const { maxDistance, maxTokens } = question;
  const near = maxDistance === undefined
    ? memories
    : memories.filter(({ distance }) => distance < maxDistance);
  if (maxTokens === undefined) {
    return {
      results: near,
      total: near.length === memories.length ? total : near.length,
    };
  }
  const { results, meta } = applyTokenBudget(near, {
    maxTokens,
    strategy: question.truncationStrategy,
    countTokens: question.countTokens,
  });
  return {
    results,
    total: results.length === memories.length ? total : results.length,
    meta,
  };
}

/**
 * The timeout of a call in milliseconds: 0 means no limit; undefined or a value
 * that is not positive means the client's timeout, `clientMs`.
 */
function readTimeout(timeoutMs: number | undefined, clientMs: number): number {
  if (timeoutMs === 0) return Infinity;
  return timeoutMs !== undefined && timeoutMs > 0 ? timeoutMs : clientMs;
}

/**
 * Reads one memory of an answer.
 *
 * @throws {MemError} When it is not valid.
 */
export function readRecallMemory(json: unknown): RecallMemory {
  return omitUndefined({
    id: readOptionalString(json, "id"),
    blob_id: readString(json, "blob_id"),
    text: readString(json, "text"),
    distance: readNumber(json, "distance"),
    relevance: readRelevance(json),
    explanation: readExplanation(json),
    created_at: readOptionalString(json, "created_at"),
    score: readOptionalNumber(json, "score"),
    metadata: isObject(json) ? readMetadata(json["metadata"]) : undefined,
  });
}
