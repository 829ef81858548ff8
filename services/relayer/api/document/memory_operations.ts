/**
 * The words of the relayer's document about memories.
 *
 * @module
 */

import type { JsonValue } from "../../../shared/schema/schema.ts";
import { AT, BLOB, ID, type OperationWords, OWNER } from "./operation_words.ts";

const RECEIPT = {
  version: 1,
  kind: "remember",
  owner: OWNER,
  namespace: "default",
  memory_id: ID,
  blob_id: BLOB,
  content_hash: "9f86d081884c7d65…",
  time_ms: 1_896_091_200_000,
  key_id: "5d41402abc4b2a76",
  signature: "q83vASNFZ4m…",
} as const;

const MEMORY = {
  id: ID,
  blob_id: BLOB,
  text: "Ada prefers tea",
  distance: 0.18,
  relevance: 0.82,
  created_at: AT,
} as const;

const LOCKED = "The key servers give no key: `SESSION_REQUIRED` or " +
  "`KEY_REFUSED`";

const VECTOR: JsonValue = [0.1, 0.9, 0.2];

/** The words, by method and path. */
export const MEMORY_OPERATIONS: Readonly<Record<string, OperationWords>> = {
  "POST /api/remember": {
    id: "remember",
    tag: "remember",
    summary: "Remember a text",
    description: "The text is encrypted before the answer; a job embeds and " +
      "stores it. With an `idempotency_key` it is remembered once however " +
      "often it is sent.",
    sent: { text: "Ada prefers tea", namespace: "default", importance: 0.7 },
    status: 202,
    answer: "AcceptedText",
    means: "It is taken in",
    example: { job_id: ID, status: "running" },
    others: {
      402: "The owner would have more than the quota",
      404: "There is no memory to supersede",
      409: "The idempotency key stood for something else before",
    },
  },
  "POST /api/remember/bulk": {
    id: "rememberTexts",
    tag: "remember",
    summary: "Remember up to 20 texts",
    sent: { items: [{ text: "Ada prefers tea" }, { text: "Bob has a dog" }] },
    status: 202,
    answer: "AcceptedTexts",
    means: "All are taken in",
    example: { job_ids: [ID, "mem_01jz8k3v9y"], total: 2, status: "running" },
    others: {
      402: "The owner would have more than the quota",
      404: "There is no memory to supersede",
      409: "The idempotency key stood for something else before",
    },
  },
  "GET /api/remember/:id": {
    id: "getJob",
    tag: "remember",
    summary: "Tell how far a job is",
    query: {
      wait: {
        type: "integer",
        minimum: 0,
        description: "Seconds to wait for its end; 20 are enough",
      },
    },
    answer: "Job",
    means: "The job",
    example: {
      job_id: ID,
      status: "done",
      owner: OWNER,
      namespace: "default",
      blob_id: BLOB,
      receipt: RECEIPT,
      content_salt: "2c26b46b68ffc68f…",
    },
    others: { 400: "`wait` is no number", 404: "There is no such job" },
  },
  "POST /api/remember/bulk/status": {
    id: "getJobs",
    tag: "remember",
    summary: "Tell how far several jobs are",
    sent: { job_ids: [ID] },
    answer: "Jobs",
    means: "The jobs, in the order that was asked",
    example: { results: [{ job_id: ID, status: "not_found" }] },
  },
  "POST /api/analyze": {
    id: "analyze",
    tag: "remember",
    summary: "Find facts in a text and remember them",
    description: "Costs a further point for each fact.",
    sent: { text: "Ada said that she prefers tea.", occurred_at: AT },
    status: 202,
    answer: "Analyzed",
    means: "The facts, each with its job",
    example: {
      job_ids: [ID],
      facts: [{ text: "Ada prefers tea", id: ID, job_id: ID }],
      fact_count: 1,
      status: "pending",
      owner: OWNER,
    },
    others: {
      402: "The owner would have more than the quota",
      404: "There is no memory to supersede",
      409: "The idempotency key stood for something else before",
    },
  },
  "POST /api/recall": {
    id: "recall",
    tag: "recall",
    summary: "Find memories by a question",
    description: "`limit` is 10 unless said otherwise, or the number of `ids`.",
    sent: { query: "What does Ada drink?", limit: 5, ranking: "fused" },
    answer: "Recalled",
    means: "The memories, best first",
    example: { results: [MEMORY], total: 1 },
    others: { 403: LOCKED, 504: "`deadline_ms` was over" },
  },
  "POST /api/ask": {
    id: "ask",
    tag: "recall",
    summary: "Answer a question from memories",
    sent: { question: "What does Ada drink?" },
    answer: "Answered",
    means: "The answer, and the memories that it rests on",
    example: { answer: "Tea.", memories_used: 1, memories: [MEMORY] },
    others: { 403: LOCKED, 504: "Finding memories took too long" },
  },
  "POST /api/embed": {
    id: "embed",
    tag: "recall",
    summary: "Make the vector of a text",
    sent: { text: "Ada prefers tea" },
    answer: "Embedded",
    means: "The vector",
    example: { vector: VECTOR },
  },
  "DELETE /api/memories/:id": {
    id: "deleteMemory",
    tag: "remember",
    summary: "Delete a memory for good",
    description: "Its key goes with it. Asking again does no harm.",
    answer: "Deleted",
    means: "It is gone",
    example: {
      deleted: true,
      memory_id: ID,
      blob_id: BLOB,
      receipt: { ...RECEIPT, kind: "delete" },
    },
    others: { 404: "There is no such memory" },
  },
  "POST /api/remember/manual": {
    id: "rememberData",
    tag: "sealed data",
    summary: "Remember bytes that only the client can open",
    description: "Takes one of `encrypted_data` and `blob_id`.",
    sent: { encrypted_data: "AAECAw==", vector: VECTOR },
    answer: "StoredData",
    means: "It is stored, and recall finds it",
    example: {
      id: ID,
      blob_id: BLOB,
      owner: OWNER,
      namespace: "default",
      receipt: RECEIPT,
    },
    others: {
      402: "The owner would have more than the quota",
      409: "Another memory has this blob",
    },
  },
  "POST /api/recall/manual": {
    id: "recallData",
    tag: "sealed data",
    summary: "Find such memories by a vector",
    sent: { vector: VECTOR, limit: 5 },
    answer: "FoundData",
    means: "The memories, best first",
    example: {
      results: [{ id: ID, blob_id: BLOB, distance: 0.18, created_at: AT }],
      total: 1,
    },
    others: { 403: LOCKED, 504: "It took too long" },
  },
  "GET /api/memories/:id/blob": {
    id: "getBlob",
    tag: "sealed data",
    summary: "Give a memory's bytes as they are kept",
    answer: "Blob",
    means: "The bytes",
    example: { memory_id: ID, blob_id: BLOB, data: "AAECAw==" },
    others: { 404: "There is no such memory, or its blob is gone" },
  },
  "POST /api/memories/:id/vector": {
    id: "putVector",
    tag: "sealed data",
    summary: "Take the vector of such a memory again",
    description: "For `needs_vectors` of a restore.",
    sent: { vector: VECTOR },
    answer: "Reindexed",
    means: "Recall finds it again",
    example: { memory_id: ID, blob_id: BLOB },
    others: { 404: "There is no such memory, or its blob is gone" },
  },
  "POST /api/restore": {
    id: "restore",
    tag: "namespaces",
    summary: "Make the index of a namespace again",
    description: "From blobs and catalogue; `limit` is moved into 1 to 100.",
    sent: { namespace: "default", limit: 10 },
    answer: "Restored",
    means: "What came back",
    example: {
      restored: 1,
      skipped: 2,
      failed: 0,
      missing: 0,
      total: 3,
      namespace: "default",
      owner: OWNER,
      truncated: false,
      restored_ids: [ID],
    },
    others: { 403: LOCKED },
  },
  "POST /api/forget": {
    id: "forget",
    tag: "namespaces",
    summary: "Empty the index of a namespace",
    description: "Blobs stay, and `/api/restore` brings memories back.",
    sent: { namespace: "default" },
    answer: "Forgotten",
    means: "How many memories are forgotten",
    example: {
      deleted: 2,
      namespace: "default",
      owner: OWNER,
      receipt: {
        version: 1,
        kind: "forget",
        owner: OWNER,
        namespace: "default",
        count: 2,
        time_ms: 1_896_091_200_000,
        key_id: "5d41402abc4b2a76",
        signature: "q83vASNFZ4m…",
      },
    },
  },
  "POST /api/stats": {
    id: "stats",
    tag: "namespaces",
    summary: "Count the memories of a namespace",
    sent: { namespace: "default" },
    answer: "Stats",
    means: "How many, and how large",
    example: {
      memory_count: 2,
      storage_bytes: 512,
      namespace: "default",
      owner: OWNER,
    },
  },
};
