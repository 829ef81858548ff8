/**
 * The answers about owners, accounts and the service.
 *
 * @module
 */

import { named, said } from "../../../shared/schema/schema.ts";
import {
  type AnswerPart,
  arraySchema,
  BLOB_ID,
  count,
  CREATED_AT,
  flag,
  IMPORTANCE,
  maybe,
  MEMORY_ID,
  often,
  only,
  OWNER,
  OWNER_SAMPLE,
  part,
  text,
  textOrNull,
  texts,
  time,
  view,
} from "./answer_parts.ts";

const NAMESPACE_ID = text(
  "The namespace by its name, which is its id",
  "default",
);

const PACKAGE_ID = "The ledger package that has the accounts";

function cursor(sample: string | null) {
  return textOrNull("What `updated_after` takes for the next page", sample);
}

const PAGE = {
  has_more: flag("Whether another page follows", false),
  snapshot_version: count(
    "Version of the listing's format; one who knows another reads from the start",
    2,
  ),
};

const CONTRACT = {
  relayerVersion: text("The release that runs", "0.1.0"),
  apiVersion: text(
    "Three numbers with full stops; another first number breaks old clients",
    "1.0.0",
  ),
  minSupportedSdk: part(
    said("The oldest clients that are served, by language", {
      type: "object",
      additionalProperties: { type: "string" },
    }),
    { typescript: "0.0.4" },
  ),
  featureFlags: part(
    said("The features of this relayer, as dotted names", {
      type: "object",
      additionalProperties: { type: "boolean" },
    }),
    { "recall.ranking": true },
  ),
  deprecations: {
    ...arraySchema(
      "Parts of the API that later versions will not have",
      view(undefined, {
        surface: text("The part's name, such as that of a header"),
        deprecatedSince: maybe(
          text("The API version that first advised against it"),
        ),
        removalApiVersion: maybe(text("The first API version without it")),
        guidance: maybe(text("The replacement")),
      }),
    ),
    sample: [],
  },
  build: view("What the executable was made of", {
    commit: maybe(text("The Git commit; absent if unknown")),
  }),
};

const READINESS_CHECKS = part(
  said("What the relayer needs, by name", {
    type: "object",
    additionalProperties: {
      type: "object",
      properties: {
        ready: { type: "boolean", description: "Whether it does its work" },
        detail: {
          type: "string",
          description: "What is wrong with it, or odd",
        },
      },
      required: ["ready"],
    },
  }),
  { store: { ready: true } },
);

