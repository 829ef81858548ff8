/**
 * Calls that use the relayer's language model: it extracts facts from a text,
 * and answers a question from memories.
 *
 * @module
 */

import type { CallOptions } from "./life.ts";
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
import { type ClientParts, rankingMembers } from "./client_parts.ts";
import { checkRankingOptions, checkScoringWeights } from "./ranking.ts";
import { readRecallMemory } from "./recall.ts";
import type {
  Ranking,
  RankingOptions,
  RecallMemory,
  RecallOptions,
  ScoringWeights,
} from "./recall_types.ts";
import type { RememberBulkResult, WaitOptions } from "./remember_types.ts";
import {
  JOBS_TIMEOUT_MS,
  sendWithin,
  waitForRememberJobs,
} from "./wait_for_jobs.ts";

/** What `analyze` takes besides the text. */
export interface AnalyzeOptions extends CallOptions {
  /**
   * The namespace of the facts.
   *
   * @default the client's namespace
   */
  readonly namespace?: string | undefined;
  /**
   * When the text was said or written, so that the model can date words such as
   * "yesterday": a `Date`, or a text in RFC 3339.
   *
   * @default unknown
   */
  readonly occurredAt?: Date | string | undefined;
  /**
   * What a relayer without a chat model keeps: statements of people about
   * themselves, or every sentence but questions, requests and small talk. A chat
   * model decides by itself.
   *
   * @default {"statements"}
   */
  readonly keep?: "statements" | "all" | undefined;
}

/** What `analyzeAndWait` takes besides the text. */
export interface AnalyzeAndWaitOptions extends AnalyzeOptions, WaitOptions {}

/** A fact that was extracted, which a job stores as a memory. */
export interface AnalyzedFact {
  /** The fact. */
  readonly text: string;
  /** The id of the memory to come. */
  readonly id: string;
  /** The job that stores it; the same as `id`. */
  readonly job_id: string;
}

/** The result of `analyze`: facts were extracted, and jobs store them. */
export interface AnalyzeResult {
  /** The jobs that store the facts. */
  readonly job_ids: readonly string[];
  /** The facts, in the order of the jobs. */
  readonly facts: readonly AnalyzedFact[];
  /** The number of facts. */
  readonly fact_count: number;
  /** The jobs' status, usually `pending`. */
  readonly status: string;
  /** Address of the owner. */
  readonly owner: string;
}

/**
 * The result of `analyzeAndWait`: facts were extracted, and their jobs have
 * ended.
 */
export interface AnalyzeAndWaitResult extends RememberBulkResult {
  /** The facts, in the order of `results`. */
  readonly facts: readonly AnalyzedFact[];
  /** Address of the owner. */
  readonly owner: string;
}

/** What `ask` takes besides the question. */
export interface AskOptions
  extends
    CallOptions,
    Pick<RecallOptions, "namespace">,
    Pick<RankingOptions, "explain"> {
  /**
   * The most memories to answer from.
   *
   * @default {5}
   */
  readonly limit?: number | undefined;
  /**
   * Weights that decide which of the memories are used.
   *
   * @default relevance alone
   */
  readonly scoringWeights?: ScoringWeights | undefined;
  /**
   * How the memories are ranked. A relayer that does not offer `recall.ranking`
   * is not sent this option, and ranks by distance.
   *
   * @default the client's; without one `fused`
   */
  readonly ranking?: Ranking | undefined;
}

/** What the relayer's model answered, and from what. */
export interface AskResult {
  /** Text for people. */
  readonly answer: string;
  /** How many memories it was made from. */
  readonly memories_used: number;
  /** The memories that the answer was made from. */
  readonly memories: readonly RecallMemory[];
}

/**
 * Timeout of `analyze`. It is longer than the usual one, because a language
 * model reads the text first.
 */
const ANALYZE_TIMEOUT_MS = 60_000;
const RFC_3339 =
  /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/;

/** Does what {@linkcode Mem.analyze} says. */
export async function analyze(
  parts: ClientParts,
  text: string,
  options: AnalyzeOptions = {},
): Promise<AnalyzeResult> {
  const { namespace = parts.namespace, occurredAt, keep } = options;
  const { json } = await parts.exchange.send({
    method: "POST",
    path: "/api/analyze",
    changes: true,
    body: {
      text: requireText(text, "text"),
      namespace: requireName(namespace, "namespace"),
      occurred_at: formatInstant(occurredAt),
      keep: readKeep(keep),
    },
    timeoutMs: ANALYZE_TIMEOUT_MS,
  });
  return {
    job_ids: readStrings(json, "job_ids"),
    facts: readArray(json, "facts").map(readFact),
    fact_count: readCount(json, "fact_count"),
    status: readString(json, "status"),
    owner: readString(json, "owner"),
  };
}

/** Does what {@linkcode Mem.analyzeAndWait} says. */
export async function analyzeAndWait(
  parts: ClientParts,
  text: string,
  options: AnalyzeAndWaitOptions = {},
): Promise<AnalyzeAndWaitResult> {
  const [{ job_ids, facts, owner }, left] = await sendWithin(parts, {
    ...options,
    defaultTimeoutMs: JOBS_TIMEOUT_MS,
    send: () => analyze(parts, text, options),
  });
  const { namespace = parts.namespace } = options;
  const outcome = await waitForRememberJobs(parts, job_ids, {
    ...options,
    ...left,
    namespaces: job_ids.map(() => namespace),
  });
  return { ...outcome, facts, owner };
}

function readKeep(keep: AnalyzeOptions["keep"]): AnalyzeOptions["keep"] {
  if (keep === undefined || keep === "statements" || keep === "all") {
    return keep;
  }
  throw new TypeError(
    'Cannot analyze: keep is neither "statements" nor "all"',
  );
}

function readFact(json: unknown): AnalyzedFact {
  const id = readNonEmptyString(json, "id");
  return {
    text: readString(json, "text"),
    id,
    job_id: readOptionalString(json, "job_id") ?? id,
  };
}

/**
 * Returns a time as a text. A text in RFC 3339 is kept as it is, because its
 * offset decides which day "yesterday" was.
 */
function formatInstant(value: unknown): string | undefined {
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
  throw new TypeError("Cannot use occurredAt: it is not a valid date");
}

const DEFAULT_ASK_LIMIT = 5;
/**
 * Timeout of `ask`. It is longer than the usual one, because a language model
 * writes the answer.
 */
const ASK_TIMEOUT_MS = 60_000;

/** Does what {@linkcode Mem.ask} says. */
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
