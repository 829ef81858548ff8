/**
 * The answers about memories.
 *
 * @module
 */

import { named, said } from "../../../shared/schema/schema.ts";
import { RATE_LAYERS } from "../../auth/rate_limits.ts";
import {
  type AnswerPart,
  arraySchema,
  BLOB_ID,
  BLOB_SAMPLE,
  count,
  CREATED_AT,
  flag,
  ID_SAMPLE,
  IMPORTANCE,
  maybe,
  MEMORY_ID,
  number,
  often,
  only,
  OWNER,
  OWNER_SAMPLE,
  part,
  text,
  texts,
  time,
  view,
} from "./answer_parts.ts";

const NAMESPACE = text("The namespace that the memories are in", "default");

const TEXT_OF_MEMORY = text("The remembered text", "Ada prefers tea");

const DISTANCE = number(
  "Cosine distance between the question and the memory: 0 is the same direction",
  0.18,
);

const SCORE = maybe(number("The sum of the weighed terms"));

function jobIds(sample: readonly string[]): AnswerPart {
  return texts(
    "One job for each, in the order sent; `getJob` follows it",
    sample,
  );
}

const FOUND = count("Length of `results`", 1);

const STATES = ["pending", "running", "uploaded", "done", "failed"] as const;

function jobStatus(sample: typeof STATES[number]): AnswerPart {
  return part({
    enum: STATES,
    description: "`pending` (facts of a text) and `running` (texts): on its " +
      "way, whether an attempt is under way or not; `uploaded`: recall finds it; " +
      "`done`: a restore brings it back, too; `failed`: given up, or deleted",
  }, sample);
}

const SIGNED_SAMPLE = {
  time_ms: 1_896_091_200_000,
  key_id: "5d41402abc4b2a76",
  signature: "q83vASNFZ4m…",
};

const RECEIPT = named(
  "Receipt",
  view(
    "What was stored, deleted or forgotten, signed by the relayer; `/config` " +
      "tells its keys",
    {
      version: only("Of the receipt's form", 1),
      kind: part(
        said("The action: a memory stored or deleted, or an index emptied", {
          enum: ["remember", "delete", "forget"],
        }),
        "remember",
      ),
      owner: OWNER,
      namespace: often(NAMESPACE),
      memory_id: often(MEMORY_ID),
      blob_id: often(BLOB_ID),
      content_hash: often(text(
        "The hash of the content, in hexadecimal digits",
        "9f86d081884c7d65…",
      )),
      count: maybe(count("Number of forgotten memories")),
      time_ms: part(
        said("When, milliseconds since the Unix epoch", { type: "integer" }),
        SIGNED_SAMPLE.time_ms,
      ),
      key_id: text("The key that signed", SIGNED_SAMPLE.key_id),
      signature: text("Ed25519, Base64", SIGNED_SAMPLE.signature),
    },
  ),
);

const JOB_ID = text("The job's id, which is also the memory's", ID_SAMPLE);

const JOB_TROUBLE = {
  error: maybe(text("Why it failed")),
  retrying: maybe(
    view("There while an attempt failed and another one is to come", {
      attempts: count("Number of failed attempts so far"),
      reason: maybe(text("Why the last attempt failed")),
      next_at: time("When the next attempt begins at the earliest"),
    }),
  ),
  vector: maybe(part({
    enum: ["ready", "pending", "refused"],
    description: "The state of the vector of a stored memory: `pending` " +
      "comes once the embedder answers, and `refused` never does; words find " +
      "the memory in any case",
  })),
};

const SALT = text(
  "The salt of the receipt's hash: who knows it and the text can check it",
  "2c26b46b68ffc68f…",
);

const RECALLED_MEMORY = named(
  "RecalledMemory",
  view("A memory as a recall found it", {
    id: MEMORY_ID,
    blob_id: BLOB_ID,
    text: TEXT_OF_MEMORY,
    distance: DISTANCE,
    relevance: often(
      number("How sure it is that the memory answers, 0 to 1", 0.82),
    ),
    explanation: maybe(view("What its rank is made of", {
      parts: part(said(
        "The terms of the score by name; compare them within one answer only",
        { type: "object", additionalProperties: { type: "number" } },
      )),
      matched: maybe(texts("Words of the question that the text has")),
    })),
    created_at: CREATED_AT,
    score: SCORE,
    metadata: maybe(part(said(
      "What its writer sent with it; absent when that is nothing",
      { type: "object" },
    ))),
  }),
);

