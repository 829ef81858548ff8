/**
 * JSON schemas of the relayer's answers, for its OpenAPI document.
 *
 * @module
 */

import type { JsonSchema } from "../../../shared/schema/schema.ts";
import { RATE_LAYERS } from "../../auth/rate_limits.ts";

const TEXT: JsonSchema = { type: "string" };
const COUNT: JsonSchema = { type: "integer", minimum: 0 };

function said(description: string, schema: JsonSchema = TEXT): JsonSchema {
  return { ...schema, description };
}

function refTo(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

function listOf(items: JsonSchema): JsonSchema {
  return { type: "array", items };
}

/**
 * Makes the schema of an object with these members and no others; `required`
 * names those that are always there.
 */
function view(
  required: string,
  properties: Readonly<Record<string, JsonSchema>>,
): JsonSchema {
  return {
    type: "object",
    required: required === "" ? [] : required.split(" "),
    properties,
    additionalProperties: false,
  };
}

const TIME: JsonSchema = { type: "string", format: "date-time" };
const NULLABLE_TIME: JsonSchema = {
  type: ["string", "null"],
  format: "date-time",
};
const OWNER = said("The owner's address");
const NAMESPACE = said("The namespace");
const MEMORY_ID = said("The memory's id");
const BLOB_ID = said("The id of the blob that holds it");
const CURSOR = said("What `updated_after` takes for the next page", {
  type: ["string", "null"],
});

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
  retrying: view("attempts next_at", {
    attempts: COUNT,
    reason: said("Why the last attempt failed"),
    next_at: TIME,
  }),
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

const CONTRACT = {
  relayerVersion: TEXT,
  apiVersion: TEXT,
  minSupportedSdk: said("The oldest clients that are served, by language", {
    type: "object",
    additionalProperties: TEXT,
  }),
  featureFlags: {
    type: "object",
    additionalProperties: { type: "boolean" },
  },
  deprecations: listOf(view("surface", {
    surface: TEXT,
    deprecatedSince: TEXT,
    removalApiVersion: TEXT,
    guidance: TEXT,
  })),
  build: view("", { commit: TEXT }),
} as const satisfies Readonly<Record<string, JsonSchema>>;

const CONTRACT_NAMES = Object.keys(CONTRACT).join(" ");

/** The named schemas, by name. */
export const ANSWER_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  Error: {
    type: "object",
    required: ["error"],
    properties: {
      error: said("What is wrong, for people"),
      code: said("What is wrong, for programs", {
        enum: ["SESSION_REQUIRED", "KEY_REFUSED", "RECALL_TIMEOUT"],
      }),
      message: said("The same as `error`"),
      stage: said("What a recall was at when its time was over"),
      elapsed_ms: COUNT,
      trace_id: said("What the fault is found by in the log"),
    },
    additionalProperties: false,
  },
  RateLimited: view("error layer limit retry_after_seconds", {
    error: said("What is wrong, for people"),
    layer: said("Whose limit it is, and for how long", { enum: RATE_LAYERS }),
    limit: COUNT,
    retry_after_seconds: COUNT,
  }),
  Receipt: said(
    "What was stored, deleted or forgotten, signed by the relayer; `/config` " +
      "tells its keys",
    view("version kind owner time_ms key_id signature", {
      version: { const: 1 },
      kind: { enum: ["remember", "delete", "forget"] },
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
  AcceptedText: view("job_id status", {
    job_id: JOB.job_id,
    status: JOB_STATUS,
  }),
  AcceptedTexts: view("job_ids total status", {
    job_ids: listOf(TEXT),
    total: COUNT,
    status: JOB_STATUS,
  }),
  Job: view("job_id status owner namespace", {
    ...JOB,
    status: JOB_STATUS,
    owner: OWNER,
  }),
  Jobs: view("results", {
    results: listOf(view("job_id status", {
      ...JOB,
      status: {
        enum: ["pending", "running", "uploaded", "done", "failed", "not_found"],
      },
    })),
  }),
  RecalledMemory: view("id blob_id text distance created_at", {
    id: MEMORY_ID,
    blob_id: BLOB_ID,
    text: TEXT,
    distance: said("Cosine distance", { type: "number" }),
    relevance: said("How sure it is that the memory answers, 0 to 1", {
      type: "number",
    }),
    explanation: said(
      "What its rank is made of",
      view("parts", {
        parts: { type: "object", additionalProperties: { type: "number" } },
        matched: listOf(TEXT),
      }),
    ),
    created_at: TIME,
    score: said("The sum of the weighed terms", { type: "number" }),
    metadata: { type: "object" },
  }),
  Recalled: view("results total", {
    results: listOf(refTo("RecalledMemory")),
    total: COUNT,
    dropped_count: said("Memories that could not be read now", COUNT),
    truncated: said("Whether there was no room for all", { type: "boolean" }),
    omitted_ids: said("Those there was no room for; ask again with `ids`", {
      type: "array",
      items: TEXT,
    }),
    notice: said("What the caller should know of how they were found"),
  }),
  StoredData: view("id blob_id owner namespace receipt", {
    id: MEMORY_ID,
    blob_id: BLOB_ID,
    owner: OWNER,
    namespace: NAMESPACE,
    receipt: refTo("Receipt"),
  }),
  FoundData: view("results total", {
    results: listOf(view("id blob_id distance created_at", {
      id: MEMORY_ID,
      blob_id: BLOB_ID,
      distance: said("Cosine distance", { type: "number" }),
      created_at: TIME,
      importance: { type: ["number", "null"] },
      score: said("The sum of the weighed terms", { type: "number" }),
      encrypted_data: said("Base64, where it was asked for and has room"),
    })),
    total: COUNT,
  }),
  Blob: view("memory_id blob_id data", {
    memory_id: MEMORY_ID,
    blob_id: BLOB_ID,
    data: said("The bytes as they are kept, Base64"),
  }),
  Reindexed: view("memory_id blob_id", {
    memory_id: MEMORY_ID,
    blob_id: BLOB_ID,
  }),
  Analyzed: view("job_ids facts fact_count status owner", {
    job_ids: listOf(TEXT),
    facts: listOf(view("text id job_id", {
      text: TEXT,
      id: TEXT,
      job_id: TEXT,
    })),
    fact_count: COUNT,
    status: JOB_STATUS,
    owner: OWNER,
  }),
  Embedded: view("vector", { vector: listOf({ type: "number" }) }),
  Answered: view("answer memories_used memories", {
    answer: TEXT,
    memories_used: COUNT,
    memories: said("Those that the answer rests on", {
      type: "array",
      items: refTo("RecalledMemory"),
    }),
  }),
  Restored: view(
    "restored skipped failed missing total namespace owner truncated restored_ids",
    {
      restored: COUNT,
      skipped: said("Those that were there", COUNT),
      failed: COUNT,
      missing: said("Those whose blob is gone", COUNT),
      total: COUNT,
      namespace: NAMESPACE,
      owner: OWNER,
      truncated: said("Whether there are more", { type: "boolean" }),
      restored_ids: listOf(TEXT),
      needs_vectors: said("Those whose vector only the client can make", {
        type: "array",
        items: view("memory_id blob_id", {
          memory_id: MEMORY_ID,
          blob_id: BLOB_ID,
        }),
      }),
    },
  ),
  Forgotten: view("deleted namespace owner receipt", {
    deleted: COUNT,
    namespace: NAMESPACE,
    owner: OWNER,
    receipt: refTo("Receipt"),
  }),
  Stats: view("memory_count storage_bytes namespace owner", {
    memory_count: COUNT,
    storage_bytes: COUNT,
    namespace: NAMESPACE,
    owner: OWNER,
  }),
  Deleted: view("deleted memory_id blob_id receipt", {
    deleted: { const: true },
    memory_id: MEMORY_ID,
    blob_id: said("Empty for a text that was not stored yet"),
    receipt: refTo("Receipt"),
  }),
  Who: view("account_id owner package_id", {
    account_id: TEXT,
    owner: OWNER,
    package_id: TEXT,
  }),
  Exists: view("exists", { exists: { type: "boolean" } }),
  Namespaces: view("namespaces next_cursor has_more snapshot_version", {
    namespaces: listOf(view("id name memory_count storage_used updated_at", {
      id: TEXT,
      name: TEXT,
      memory_count: COUNT,
      storage_used: said("Bytes", COUNT),
      updated_at: TIME,
    })),
    next_cursor: CURSOR,
    has_more: { type: "boolean" },
    snapshot_version: COUNT,
  }),
  Memories: view(
    "memories next_cursor has_more snapshot_version deleted must_resync",
    {
      memories: listOf(view(
        "memory_id namespace_id blob_id created_at updated_at size status",
        {
          memory_id: MEMORY_ID,
          namespace_id: TEXT,
          blob_id: BLOB_ID,
          created_at: TIME,
          updated_at: TIME,
          size: said("Bytes", COUNT),
          agent_id: said("The public key of who wrote it", {
            type: ["string", "null"],
          }),
          package_id: { type: ["string", "null"] },
          status: { enum: ["active", "superseded"] },
          end_epoch: { type: ["integer", "null"] },
          expires_at: NULLABLE_TIME,
          importance: { type: ["number", "null"] },
          supersedes: said("The memory that it replaces"),
          superseded_by: said("The memory that replaces it"),
        },
      )),
      next_cursor: CURSOR,
      has_more: { type: "boolean" },
      snapshot_version: COUNT,
      deleted: listOf(view("memory_id namespace_id deleted_at", {
        memory_id: MEMORY_ID,
        namespace_id: TEXT,
        deleted_at: TIME,
      })),
      must_resync: said("Whether the cursor is too old: begin again", {
        type: "boolean",
      }),
    },
  ),
  Agents: view("agents snapshot_version", {
    agents: listOf(view("label sui_address agent_id", {
      label: TEXT,
      sui_address: TEXT,
      agent_id: said("The public key"),
    })),
    snapshot_version: COUNT,
  }),
  OwnerToken: view("token expires_at permissions", {
    token: TEXT,
    expires_at: TIME,
    permissions: listOf(TEXT),
  }),
  Version: view(CONTRACT_NAMES, CONTRACT),
  Health: view(
    `status version ${CONTRACT_NAMES} mode prompt_versions write_ready`,
    {
      status: { const: "ok" },
      version: TEXT,
      ...CONTRACT,
      mode: { const: "production" },
      prompt_versions: view("extract ask", { extract: TEXT, ask: TEXT }),
      write_ready: said("Whether what is written now would be kept", {
        type: "boolean",
      }),
      embedder: view("state", {
        state: {
          enum: ["ready", "away", "misfit"],
          description: "Whether vectors are made: `away` while the endpoint " +
            "does not answer, `misfit` while its vectors have another width " +
            "than is set",
        },
        reason: said("Why none are made"),
      }),
    },
  ),
  Config: view("packageId network rateLimitDisabled receiptKeys", {
    packageId: TEXT,
    registryId: TEXT,
    network: TEXT,
    suiRpcUrl: said("Where the ledger is"),
    suiTransport: { const: "jsonrpc" },
    rateLimitDisabled: { type: "boolean" },
    keyServers: listOf({ type: "object" }),
    keyServerThreshold: COUNT,
    receiptKeys: said("The keys that receipts are signed with", {
      type: "array",
      items: { type: "object" },
    }),
  }),
};
