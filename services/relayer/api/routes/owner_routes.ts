/**
 * Routes that list an owner's memories, namespaces and agents for the owner's
 * delegates and for bearers of an owner token, and the route that issues such
 * tokens.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { addressOfPublicKey } from "../../ledger/ledger_id.ts";
import type { MemoryRow, Tombstone } from "../../store/rows.ts";
import type { FeedPosition, NamespaceRow } from "../../store/store.ts";
import {
  type Answer,
  type JsonView,
  ok,
  refused,
  unavailable,
  wireTime,
} from "../answer.ts";
import { isJsonObject, said, shape } from "../../../shared/schema/schema.ts";
import { OWNER_SAMPLE } from "../document/answer_parts.ts";
import { serviceAnswer } from "../document/service_answers.ts";
import { jsonBody } from "../json_body.ts";
import type { RelayerParts } from "../parts.ts";
import type { RouteWords } from "../document/route_words.ts";
import { isGranted } from "../../auth/token_claims.ts";
import type { OpenRoute, OwnerRoute } from "../route.ts";
import { READS } from "../token_rule.ts";

/**
 * The version of the listings' format; a client that knows another version
 * reads them from the start again.
 */
export const SNAPSHOT_VERSION = 2;

/** A memory as listings show it; times are RFC 3339. */
function memoryView(memory: MemoryRow): JsonView {
  const { supersedes, supersededBy } = memory;
  return {
    memory_id: memory.id,
    namespace_id: memory.namespace,
    blob_id: memory.blobId,
    created_at: wireTime(memory.createdAtMs),
    updated_at: wireTime(memory.updatedAtMs),
    size: memory.sizeBytes,
    agent_id: memory.agentId,
    package_id: memory.packageId,
    status: supersededBy === undefined ? "active" : "superseded",
    // When the blob store's lease on the blob ends: never, as far as is known.
    end_epoch: null,
    expires_at: null,
    importance: memory.importance,
    supersedes,
    superseded_by: supersededBy,
  };
}

/** A removed memory as listings show it. */
function tombstoneView(tombstone: Tombstone): JsonView {
  return {
    memory_id: tombstone.id,
    namespace_id: tombstone.namespace,
    deleted_at: wireTime(tombstone.deletedAtMs),
  };
}

/** A namespace as listings show it; its id is its name. */
function namespaceView(namespace: NamespaceRow): JsonView {
  return {
    id: namespace.name,
    name: namespace.name,
    memory_count: namespace.memoryCount,
    storage_used: namespace.storageBytes,
    updated_at: wireTime(namespace.updatedAtMs),
  };
}

/** The listings that have pages. */
type Listing = "memories" | "namespaces";

const MAX_CURSOR_LENGTH = 256;
const BASE64URL = /^[A-Za-z0-9_-]+$/;

/**
 * Encodes a position as a cursor. A forged cursor shows no more than the
 * caller's own rows.
 */
export function encodeCursor(
  listing: Listing,
  { change }: FeedPosition,
): string {
  return Buffer.from(JSON.stringify({ listing, change }))
    .toString("base64url");
}

/** Decodes a cursor; undefined when it is not one of this listing. */
function decodeCursor(
  listing: Listing,
  cursor: string,
): FeedPosition | undefined {
  if (cursor.length > MAX_CURSOR_LENGTH || !BASE64URL.test(cursor)) {
    return undefined;
  }
  const value = parse(Buffer.from(cursor, "base64url").toString("utf8"));
  if (!isJsonObject(value) || value["listing"] !== listing) return undefined;
  const { change } = value;
  return typeof change === "number" && Number.isSafeInteger(change) &&
      change >= 0
    ? { change }
    : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON, so not a cursor, which the caller reports.
    return undefined;
  }
}

/** A page of a listing. */
interface PageQuery {
  /** Most items of the page. */
  readonly limit: number;
  /** The position after which the page begins; undefined for the first page. */
  readonly after: FeedPosition | undefined;
  /** The cursor as the client sent it; undefined for the first page. */
  readonly cursor: string | undefined;
}