/** The answers by the names of their schemas. */
const ANSWERS = {
  Error: view("Why a request is not answered as it was meant", {
    error: text("The fault, for people"),
    code: maybe(part(said("The code of the fault, for programs", {
      examples: ["SESSION_REQUIRED", "INSUFFICIENT_SCOPE", "RECALL_TIMEOUT"],
    }))),
    message: maybe(text("The same as `error`")),
    stage: maybe(text("The step of a recall at its timeout")),
    elapsed_ms: maybe(
      count("Milliseconds that a recall took until then"),
    ),
    trace_id: maybe(text("The id of the fault in the log")),
  }),
  RateLimited: view("Whose points are used up, and when there are new ones", {
    error: text("The fault, for people"),
    layer: part(
      said("The owner and the duration of the limit", { enum: RATE_LAYERS }),
    ),
    limit: count("Points that there are in the layer's time"),
    retry_after_seconds: count("The wait until a retry can succeed"),
  }),
  AcceptedText: view("The job that stores a text", {
    job_id: JOB_ID,
    status: jobStatus("running"),
  }),
  AcceptedTexts: view("The jobs that store the texts", {
    job_ids: jobIds([ID_SAMPLE, "mem_01jz8k3v9y"]),
    total: count("Number of accepted texts", 2),
    status: jobStatus("running"),
  }),
  Job: view("How far the storing of one text is", {
    job_id: JOB_ID,
    status: jobStatus("done"),
    owner: OWNER,
    namespace: NAMESPACE,
    blob_id: often(BLOB_ID),
    ...JOB_TROUBLE,
    receipt: often(RECEIPT),
    content_salt: often(SALT),
  }),
  Jobs: view("How far the storing of several texts is", {
    results: arraySchema(
      "One for each id, in the order that was asked",
      view(undefined, {
        job_id: JOB_ID,
        status: part(
          said("As in `Job`; `not_found` when this owner has no such job", {
            enum: [...STATES, "not_found"],
          }),
          "not_found",
        ),
        namespace: maybe(NAMESPACE),
        blob_id: maybe(BLOB_ID),
        ...JOB_TROUBLE,
        receipt: maybe(RECEIPT),
        content_salt: maybe(SALT),
      }),
    ),
  }),
  Recalled: view("What a recall found", {
    results: arraySchema("The memories, best first", RECALLED_MEMORY),
    total: FOUND,
    dropped_count: maybe(count("Memories that could not be read now")),
    truncated: maybe(flag("Whether there was no room for all")),
    omitted_ids: maybe(
      texts("Those there was no room for; ask again with `ids`"),
    ),
    partial: maybe(
      flag("Whether memories may be missing, as the owner's are still read"),
    ),
    notice: maybe(text("A note for the caller on how they were found")),
  }),
  StoredData: view("The memory that sealed bytes became", {
    id: MEMORY_ID,
    blob_id: BLOB_ID,
    owner: OWNER,
    namespace: NAMESPACE,
    receipt: RECEIPT,
  }),
  FoundData: view(
    "Memories that a vector found, without what only the client can open",
    {
      results: arraySchema(
        "The memories, best first",
        view(undefined, {
          id: MEMORY_ID,
          blob_id: BLOB_ID,
          distance: DISTANCE,
          created_at: CREATED_AT,
          importance: IMPORTANCE,
          score: SCORE,
          encrypted_data: maybe(
            text("Base64, if requested and if there is room"),
          ),
        }),
      ),
      total: FOUND,
    },
  ),
  Blob: view("A memory's bytes as they are kept", {
    memory_id: MEMORY_ID,
    blob_id: BLOB_ID,
    data: text("The bytes as they are kept, Base64", "AAECAw=="),
  }),
  Reindexed: view("The memory that recall finds again", {
    memory_id: MEMORY_ID,
    blob_id: BLOB_ID,
  }),
  Analyzed: view(
    "Facts that were found in a text, and the jobs that store them",
    {
      job_ids: jobIds([ID_SAMPLE]),
      facts: arraySchema(
        "What was found, in the order of the jobs",
        view(undefined, {
          text: TEXT_OF_MEMORY,
          id: text("The memory that it becomes", ID_SAMPLE),
          job_id: text("The job that stores it; the same as `id`", ID_SAMPLE),
        }),
      ),
      fact_count: count("Length of `facts`; each costs a point", 1),
      status: jobStatus("pending"),
      owner: OWNER,
    },
  ),
  Embedded: view("What a text is found by", {
    vector: part(
      said("Its width is that of the relayer's embedder", {
        type: "array",
        items: { type: "number" },
      }),
      [0.1, 0.9, 0.2],
    ),
  }),
  Answered: view("What the model made of the memories", {
    answer: text("Text for people", "Tea."),
    memories_used: count("Length of `memories`", 1),
    memories: arraySchema("Those that the answer rests on", RECALLED_MEMORY),
  }),
  Restored: view("How the making of an index went", {
    restored: count("Memories that recall finds again", 1),
    skipped: count("Those that were there", 2),
    failed: count(
      "Memories whose blob is unavailable or can never be " +
        "decrypted",
      0,
    ),
    missing: count("Memories whose blob is gone", 0),
    total: count("Blobs that were looked at", 3),
    namespace: NAMESPACE,
    owner: OWNER,
    truncated: flag("Whether there are more", false),
    restored_ids: texts("Which memories came back", [ID_SAMPLE]),
    needs_vectors: maybe(arraySchema(
      "Those whose vector only the client can make",
      view(undefined, { memory_id: MEMORY_ID, blob_id: BLOB_ID }),
    )),
  }),
  Forgotten: view("How an index was emptied", {
    deleted: count("Number of memories that recall no longer finds", 2),
    namespace: NAMESPACE,
    owner: OWNER,
    receipt: {
      ...RECEIPT,
      sample: {
        ...{ version: 1, kind: "forget", owner: OWNER_SAMPLE },
        ...{ namespace: "default", count: 2 },
        ...SIGNED_SAMPLE,
      },
    },
  }),
  Stats: view("How much a namespace holds", {
    memory_count: count("Without those that newer ones supersede", 2),
    storage_bytes: count("Of all blobs, superseded memories' too", 512),
    namespace: NAMESPACE,
    owner: OWNER,
  }),
  Deleted: view("The memory that is gone", {
    deleted: only("Always so; what was not there is answered with 404", true),
    memory_id: MEMORY_ID,
    blob_id: text("Empty for a text that was not stored yet", BLOB_SAMPLE),
    receipt: {
      ...RECEIPT,
      sample: { ...Object(RECEIPT.sample), kind: "delete" },
    },
  }),
} satisfies Readonly<Record<string, AnswerPart>>;

/** Returns an answer about memories, as a schema with its name. */
export function memoryAnswer(name: keyof typeof ANSWERS): AnswerPart {
  return named(name, ANSWERS[name]);
}
