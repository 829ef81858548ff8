/**
 * Listings of what an owner has, for the owner's delegates and for bearers of a
 * token, and the route that issues such tokens.
 *
 * @module
 */

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
import { jsonBody } from "../json_body.ts";
import {
  encodeCursor,
  type Listing,
  type PageQuery,
  readPageQuery,
} from "../paging.ts";
import type { RelayerParts } from "../parts.ts";
import type { OpenRoute, OwnerRoute } from "../route.ts";

/** The version of what listings promise; a client that knows another begins again. */
const SNAPSHOT_VERSION = 2;

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
    // When the blob store lets it go: never, as far as is known.
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

/** The routes. */
export function ownerRoutes(
  { ledger, store }: RelayerParts,
): readonly OwnerRoute[] {
  return [{
    access: "owner",
    permission: "namespaces:read",
    method: "GET",
    path: "/v1/owners/:owner/namespaces",
    async answer({ owner, query }) {
      const read = readPageQuery("namespaces", query);
      if (read.kind === "refused") return read.answer;
      const { page } = read;
      const feed = await store.namespaceFeed(owner, page);
      return ok({
        namespaces: feed.namespaces.map(namespaceView),
        next_cursor: nextCursor("namespaces", page, feed.namespaces.at(-1)),
        has_more: feed.hasMore,
        snapshot_version: SNAPSHOT_VERSION,
      });
    },
  }, {
    access: "owner",
    permission: "memories:read",
    method: "GET",
    path: "/v1/owners/:owner/memories",
    async answer({ owner, query }) {
      const read = readPageQuery("memories", query);
      if (read.kind === "refused") return read.answer;
      const { page } = read;
      const feed = await store.memoryFeed(owner, page);
      return ok({
        memories: feed.memories.map(memoryView),
        next_cursor: nextCursor("memories", page, feed.next),
        has_more: feed.hasMore,
        snapshot_version: SNAPSHOT_VERSION,
        deleted: feed.deleted.map(tombstoneView),
        must_resync: feed.mustResync,
      });
    },
  }, {
    access: "owner",
    permission: "agents:read",
    method: "GET",
    path: "/v1/owners/:owner/agents",
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
      // Delegates that were removed wrote rows that name them still.
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

/** An empty page leaves the client where it is. */
function nextCursor(
  listing: Listing,
  { cursor }: PageQuery,
  next: FeedPosition | undefined,
): string | null {
  return next === undefined ? cursor ?? null : encodeCursor(listing, next);
}

const MAX_BODY_BYTES = 4_096;

/** The route. Who has no credential learns nothing of the body. */
export function ownerTokenRoute(
  { ownerTokens, refusalDelay }: RelayerParts,
): OpenRoute {
  return {
    access: "open",
    method: "POST",
    path: "/v1/owner-tokens",
    maxBodyBytes: MAX_BODY_BYTES,
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
              ? `Cannot make token: ${read.reason}`
              : 'Cannot make token: "owner" is no address',
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
