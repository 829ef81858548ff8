/**
 * Listings of what an owner has, which double as feeds of what changed.
 *
 * @module
 */

import { addressOfPublicKey } from "../../ledger/ledger_id.ts";
import { ok } from "../answer.ts";
import { encodeCursor, type Listing } from "../cursor.ts";
import { unavailableAnswer } from "../failure_answer.ts";
import { given } from "../given.ts";
import { type PageQuery, readPageQuery } from "../page_query.ts";
import type { RelayerParts } from "../parts.ts";
import type { OwnerRoute } from "../route.ts";
import {
  memoryView,
  namespaceView,
  SNAPSHOT_VERSION,
  tombstoneView,
} from "../views/memory_view.ts";
import type { FeedPosition } from "../../store/store.ts";

/** Parts of these routes. */
export type OwnerParts = Pick<RelayerParts, "ledger" | "logger" | "store">;

/** The routes. */
export function ownerRoutes(parts: OwnerParts): readonly OwnerRoute[] {
  return [namespacesRoute(parts), memoriesRoute(parts), agentsRoute(parts)];
}

function namespacesRoute({ store }: OwnerParts): OwnerRoute {
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
        ...given({ after }),
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

function memoriesRoute({ store }: OwnerParts): OwnerRoute {
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
        ...given({ after }),
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

function agentsRoute({ ledger, logger, store }: OwnerParts): OwnerRoute {
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
