/**
 * Reads memories that were recalled.
 *
 * @module
 */

import {
  isObject,
  readNumber,
  readOptionalNumber,
  readOptionalString,
  readString,
} from "./answer_reader.ts";
import { readMetadata } from "./metadata.ts";
import type { RecallMemory } from "./recall_types.ts";

/**
 * Reads one memory of an answer.
 *
 * @throws {MemError} When it is not valid.
 */
export function readRecallMemory(json: unknown): RecallMemory {
  const id = readOptionalString(json, "id");
  const createdAt = readOptionalString(json, "created_at");
  const score = readOptionalNumber(json, "score");
  const metadata = isObject(json) ? readMetadata(json["metadata"]) : undefined;
  return {
    ...(id === undefined ? {} : { id }),
    blob_id: readString(json, "blob_id"),
    text: readString(json, "text"),
    distance: readNumber(json, "distance"),
    ...(createdAt === undefined ? {} : { created_at: createdAt }),
    ...(score === undefined ? {} : { score }),
    ...(metadata === undefined ? {} : { metadata }),
  };
}
