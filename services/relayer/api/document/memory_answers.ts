/**
 * JSON schemas of answers about memories, for the relayer's OpenAPI document.
 *
 * @module
 */

import { type JsonSchema, said } from "../../../shared/schema/schema.ts";
import { RATE_LAYERS } from "../../auth/rate_limits.ts";
import {
  BLOB_ID,
  COUNT,
  CREATED_AT,
  IMPORTANCE,
  listOf,
  MEMORY_ID,
  OWNER,
  TEXT,
  TIME,
  view,
} from "./answer_parts.ts";

function refTo(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

const NAMESPACE = said("The namespace that the memories are in");

const TEXT_OF_MEMORY = said("What is remembered");

const DISTANCE = said(
  "Cosine distance between the question and the memory: 0 is the same direction",
  { type: "number" },
);

const SCORE = said("The sum of the weighed terms", { type: "number" });

const JOB_IDS = said(
  "One job for each, in the order sent; `getJob` follows it",
  {
    type: "array",
    items: TEXT,
  },
);

const FOUND = said("Length of `results`", COUNT);

const JOB_STATUS: JsonSchema = {
  enum: ["pending", "running", "uploaded", "done", "failed"],
  description: "`pending` (facts of a text) and `running` (texts): on its " +
    "way, whether an attempt is under way or not; `uploaded`: recall finds it; " +
    "`done`: a restore brings it back, too; `failed`: given up, or deleted",
};

const JOB = {
  job_id: said("The job's id, which is the memory's too"),
  namespace: NAMESPACE,
  blob_id: BLOB_ID,
  error: said("Why it failed"),
  retrying: said(
    "There while an attempt failed and another one is to come",
    view("attempts next_at", {
      attempts: said("How many attempts have failed so far", COUNT),
      reason: said("Why the last attempt failed"),
      next_at: said("When the next attempt begins at the earliest", TIME),
    }),
  ),
  vector: {
    enum: ["ready", "pending", "refused"],
    description: "What became of the vector of a stored memory: `pending` " +
      "comes once the embedder answers, and `refused` never does; words find " +
      "the memory in any case",
  },
  receipt: refTo("Receipt"),
  content_salt: said(
    "The salt of the receipt's hash: who knows it and the text can check it",
  ),
};

/** The named schemas, by name. */
export const MEMORY_ANSWERS: Readonly<Record<string, JsonSchema>> = {
  Error: {
    type: "object",
    description: "Why a request is not answered as it was meant",
    required: ["error"],
    properties: {
      error: said("What is wrong, for people"),
      code: said("What is wrong, for programs", {
        enum: ["SESSION_REQUIRED", "KEY_REFUSED", "RECALL_TIMEOUT"],
      }),
      message: said("The same as `error`"),
      stage: said("What a recall was at when its time was over"),
      elapsed_ms: said("Milliseconds that a recall took until then", COUNT),
      trace_id: said("What the fault is found by in the log"),
    },
    additionalProperties: false,
  },
  RateLimited: said(
    "Whose points are used up, and when there are new ones",
    view("error layer limit retry_after_seconds", {
      error: said("What is wrong, for people"),
      layer: said("Whose limit it is, and for how long", { enum: RATE_LAYERS }),
      limit: said("Points that there are in the layer's time", COUNT),
      retry_after_seconds: said("The wait until a retry can succeed", COUNT),
    }),
  ),
  Receipt: said(
    "What was stored, deleted or forgotten, signed by the relayer; `/config` " +
      "tells its keys",
    view("version kind owner time_ms key_id signature", {
      version: said("Of the receipt's form", { const: 1 }),
      kind: said(
        "What was done: a memory stored or deleted, or an index emptied",
        {
          enum: ["remember", "delete", "forget"],
        },
      ),
      owner: OWNER,
      namespace: NAMESPACE,
      memory_id: MEMORY_ID,
      blob_id: BLOB_ID,
      content_hash: said("The hash of the content, in hexadecimal digits"),
      count: said("How many memories were forgotten", COUNT),
      time_ms: said("When, milliseconds since the Unix epoch", {
        type: "integer",
      }),
      key_id: said("The key that signed"),
      signature: said("Ed25519, Base64"),
    }),
  ),
  AcceptedText: said(
    "The job that stores a text",
    view("job_id status", { job_id: JOB.job_id, status: JOB_STATUS }),
  ),
  AcceptedTexts: said(
    "The jobs that store the texts",
    view("job_ids total status", {
      job_ids: JOB_IDS,
      total: said("How many texts were taken in", COUNT),
      status: JOB_STATUS,
    }),
  ),
  Job: said(
    "How far the storing of one text is",
    view("job_id status owner namespace", {
      ...JOB,
      status: JOB_STATUS,
      owner: OWNER,
    }),
  ),
  Jobs: said(
    "How far the storing of several texts is",
    view("results", {
      results: said(
        "One for each id, in the order that was asked",
        listOf(view("job_id status", {
          ...JOB,
          status: said(
            "As in `Job`; `not_found` when this owner has no such job",
            {
              enum: [
                ...["pending", "running", "uploaded", "done", "failed"],
                "not_found",
              ],
            },
          ),
        })),
      ),
    }),
  ),
  RecalledMemory: said(
    "A memory as a recall found it",
    view("id blob_id text distance created_at", {
      id: MEMORY_ID,
      blob_id: BLOB_ID,
      text: TEXT_OF_MEMORY,
      distance: DISTANCE,
      relevance: said("How sure it is that the memory answers, 0 to 1", {
        type: "number",
      }),
      explanation: said(
        "What its rank is made of",
        view("parts", {
          parts: said(
            "The terms of the score by name; compare them within one answer only",
            { type: "object", additionalProperties: { type: "number" } },
          ),
          matched: said("Words of the question that the text has", {
            type: "array",
            items: TEXT,
          }),
        }),
      ),
      created_at: CREATED_AT,
      score: SCORE,
      metadata: said(
        "What its writer sent with it; absent when that is nothing",
        {
          type: "object",
        },
      ),
    }),
  ),
  Recalled: said(
    "What a recall found",
    view("results total", {
      results: said("The memories, best first", {
        type: "array",
        items: refTo("RecalledMemory"),
      }),
      total: FOUND,
      dropped_count: said("Memories that could not be read now", COUNT),
      truncated: said("Whether there was no room for all", { type: "boolean" }),
      omitted_ids: said("Those there was no room for; ask again with `ids`", {
        type: "array",
        items: TEXT,
      }),
      notice: said("What the caller should know of how they were found"),
    }),
  ),
  StoredData: said(
    "The memory that sealed bytes became",
    view("id blob_id owner namespace receipt", {
      id: MEMORY_ID,
      blob_id: BLOB_ID,
      owner: OWNER,
      namespace: NAMESPACE,
      receipt: refTo("Receipt"),
    }),
  ),
  FoundData: said(
    "Memories that a vector found, without what only the client can open",
    view("results total", {
      results: said(
        "The memories, best first",
        listOf(view("id blob_id distance created_at", {
          id: MEMORY_ID,
          blob_id: BLOB_ID,
          distance: DISTANCE,
          created_at: CREATED_AT,
          importance: IMPORTANCE,
          score: SCORE,
          encrypted_data: said("Base64, where it was asked for and has room"),
        })),
      ),
      total: FOUND,
    }),
  ),
  Blob: said(
    "A memory's bytes as they are kept",
    view("memory_id blob_id data", {
      memory_id: MEMORY_ID,
      blob_id: BLOB_ID,
      data: said("The bytes as they are kept, Base64"),
    }),
  ),
  Reindexed: said(
    "The memory that recall finds again",
    view("memory_id blob_id", { memory_id: MEMORY_ID, blob_id: BLOB_ID }),
  ),
  Analyzed: said(
    "Facts that were found in a text, and the jobs that store them",
    view("job_ids facts fact_count status owner", {
      job_ids: JOB_IDS,
      facts: said(
        "What was found, in the order of the jobs",
        listOf(view("text id job_id", {
          text: TEXT_OF_MEMORY,
          id: said("The memory that it becomes"),
          job_id: said("The job that stores it; the same as `id`"),
        })),
      ),
      fact_count: said("Length of `facts`; each costs a point", COUNT),
      status: JOB_STATUS,
      owner: OWNER,
    }),
  ),
  Embedded: said(
    "What a text is found by",
    view("vector", {
      vector: said("Its width is that of the relayer's embedder", {
        type: "array",
        items: { type: "number" },
      }),
    }),
  ),
  Answered: said(
    "What the model made of the memories",
    view("answer memories_used memories", {
      answer: said("Text for people"),
      memories_used: said("Length of `memories`", COUNT),
      memories: said("Those that the answer rests on", {
        type: "array",
        items: refTo("RecalledMemory"),
      }),
    }),
  ),
  Restored: said(
    "How the making of an index went",
    view(
      "restored skipped failed missing total namespace owner truncated restored_ids",
      {
        restored: said("Memories that recall finds again", COUNT),
        skipped: said("Those that were there", COUNT),
        failed: said(
          "Those whose blob cannot be had, or never be opened",
          COUNT,
        ),
        missing: said("Those whose blob is gone", COUNT),
        total: said("Blobs that were looked at", COUNT),
        namespace: NAMESPACE,
        owner: OWNER,
        truncated: said("Whether there are more", { type: "boolean" }),
        restored_ids: said("Which memories came back", listOf(TEXT)),
        needs_vectors: said("Those whose vector only the client can make", {
          type: "array",
          items: view("memory_id blob_id", {
            memory_id: MEMORY_ID,
            blob_id: BLOB_ID,
          }),
        }),
      },
    ),
  ),
  Forgotten: said(
    "How an index was emptied",
    view("deleted namespace owner receipt", {
      deleted: said("How many memories recall no longer finds", COUNT),
      namespace: NAMESPACE,
      owner: OWNER,
      receipt: refTo("Receipt"),
    }),
  ),
  Stats: said(
    "How much a namespace holds",
    view("memory_count storage_bytes namespace owner", {
      memory_count: said("Without those that newer ones supersede", COUNT),
      storage_bytes: said("Of all blobs, superseded memories' too", COUNT),
      namespace: NAMESPACE,
      owner: OWNER,
    }),
  ),
  Deleted: said(
    "The memory that is gone",
    view("deleted memory_id blob_id receipt", {
      deleted: said("Always so; what was not there is answered with 404", {
        const: true,
      }),
      memory_id: MEMORY_ID,
      blob_id: said("Empty for a text that was not stored yet"),
      receipt: refTo("Receipt"),
    }),
  ),
};