/** The outcome of reading a query. */
type PageQueryOutcome =
  | { readonly kind: "ok"; readonly page: PageQuery }
  | { readonly kind: "refused"; readonly answer: Answer };

/** Most items of a page when the query names no limit. */
export const DEFAULT_PAGE_LIMIT = 100;

/** Most items of a page; a higher limit counts as this one. */
export const MAX_PAGE_LIMIT = 500;

const DIGITS = /^\d{1,30}$/;

/** Reads `updated_after` and `limit` from a query. */
export function readPageQuery(
  listing: Listing,
  query: string,
): PageQueryOutcome {
  const parameters = new URLSearchParams(query);
  const limit = parseLimit(parameters.get("limit"));
  if (limit === undefined) {
    return refusal('Cannot list: "limit" is not a whole number from 1 on');
  }
  const cursor = parameters.get("updated_after") ?? undefined;
  const after = cursor === undefined
    ? undefined
    : decodeCursor(listing, cursor);
  return cursor !== undefined && after === undefined
    ? refusal("invalid cursor")
    : { kind: "ok", page: { limit, after, cursor } };
}

function parseLimit(text: string | null): number | undefined {
  if (text === null) return DEFAULT_PAGE_LIMIT;
  if (!DIGITS.test(text)) return undefined;
  const limit = Number(text);
  return limit < 1 ? undefined : Math.min(limit, MAX_PAGE_LIMIT);
}

function refusal(error: string): PageQueryOutcome {
  return { kind: "refused", answer: refused(400, error) };
}

/** What the document says of the parameters of pages, and of bad ones. */
const PAGE_WORDS = {
  query: {
    limit: {
      type: "integer",
      minimum: 1,
      default: DEFAULT_PAGE_LIMIT,
      description: "Most items; 500 are enough for any number above",
    },
    updated_after: said("`next_cursor` of the page before"),
  },
  means: "A page",
  others: { 400: "A cursor or a number that cannot be read" },
} as const satisfies Partial<RouteWords>;

/** The routes that list what an owner has. */
export function ownerRoutes(
  { ledger, store }: RelayerParts,
): readonly OwnerRoute[] {
  return [{
    access: "owner",
    method: "GET",
    path: "/v1/owners/:owner/namespaces",
    words: {
      id: "listNamespaces",
      tag: "owners",
      summary: "List an owner's namespaces, as they change",
      answer: serviceAnswer("Namespaces"),
      ...PAGE_WORDS,
    },
    token: READS,
    async answer({ owner, spender: { grant }, query }) {
      const read = readPageQuery("namespaces", query);
      if (read.kind === "refused") return read.answer;
      const { page } = read;
      const feed = await store.namespaceFeed(owner, page);
      return ok({
        namespaces: feed.namespaces.filter(({ name }) => isGranted(grant, name))
          .map(namespaceView),
        next_cursor: nextCursor("namespaces", page, feed.namespaces.at(-1)),
        has_more: feed.hasMore,
        snapshot_version: SNAPSHOT_VERSION,
      });
    },
  }, {
    access: "owner",
    method: "GET",
    path: "/v1/owners/:owner/memories",
    words: {
      id: "listMemories",
      tag: "owners",
      summary: "List an owner's memories, as they change",
      description: "Without their texts. Deleted ones are named for a while.",
      answer: serviceAnswer("Memories"),
      ...PAGE_WORDS,
    },
    token: READS,
    async answer({ owner, spender: { grant }, query }) {
      const read = readPageQuery("memories", query);
      if (read.kind === "refused") return read.answer;
      const { page } = read;
      const feed = await store.memoryFeed(owner, page);
      // A token's namespaces make pages shorter; the cursors stay the same.
      const isTold = ({ namespace }: { readonly namespace: string }) =>
        isGranted(grant, namespace);
      return ok({
        memories: feed.memories.filter(isTold).map(memoryView),
        next_cursor: nextCursor("memories", page, feed.next),
        has_more: feed.hasMore,
        snapshot_version: SNAPSHOT_VERSION,
        deleted: feed.deleted.filter(isTold).map(tombstoneView),
        must_resync: feed.mustResync,
      });
    },
  }, {
    access: "owner",
    method: "GET",
    path: "/v1/owners/:owner/agents",
    words: {
      id: "listAgents",
      tag: "owners",
      summary: "List the agents that may write, or have written, for an owner",
      answer: serviceAnswer("Agents"),
      means: "All of them",
    },
    token: { ...READS, namespaces: "whole_account" },
    points: 2,
    async answer({ owner }) {
      const [outcome, writers] = await Promise.all([
        ledger.accountOfOwner(owner),
        store.agents(owner),
      ]);
      if (outcome.kind === "unavailable") {
        return unavailable(
          "Cannot list agents: the ledger does not answer",
          outcome,
        );
      }
      const keys = outcome.kind === "ok" ? outcome.account.delegateKeys : [];
      const known = new Set(keys.map(({ publicKey }) => publicKey));
      // Rows still name delegates that were removed from the account since.
      const removed = writers.filter((publicKey) => !known.has(publicKey))
        .map((publicKey) => ({
          label: "",
          address: addressOfPublicKey(publicKey),
          publicKey,
        }));
      return ok({
        agents: [...keys, ...removed].map(({ label, address, publicKey }) => ({
          label,
          sui_address: address,
          agent_id: publicKey,
        })),
        snapshot_version: SNAPSHOT_VERSION,
      });
    },
  }];
}

