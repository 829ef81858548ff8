/**
 * Operations for applications that encrypt and embed by themselves.
 *
 * @module
 */

import {
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
import { encodeBase64 } from "./base64.ts";
import type { ClientParts } from "./client_parts.ts";
import type {
  RecallManualHit,
  RecallManualHitResult,
  RecallManualParams,
  RememberManualParams,
  RememberManualResult,
  Vector,
} from "./manual_types.ts";
import { checkScoringWeights } from "./scoring_weights.ts";

const DEFAULT_LIMIT = 10;

/**
 * Stores a memory that the application encrypted and embedded.
 *
 * @throws {TypeError} When an argument is not what it must be.
 * @throws {MemError} When the relayer does not take it.
 */
export async function rememberManual(
  parts: ClientParts,
  params: RememberManualParams,
): Promise<RememberManualResult> {
  const { encryptedData, vector, namespace = parts.namespace } = params;
  const { json } = await parts.exchange.send({
    method: "POST",
    path: "/api/remember/manual",
    body: {
      encrypted_data: typeof encryptedData === "string"
        ? requireName(encryptedData, "encryptedData")
        : encodeBase64(bytesOf(encryptedData)),
      vector: numbersOf(vector),
      namespace: requireName(namespace, "namespace"),
    },
    timeoutMs: parts.requestTimeoutMs,
  });
  return {
    id: readNonEmptyString(json, "id"),
    blob_id: readString(json, "blob_id"),
    owner: readString(json, "owner"),
    namespace: readString(json, "namespace"),
  };
}

/**
 * Finds memories by a vector. Their texts stay encrypted in their blobs.
 *
 * @throws {TypeError} When an argument is not what it must be.
 * @throws {MemError} When the relayer refuses.
 */
export async function recallManual(
  parts: ClientParts,
  params: RecallManualParams,
): Promise<RecallManualHitResult> {
  const { vector, limit, namespace = parts.namespace } = params;
  const { json } = await parts.exchange.send({
    method: "POST",
    path: "/api/recall/manual",
    body: {
      vector: numbersOf(vector),
      limit: optionalNumber(limit, "limit") ?? DEFAULT_LIMIT,
      namespace: requireName(namespace, "namespace"),
      scoring_weights: checkScoringWeights(params.scoringWeights),
    },
    timeoutMs: parts.requestTimeoutMs,
  });
  const results = readArray(json, "results").map(hitOf);
  return {
    results,
    total: readOptionalNumber(json, "total") ?? results.length,
  };
}

/**
 * Has a text embedded; nothing is stored.
 *
 * @throws {TypeError} When `text` is no text.
 * @throws {MemError} When the relayer does not do it.
 */
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

function hitOf(json: unknown): RecallManualHit {
  const id = readOptionalString(json, "id");
  const createdAt = readOptionalString(json, "created_at");
  const importance = readOptionalNumber(json, "importance");
  const score = readOptionalNumber(json, "score");
  return {
    ...(id === undefined ? {} : { id }),
    blob_id: readString(json, "blob_id"),
    distance: readNumber(json, "distance"),
    ...(createdAt === undefined ? {} : { created_at: createdAt }),
    ...(importance === undefined ? {} : { importance }),
    ...(score === undefined ? {} : { score }),
  };
}

function bytesOf(value: Uint8Array): Uint8Array {
  if (!ArrayBuffer.isView(value)) {
    throw new TypeError(
      `Cannot use encryptedData: it is ${describe(value)} instead of bytes ` +
        `or base64`,
    );
  }
  if (value.byteLength > 0) return value;
  throw new TypeError("Cannot use encryptedData: it is empty");
}

/** JSON would write anything else as null, or as an object. */
function numbersOf(vector: Vector): readonly number[] {
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
