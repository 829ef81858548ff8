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
  unavailableAnswer,
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
export function ownerRoutes(parts: RelayerParts): readonly OwnerRoute[] {
  return [namespacesRoute(parts), memoriesRoute(parts), agentsRoute(parts)];
}

function namespacesRoute({ store }: RelayerParts): OwnerRoute {
  return {
    access: "owner",
    permission: "namespaces:read",
    method: "GET",
    path: "/v1/owners/:owner/namespaces",
    maxBodyBytes: 0,
    async answer({ owner, query }) {
      const read = readPageQuery("namespaces", query);
      if (read.kind === "refused") return read.answer;
      const { limit, after } = read.page;
      const { namespaces, hasMore } = await store.namespaceFeed(owner, {
        limit,
        after,
      });
      return ok({
        namespaces: namespaces.map(namespaceView),
        next_cursor: nextCursor("namespaces", {
          page: read.page,
          next: namespaces.at(-1),
        }),
        has_more: hasMore,
        snapshot_version: SNAPSHOT_VERSION,
      });
    },
  };
}

function memoriesRoute({ store }: RelayerParts): OwnerRoute {
  return {
    access: "owner",
    permission: "memories:read",
    method: "GET",
    path: "/v1/owners/:owner/memories",
    maxBodyBytes: 0,
    async answer({ owner, query }) {
      const read = readPageQuery("memories", query);
      if (read.kind === "refused") return read.answer;
      const { limit, after } = read.page;
      const feed = await store.memoryFeed(owner, {
        limit,
        after,
      });
      return ok({
        memories: feed.memories.map(memoryView),
        next_cursor: nextCursor("memories", {
          page: read.page,
          next: feed.next,
        }),
        has_more: feed.hasMore,
        snapshot_version: SNAPSHOT_VERSION,
        deleted: feed.deleted.map(tombstoneView),
        must_resync: feed.mustResync,
      });
    },
  };
}

function agentsRoute({ ledger, logger, store }: RelayerParts): OwnerRoute {
  return {
    access: "owner",
    permission: "agents:read",
    method: "GET",
    path: "/v1/owners/:owner/agents",
    maxBodyBytes: 0,
    async answer({ owner }) {
      const [outcome, writers] = await Promise.all([
        ledger.accountOfOwner(owner),
        store.agents(owner),
      ]);
      if (outcome.kind === "unavailable") {
        return unavailableAnswer(
          "Cannot list agents: the ledger does not answer",
          {
            logger,
            route: "GET /v1/owners/:owner/agents",
            reason: outcome.reason,
          },
        );
      }
      const keys = outcome.kind === "ok" ? outcome.account.delegateKeys : [];
      const known = new Set(keys.map(({ publicKey }) => publicKey));
      // Delegates that were removed wrote rows that name them still.
      const removed = writers.filter((publicKey) => !known.has(publicKey));
      return ok({
        agents: [
          ...keys.map(({ label, address, publicKey }) => ({
            label,
            sui_address: address,
            agent_id: publicKey,
          })),
          ...removed.map((publicKey) => ({
            label: "",
            sui_address: addressOfPublicKey(publicKey),
            agent_id: publicKey,
          })),
        ],
        snapshot_version: SNAPSHOT_VERSION,
      });
    },
  };
}

/** An empty page leaves the client where it is. */
function nextCursor(
  listing: Listing,
  { page, next }: {
    readonly page: PageQuery;
    readonly next: FeedPosition | undefined;
  },
): string | null {
  return next === undefined ? page.cursor ?? null : encodeCursor(listing, next);
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