/** The answers by the names of their schemas. */
const ANSWERS = {
  Who: view("The account that a key speaks for", {
    account_id: text("The account's object on the ledger", OWNER_SAMPLE),
    owner: OWNER,
    package_id: text(PACKAGE_ID, OWNER_SAMPLE),
  }),
  Exists: view("Whether an owner has an account", {
    exists: flag("Whether the ledger has an account of this address", true),
  }),
  Namespaces: view("A page of namespaces, the last changed ones last", {
    namespaces: arraySchema(
      "Those that changed since the cursor",
      view(undefined, {
        id: NAMESPACE_ID,
        name: text("The name in requests", "default"),
        memory_count: count("Without those that newer ones supersede", 2),
        storage_used: count("Bytes", 512),
        updated_at: time("When one of its memories changed last"),
      }),
    ),
    next_cursor: cursor("eyJsaXN0aW5nIjoi…"),
    ...PAGE,
  }),
  Memories: view(
    "A page of memories without their texts, the last changed ones last",
    {
      memories: arraySchema(
        "Those that changed since the cursor",
        view(undefined, {
          memory_id: MEMORY_ID,
          namespace_id: NAMESPACE_ID,
          blob_id: BLOB_ID,
          created_at: CREATED_AT,
          updated_at: time("When its row changed last"),
          size: count("Bytes", 256),
          agent_id: maybe(textOrNull("The public key of who wrote it")),
          package_id: maybe(textOrNull(PACKAGE_ID)),
          status: part(
            said("`superseded` once a newer one replaces it", {
              enum: ["active", "superseded"],
            }),
            "active",
          ),
          end_epoch: often(part(
            said("Null: blobs are kept without an end", {
              type: ["integer", "null"],
            }),
            null,
          )),
          expires_at: often(part(
            said("Null: memories are kept until deleted", {
              type: ["string", "null"],
              format: "date-time",
            }),
            null,
          )),
          importance: IMPORTANCE,
          supersedes: maybe(text("The memory that it replaces")),
          superseded_by: maybe(text("The memory that replaces it")),
        }),
      ),
      next_cursor: cursor(null),
      ...PAGE,
      deleted: {
        ...arraySchema(
          "Memories that are gone since the cursor",
          view(undefined, {
            memory_id: text("The memory, which requests no longer find"),
            namespace_id: NAMESPACE_ID,
            deleted_at: time("When it was deleted"),
          }),
        ),
        sample: [],
      },
      must_resync: flag(
        "Whether the cursor is too old; start again without " +
          "one",
        false,
      ),
    },
  ),
  Agents: view("Keys that may write, or have written, for an owner", {
    agents: arraySchema(
      "Delegates of the account, then former ones that memories still name",
      view(undefined, {
        label: text(
          "What the owner called the key; empty for a former one",
          "laptop",
        ),
        sui_address: text("The ledger's address of the key", OWNER_SAMPLE),
        agent_id: text("The public key", "a3".repeat(32)),
      }),
    ),
    snapshot_version: PAGE.snapshot_version,
  }),
  OwnerToken: view("What reads an owner's pages for a while", {
    token: text("Sent as a bearer token", "eyJvd25lciI6…"),
    expires_at: time("From when on it is refused"),
    permissions: texts("What it may read", ["agents:read"]),
  }),
  Version: view("What clients are compatible", CONTRACT),
  Health: view("Whether the relayer works, and what it is made of", {
    status: only("Always so: what does not work does not answer", "ok"),
    version: text("The same as `relayerVersion`", "0.1.0"),
    ...CONTRACT,
    mode: only("For older clients, which ask for it", "production"),
    prompt_versions: view("Which prompts, or rules, models work by", {
      extract: text("For finding facts in a text", "rules"),
      ask: text("For answering from memories", "rules"),
    }),
    write_ready: flag("Whether what is written now would be kept", true),
    embedder: maybe(view("How the making of vectors goes", {
      state: part({
        enum: ["ready", "away", "misfit"],
        description: "Whether vectors are made: `away` while the endpoint " +
          "does not answer, `misfit` while its vectors have another width " +
          "than is set",
      }),
      reason: maybe(text("Why none are made")),
    })),
  }),
  Ready: view("That the relayer takes requests", {
    status: only("Always so; else `error` says what is not ready", "ready"),
    checks: READINESS_CHECKS,
  }),
  Config: view("What clients need to know of the deployment", {
    packageId: text(PACKAGE_ID, OWNER_SAMPLE),
    registryId: maybe(text("The ledger object that lists accounts")),
    network: text("The name of the ledger's network", "localnet"),
    suiRpcUrl: often(text("Where the ledger is", "http://127.0.0.1:8000")),
    suiTransport: often(
      only("How it is spoken to; absent where its URL is", "jsonrpc"),
    ),
    rateLimitDisabled: flag("Whether calls cost no points", false),
    keyServers: maybe(part(
      said("Servers that hold shares of what opens memories", {
        type: "array",
        items: { type: "object" },
      }),
    )),
    keyServerThreshold: maybe(count("Number of key servers that must agree")),
    receiptKeys: part(
      said("The keys that receipts are signed with", {
        type: "array",
        items: { type: "object" },
      }),
      [],
    ),
  }),
} satisfies Readonly<Record<string, AnswerPart>>;

/** Returns an answer about owners, accounts and the service, as a schema with its name. */
export function serviceAnswer(name: keyof typeof ANSWERS): AnswerPart {
  return named(name, ANSWERS[name]);
}
