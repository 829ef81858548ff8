/**
 * What the relayer's language model does: it extracts facts from a text, and
 * answers a question from memories.
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
import {
  describe,
  optionalNumber,
  requireName,
  requireText,
} from "./arguments.ts";
import type { ClientParts } from "./client_parts.ts";
import {
  checkRankingOptions,
  checkScoringWeights,
  rankingMembers,
} from "./ranking.ts";
import { readRecallMemory } from "./recall.ts";
import type { Ranking, RecallMemory, ScoringWeights } from "./recall_types.ts";
import type { RememberBulkResult, WaitOptions } from "./remember_types.ts";
import { waitForRememberJobs } from "./wait_for_jobs.ts";

/** How to analyze a text. */
export interface AnalyzeOptions {
  /**
   * Where the facts belong.
   *
   * @default the client's namespace
   */
  readonly namespace?: string | undefined;
  /**
   * When the text was said or written, so that "yesterday" means a day: a
   * `Date`, or a text in RFC 3339.
   *
   * @default unknown
   */
  readonly occurredAt?: Date | string | undefined;
}

/** What `analyzeAndWait` may be told beside the text. */
export interface AnalyzeAndWaitOptions extends AnalyzeOptions, WaitOptions {}

/** A fact that was extracted and is being stored. */
export interface AnalyzedFact {
  /** The fact. */
  readonly text: string;
  /** The memory that it becomes. */
  readonly id: string;
  /** The job that stores it; the same as `id`. */
  readonly job_id: string;
}

/** Facts were extracted, and jobs store them. */
export interface AnalyzeResult {
  /** The jobs. */
  readonly job_ids: readonly string[];
  /** The facts, in the order of the jobs. */
  readonly facts: readonly AnalyzedFact[];
  /** How many there are. */
  readonly fact_count: number;
  /** The jobs' state, usually `pending`. */
  readonly status: string;
  /** Address of the owner. */
  readonly owner: string;
}

/** Facts were extracted, and their jobs have ended. */
export interface AnalyzeAndWaitResult extends RememberBulkResult {
  /** The facts, in the order of `results`. */
  readonly facts: readonly AnalyzedFact[];
  /** Address of the owner. */
  readonly owner: string;
}

/** How to answer a question. */
export interface AskOptions {
  /**
   * Most memories to answer from.
   *
   * @default {5}
   */
  readonly limit?: number | undefined;
  /**
   * Where to look.
   *
   * @default the client's namespace
   */
  readonly namespace?: string | undefined;
  /**
   * What counts for which memories are used.
   *
   * @default relevance alone
   */
  readonly scoringWeights?: ScoringWeights | undefined;
  /**
   * What finds these memories. A relayer that does not offer `recall.ranking` is not
   * told, and goes by distance.
   *
   * @default the client's; without one `fused`
   */
  readonly ranking?: Ranking | undefined;
  /**
   * Whether each memory says what its place comes from, in `explanation`.
   *
   * @default {false}
   */
  readonly explain?: boolean | undefined;
}

/** An answer. */
export interface AskResult {
  /** The answer. */
  readonly answer: string;
  /** How many memories it was made from. */
  readonly memories_used: number;
  /** These memories. */
  readonly memories: readonly RecallMemory[];
}

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
 * Has facts extracted and waits until each is stored. The result tells the
 * outcome of each; a failed one is no exception.
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

const DEFAULT_ASK_LIMIT = 5;
/** A language model writes the answer, so it has a deadline of its own. */
const ASK_TIMEOUT_MS = 60_000;

/**
 * Has a question answered from the memories that fit it.
 *
 * @throws {TypeError} When an argument is not what it must be.
 * @throws {MemError} When the relayer does not do it.
 */
export async function ask(
  parts: ClientParts,
  question: string,
  options: AskOptions = {},
): Promise<AskResult> {
  const { namespace = parts.namespace, scoringWeights } = options;
  const { ranking = parts.ranking ?? "fused", explain } = checkRankingOptions(
    options,
  );
  const { json } = await parts.exchange.send({
    method: "POST",
    path: "/api/ask",
    readsMemories: true,
    body: {
      question: requireText(question, "question"),
      limit: optionalNumber(options.limit, "limit") ?? DEFAULT_ASK_LIMIT,
      namespace: requireName(namespace, "namespace"),
      scoring_weights: checkScoringWeights(scoringWeights),
      ...await rankingMembers(parts, { ranking, explain }),
    },
    timeoutMs: ASK_TIMEOUT_MS,
  });
  return {
    answer: readString(json, "answer"),
    memories_used: readCount(json, "memories_used"),
    memories: readArray(json, "memories").map(readRecallMemory),
  };
}