/**
 * Returns the cursor of the next page; after an empty page, the client's own
 * cursor.
 */
function nextCursor(
  listing: Listing,
  { cursor }: PageQuery,
  next: FeedPosition | undefined,
): string | null {
  return next === undefined ? cursor ?? null : encodeCursor(listing, next);
}

const MAX_BODY_BYTES = 4_096;

/**
 * The route that issues owner tokens. Without the credential a caller learns
 * nothing about whether the body is valid.
 */
export function ownerTokenRoute(
  { ownerTokens, refusalDelay }: RelayerParts,
): OpenRoute {
  return {
    access: "open",
    method: "POST",
    path: "/v1/owner-tokens",
    words: {
      id: "makeOwnerToken",
      tag: "owners",
      summary: "Make a token for an owner's pages",
      description: "For a service that knows the credential.",
      sent: { owner: OWNER_SAMPLE },
      answer: serviceAnswer("OwnerToken"),
      means: "The token",
      others: { 401: "The credential is another one" },
    },
    maxBodyBytes: MAX_BODY_BYTES,
    // The route reads the body itself, so that a stranger learns nothing.
    body: shape({
      type: "object",
      required: ["owner"],
      properties: { owner: said("The ledger's address of the one") },
    }),
    async answer({ request, body }) {
      const read = jsonBody(body);
      const owner = read.kind === "ok" ? read.value["owner"] : undefined;
      const outcome = ownerTokens?.issue(request.headers, owner) ?? REFUSED;
      switch (outcome.kind) {
        case "ok": {
          const { token, expiresAtMs, permissions } = outcome.issued;
          return ok({ token, expires_at: wireTime(expiresAtMs), permissions });
        }
        case "bad_owner":
          return refused(
            400,
            read.kind === "invalid"
              ? `Cannot create token: ${read.reason}`
              : 'Cannot create token: "owner" is not an address',
          );
        case "refused":
          await refusalDelay.wait();
          return UNKNOWN_SERVICE;
      }
    },
  };
}

const REFUSED = { kind: "refused" } as const;

const UNKNOWN_SERVICE: Answer = {
  status: 401,
  headers: { "x-auth-error": "ERR_SERVICE_CREDENTIAL" },
};
