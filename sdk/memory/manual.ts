/**
 * Calls for applications that encrypt and embed by themselves.
 *
 * @module
 */

import type { CallOptions } from "./life.ts";
import {
  omitUndefined,
  readArray,
  readNonEmptyString,
  readNumber,
  readNumbers,
  readOptionalNumber,
  readOptionalString,
  readString,
} from "./answer_reader.ts";
import {
  describe,
  optionalNumber,
  requireName,
  requireText,
} from "./arguments.ts";
import { readReceipt, type Receipted } from "./receipt.ts";
import type { ClientParts } from "./client_parts.ts";
import { encodeBase64 } from "./encodings.ts";
import { checkScoringWeights } from "./ranking.ts";
import type {
  RecallMemory,
  RecallOptions,
  ScoringWeights,
} from "./recall_types.ts";

/**
 * A vector of finite numbers, as long as the vectors of the relayer's embedding
 * model.
 */
export type Vector = readonly number[] | Float32Array | Float64Array;

/** A memory that the application encrypted and embedded. */
export interface RememberManualParams extends CallOptions {
  /** The encrypted bytes, as they are or in base64. */
  readonly encryptedData: Uint8Array | string;
  /** The vector of the memory's text. */
  readonly vector: Vector;
  /**
   * The memory's namespace.
   *
   * @default the client's namespace
   */
  readonly namespace?: string | undefined;
}

/** The result of `rememberManual`: the memory was stored. */
export interface RememberManualResult extends Receipted {
  /** The memory's id. */
  readonly id: string;
  /** The blob that holds it. */
  readonly blob_id: string;
  /** Address of the owner. */
  readonly owner: string;
  /** The memory's namespace. */
  readonly namespace: string;
}

/** A question that the application embedded. */
export interface RecallManualParams
  extends CallOptions, Pick<RecallOptions, "limit" | "namespace"> {
  /** The vector of the question. */
  readonly vector: Vector;
  /**
   * Weights that decide the order of the results.
   *
   * @default relevance alone
   */
  readonly scoringWeights?: ScoringWeights | undefined;
  /**
   * Whether the results include the encrypted bytes of the memories, as far as
   * the answer has room. Older relayers do not include them.
   *
   * @default {false}
   */
  readonly includeData?: boolean | undefined;
}

/** A memory that was found, without its text. */
export interface RecallManualHit extends
  Pick<
    RecallMemory,
    "id" | "blob_id" | "distance" | "created_at" | "score"
  > {
  /** How important the memory is, 0 to 1, where that is known. */
  readonly importance?: number;
  /** The encrypted bytes in Base64, where they were asked for and had room. */
  readonly encrypted_data?: string;
}

/** The memories that a manual recall found. */
export interface RecallManualHitResult {
  /** The memories, in order. */
  readonly results: readonly RecallManualHit[];
  /** The number of memories in `results`. */
  readonly total: number;
}

const DEFAULT_LIMIT = 10;

/** Does what {@linkcode Mem.rememberManual} says. */
export async function rememberManual(
  parts: ClientParts,
  params: RememberManualParams,
): Promise<RememberManualResult> {
  const { encryptedData, vector, namespace = parts.namespace } = params;
  const { json } = await parts.exchange.send({
    method: "POST",
    path: "/api/remember/manual",
    changes: true,
    body: {
      encrypted_data: typeof encryptedData === "string"
        ? requireName(encryptedData, "encryptedData")
        : encodeBase64(readBytes(encryptedData)),
      vector: toNumbers(vector),
      namespace: requireName(namespace, "namespace"),
    },
    timeoutMs: parts.requestTimeoutMs,
  });
  return omitUndefined({
    id: readNonEmptyString(json, "id"),
    blob_id: readString(json, "blob_id"),
    owner: readString(json, "owner"),
    namespace: readString(json, "namespace"),
    receipt: readReceipt(json),
  });
}

/** Does what {@linkcode Mem.recallManual} says. */
export async function recallManual(
  parts: ClientParts,
  params: RecallManualParams,
): Promise<RecallManualHitResult> {
  const { vector, limit, namespace = parts.namespace } = params;
  const { json } = await parts.exchange.send({
    method: "POST",
    path: "/api/recall/manual",
    body: {
      vector: toNumbers(vector),
      limit: optionalNumber(limit, "limit") ?? DEFAULT_LIMIT,
      namespace: requireName(namespace, "namespace"),
      scoring_weights: checkScoringWeights(params.scoringWeights),
      include_data: params.includeData === true ? true : undefined,
    },
    timeoutMs: parts.requestTimeoutMs,
  });
  const results = readArray(json, "results").map(readHit);
  return {
    results,
    total: readOptionalNumber(json, "total") ?? results.length,
  };
}

/** Does what {@linkcode Mem.embed} says. */
export async function embed(
  parts: ClientParts,
  text: string,
): Promise<readonly number[]> {
  const { json } = await parts.exchange.send({
    method: "POST",
    path: "/api/embed",
    body: { text: requireText(text, "text") },
    timeoutMs: parts.requestTimeoutMs,
  });
  return readNumbers(json, "vector");
}

function readHit(json: unknown): RecallManualHit {
  return omitUndefined({
    id: readOptionalString(json, "id"),
    blob_id: readString(json, "blob_id"),
    distance: readNumber(json, "distance"),
    created_at: readOptionalString(json, "created_at"),
    importance: readOptionalNumber(json, "importance"),
    score: readOptionalNumber(json, "score"),
    encrypted_data: readOptionalString(json, "encrypted_data"),
  });
}

function readBytes(value: Uint8Array): Uint8Array {
  if (!ArrayBuffer.isView(value)) {
    throw new TypeError(
      `Cannot use encryptedData: it is ${describe(value)} instead of bytes ` +
        `or base64`,
    );
  }
  if (value.byteLength > 0) return value;
  throw new TypeError("Cannot use encryptedData: it is empty");
}

/**
 * Returns the numbers of a vector as a list, because JSON would write a typed
 * array as an object, and numbers that are not finite as null.
 */
function toNumbers(vector: Vector): readonly number[] {
  if (!Array.isArray(vector) && !ArrayBuffer.isView(vector)) {
    throw new TypeError(
      `Cannot use vector: it is ${describe(vector)} instead of numbers`,
    );
  }
  const numbers = Array.from(vector as ArrayLike<number>);
  if (numbers.length > 0 && numbers.every(Number.isFinite)) return numbers;
  throw new TypeError(
    "Cannot use vector: it is empty, or not all of it are finite numbers",
  );
}
