/**
 * Texts and examples of the routes about owners, accounts and the service, for
 * the relayer's OpenAPI document.
 *
 * @module
 */

import type { JsonSchema } from "../../../shared/schema/schema.ts";
import { AT, BLOB, ID, type OperationWords, OWNER } from "./operation_words.ts";

const CONTRACT = {
  relayerVersion: "0.1.0",
  apiVersion: "1.0.0",
  minSupportedSdk: { typescript: "0.0.4" },
  featureFlags: { "recall.ranking": true },
  deprecations: [],
  build: {},
} as const;

const PAGE_QUERY = {
  limit: {
    type: "integer",
    minimum: 1,
    default: 100,
    description: "Most items; 500 are enough for any number above",
  },
  updated_after: {
    type: "string",
    description: "`next_cursor` of the page before",
  },
} as const satisfies Readonly<Record<string, JsonSchema>>;

/** Texts and examples of each route, by method and path. */
export const SERVICE_OPERATIONS: Readonly<Record<string, OperationWords>> = {
  "GET /v1/owners/:owner/namespaces": {
    id: "listNamespaces",
    tag: "owners",
    summary: "List an owner's namespaces, as they change",
    query: PAGE_QUERY,
    answer: "Namespaces",
    means: "A page",
    example: {
      namespaces: [{
        id: "default",
        name: "default",
        memory_count: 2,
        storage_used: 512,
        updated_at: AT,
      }],
      next_cursor: "eyJsaXN0aW5nIjoi…",
      has_more: false,
      snapshot_version: 2,
    },
    others: { 400: "A cursor or a number that cannot be read" },
  },
  "GET /v1/owners/:owner/memories": {
    id: "listMemories",
    tag: "owners",
    summary: "List an owner's memories, as they change",
    description: "Without their texts. Deleted ones are named for a while.",
    query: PAGE_QUERY,
    answer: "Memories",
    means: "A page",
    example: {
      memories: [{
        memory_id: ID,
        namespace_id: "default",
        blob_id: BLOB,
        created_at: AT,
        updated_at: AT,
        size: 256,
        status: "active",
        end_epoch: null,
        expires_at: null,
      }],
      next_cursor: null,
      has_more: false,
      snapshot_version: 2,
      deleted: [],
      must_resync: false,
    },
    others: { 400: "A cursor or a number that cannot be read" },
  },
  "GET /v1/owners/:owner/agents": {
    id: "listAgents",
    tag: "owners",
    summary: "List who may write, or has written, for an owner",
    answer: "Agents",
    means: "All of them",
    example: {
      agents: [{
        label: "laptop",
        sui_address: OWNER,
        agent_id: "a3".repeat(32),
      }],
      snapshot_version: 2,
    },
  },
  "POST /v1/owner-tokens": {
    id: "makeOwnerToken",
    tag: "owners",
    summary: "Make a token for an owner's pages",
    description: "For a service that knows the credential.",
    body: {
      type: "object",
      required: ["owner"],
      properties: {
        owner: {
          type: "string",
          description: "The ledger's address of the one",
        },
      },
    },
    sent: { owner: OWNER },
    answer: "OwnerToken",
    means: "The token",
    example: {
      token: "eyJvd25lciI6…",
      expires_at: AT,
      permissions: ["agents:read"],
    },
    others: { 401: "The credential is another one" },
  },
  "GET /api/accounts/:owner/exists": {
    id: "accountExists",
    tag: "accounts",
    summary: "Tell whether an owner has an account",
    answer: "Exists",
    means: "Whether there is one",
    example: { exists: true },
    others: { 400: "It is no address" },
  },
  "GET /api/whoami": {
    id: "whoami",
    tag: "accounts",
    summary: "Tell which account the key speaks for",
    answer: "Who",
    means: "The account",
    example: { account_id: OWNER, owner: OWNER, package_id: OWNER },
  },
  "GET /health": {
    id: "getHealth",
    tag: "service",
    summary: "Tell that the process answers",
    answer: "Health",
    means: "It does",
    example: {
      status: "ok",
      version: "0.1.0",
      ...CONTRACT,
      mode: "production",
      prompt_versions: { extract: "rules", ask: "rules" },
      write_ready: true,
    },
  },
  "GET /version": {
    id: "getVersion",
    tag: "service",
    summary: "Tell what clients are compatible",
    answer: "Version",
    means: "The contract",
    example: CONTRACT,
  },
  "GET /config": {
    id: "getConfig",
    tag: "service",
    summary: "Tell what clients need to know",
    answer: "Config",
    means: "The deployment",
    example: {
      packageId: OWNER,
      network: "localnet",
      suiRpcUrl: "http://127.0.0.1:8000",
      suiTransport: "jsonrpc",
      rateLimitDisabled: false,
      receiptKeys: [],
    },
  },
  "POST /rpc": rpcWords("rpc"),
  "POST /": rpcWords("rpcAtRoot"),
};

function rpcWords(id: string): OperationWords {
  return {
    id,
    tag: "service",
    summary: "Ask the embedded ledger, as JSON-RPC",
    description: "Where the relayer has a ledger of its own; errors are good " +
      "answers of HTTP. A call that wants no answer gets 204.",
    body: { description: "A call of JSON-RPC 2.0, or a list of them" },
    sent: {
      jsonrpc: "2.0",
      id: 1,
      method: "sui_getChainIdentifier",
      params: [],
    },
    answer: undefined,
    means: "The result, or the error",
    example: { jsonrpc: "2.0", id: 1, result: "4c78adac" },
    others: { 204: "No answer was wanted" },
  };
}
