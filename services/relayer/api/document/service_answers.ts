/**
 * JSON schemas of answers about owners, accounts and the service, for the
 * relayer's OpenAPI document.
 *
 * @module
 */

import { type JsonSchema, said } from "../../../shared/schema/schema.ts";
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

const NAMESPACE_ID = said("The namespace by its name, which is its id");

const PACKAGE_ID = said("The ledger package that has the accounts");

const TEXT_OR_NULL: JsonSchema = { type: ["string", "null"] };

const CURSOR = said("What `updated_after` takes for the next page", {
  type: ["string", "null"],
});

const HAS_MORE = said("Whether another page follows at once", {
  type: "boolean",
});

const SNAPSHOT_VERSION = said(
  "Version of the listing's format; one who knows another reads from the start",
  COUNT,
);

const CONTRACT = {
  relayerVersion: said("The release that runs"),
  apiVersion: said(
    "Three numbers with full stops; another first number breaks old clients",
  ),
  minSupportedSdk: said("The oldest clients that are served, by language", {
    type: "object",
    additionalProperties: TEXT,
  }),
  featureFlags: said("What this relayer can do, by dotted names", {
    type: "object",
    additionalProperties: { type: "boolean" },
  }),
  deprecations: said(
    "Parts of the API that later versions will not have",
    listOf(view("surface", {
      surface: said("The part's name, such as that of a header"),
      deprecatedSince: said("The API version that first advised against it"),
      removalApiVersion: said("The first API version without it"),
      guidance: said("What to use instead"),
    })),
  ),
  build: said(
    "What the executable was made of",
    view("", { commit: said("The Git commit; absent when it is not known") }),
  ),
} as const satisfies Readonly<Record<string, JsonSchema>>;

const CONTRACT_NAMES = Object.keys(CONTRACT).join(" ");

/** The named schemas, by name. */
export const SERVICE_ANSWERS: Readonly<Record<string, JsonSchema>> = {
  Who: said(
    "The account that a key speaks for",
    view("account_id owner package_id", {
      account_id: said("The account's object on the ledger"),
      owner: OWNER,
      package_id: PACKAGE_ID,
    }),
  ),
  Exists: said(
    "Whether an owner has an account",
    view("exists", {
      exists: said("Whether the ledger has an account of this address", {
        type: "boolean",
      }),
    }),
  ),
  Namespaces: said(
    "A page of namespaces, the last changed ones last",
    view("namespaces next_cursor has_more snapshot_version", {
      namespaces: said(
        "Those that changed since the cursor",
        listOf(view("id name memory_count storage_used updated_at", {
          id: NAMESPACE_ID,
          name: said("What requests call it"),
          memory_count: said("Without those that newer ones supersede", COUNT),
          storage_used: said("Bytes", COUNT),
          updated_at: said("When one of its memories changed last", TIME),
        })),
      ),
      next_cursor: CURSOR,
      has_more: HAS_MORE,
      snapshot_version: SNAPSHOT_VERSION,
    }),
  ),
  Memories: said(
    "A page of memories without their texts, the last changed ones last",
    view(
      "memories next_cursor has_more snapshot_version deleted must_resync",
      {
        memories: said(
          "Those that changed since the cursor",
          listOf(view(
            "memory_id namespace_id blob_id created_at updated_at size status",
            {
              memory_id: MEMORY_ID,
              namespace_id: NAMESPACE_ID,
              blob_id: BLOB_ID,
              created_at: CREATED_AT,
              updated_at: said("When its row changed last", TIME),
              size: said("Bytes", COUNT),
              agent_id: said("The public key of who wrote it", TEXT_OR_NULL),
              package_id: { ...PACKAGE_ID, ...TEXT_OR_NULL },
              status: said("`superseded` once a newer one replaces it", {
                enum: ["active", "superseded"],
              }),
              end_epoch: said("Null: blobs are kept without an end", {
                type: ["integer", "null"],
              }),
              expires_at: said("Null: memories are kept until deleted", {
                ...TIME,
                ...TEXT_OR_NULL,
              }),
              importance: IMPORTANCE,
              supersedes: said("The memory that it replaces"),
              superseded_by: said("The memory that replaces it"),
            },
          )),
        ),
        next_cursor: CURSOR,
        has_more: HAS_MORE,
        snapshot_version: SNAPSHOT_VERSION,
        deleted: said(
          "Memories that are gone since the cursor",
          listOf(view("memory_id namespace_id deleted_at", {
            memory_id: said("What no request finds any longer"),
            namespace_id: NAMESPACE_ID,
            deleted_at: said("When it was taken away", TIME),
          })),
        ),
        must_resync: said("Whether the cursor is too old: begin again", {
          type: "boolean",
        }),
      },
    ),
  ),
  Agents: said(
    "Keys that may write, or have written, for an owner",
    view("agents snapshot_version", {
      agents: said(
        "Delegates of the account, then former ones that memories still name",
        listOf(view("label sui_address agent_id", {
          label: said("What the owner called the key; empty for a former one"),
          sui_address: said("The ledger's address of the key"),
          agent_id: said("The public key"),
        })),
      ),
      snapshot_version: SNAPSHOT_VERSION,
    }),
  ),
  OwnerToken: said(
    "What reads an owner's pages for a while",
    view("token expires_at permissions", {
      token: said("Sent as a bearer token"),
      expires_at: said("From when on it is refused", TIME),
      permissions: said("What it may read", listOf(TEXT)),
    }),
  ),
  Version: said(
    "What clients are compatible",
    view(CONTRACT_NAMES, CONTRACT),
  ),
  Health: said(
    "Whether the relayer works, and what it is made of",
    view(
      `status version ${CONTRACT_NAMES} mode prompt_versions write_ready`,
      {
        status: said("Always so: what does not work does not answer", {
          const: "ok",
        }),
        version: said("The same as `relayerVersion`"),
        ...CONTRACT,
        mode: said("For older clients, which ask for it", {
          const: "production",
        }),
        prompt_versions: said(
          "Which prompts, or rules, models work by",
          view("extract ask", {
            extract: said("For finding facts in a text"),
            ask: said("For answering from memories"),
          }),
        ),
        write_ready: said("Whether what is written now would be kept", {
          type: "boolean",
        }),
        embedder: said(
          "How the making of vectors goes",
          view("state", {
            state: {
              enum: ["ready", "away", "misfit"],
              description:
                "Whether vectors are made: `away` while the endpoint " +
                "does not answer, `misfit` while its vectors have another width " +
                "than is set",
            },
            reason: said("Why none are made"),
          }),
        ),
      },
    ),
  ),
  Config: said(
    "What clients need to know of the deployment",
    view("packageId network rateLimitDisabled receiptKeys", {
      packageId: PACKAGE_ID,
      registryId: said("The ledger object that lists accounts"),
      network: said("The name of the ledger's network"),
      suiRpcUrl: said("Where the ledger is"),
      suiTransport: said("How it is spoken to; absent where its URL is", {
        const: "jsonrpc",
      }),
      rateLimitDisabled: said("Whether calls cost no points", {
        type: "boolean",
      }),
      keyServers: said("Servers that hold shares of what opens memories", {
        type: "array",
        items: { type: "object" },
      }),
      keyServerThreshold: said("How many of them have to agree", COUNT),
      receiptKeys: said("The keys that receipts are signed with", {
        type: "array",
        items: { type: "object" },
      }),
    }),
  ),
};
