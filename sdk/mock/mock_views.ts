/**
 * Writes the mock's memories and jobs in the form of the real relayer's
 * answers, and cuts listings into pages.
 *
 * @module
 */

import { Refusal } from "./mock_bodies.ts";
import type { MockJob, MockNamespace, MockRow } from "./mock_memory.ts";
import type { MockHit } from "./mock_search.ts";
import { LIMITS } from "./relayer_routes.ts";

/** A JSON object of an answer; undefined members are left out. */
export type View = Readonly<Record<string, unknown>>;

/** The mock's account and its delegate. */
export const MOCK_ACCOUNT = {
  /** The account's object id. */
  accountId: `0x${"a1".repeat(32)}`,
  /** The owner's address. */
  owner: `0x${"b2".repeat(32)}`,
  /** The ledger package. */
  packageId: `0x${"c3".repeat(32)}`,
  /** The delegate's private key; it gives access to nothing. */
  key: "07".repeat(32),
  /** The delegate's public key. */
  publicKey: "ea4a6c63e29c520abef5507b132ec5f9954776aebebe7b92421eea691446d22c",
} as const;

/** The versions and features that the mock reports. */
export const MOCK_CONTRACT: View = {
  relayerVersion: "0.1.0",
  apiVersion: "1.0.0",
  minSupportedSdk: { typescript: "0.0.4", python: "0.1.0", mcp: "0.0.1" },
  featureFlags: {
    "auth.accessTokens": true,
    "memories.delete": true,
    "recall.filter": true,
    "recall.ranking": true,
    "remember.asyncJobs": true,
    "remember.bulk": true,
    "remember.statusWait": true,
    "remember.supersede": true,
    "runtime.versionEndpoint": true,
  },
  deprecations: [],
  build: {},
};

/** Writes a job; a memory that was stored without one is as if one had. */
export function jobView(
  { memory, status, error }: Pick<MockJob, "memory" | "status"> & {
    readonly error?: string | undefined;
  },
): View {
  return {
    job_id: memory.id,
    status,
    owner: MOCK_ACCOUNT.owner,
    namespace: memory.namespace,
    blob_id: status === "done" ? memory.blobId : undefined,
    error: status === "failed" ? error : undefined,
  };
}

/** Writes a memory that was found, with its text. */
export function hitView(
  { row: { memory }, distance, rank, score }: MockHit,
  { isExplained }: { readonly isExplained: boolean },
): View {
  const { id, blobId, text, metadata } = memory;
  const { parts = { vector: 1 - distance }, matched } = rank ?? {};
  return {
    id,
    blob_id: blobId,
    text,
    distance,
    relevance: rank === undefined ? undefined : rounded(rank.relevance),
    explanation: isExplained
      ? {
        parts: Object.fromEntries(
          Object.entries(parts).map(([name, part]) => [name, rounded(part)]),
        ),
        matched,
      }
      : undefined,
    created_at: formatTime(memory.createdAtMs),
    score,
    metadata: Object.keys(metadata).length === 0 ? undefined : metadata,
  };
}

/** Writes a memory that was found, without its text. */
export function manualHitView(
  { row: { memory, data }, distance, score }: MockHit,
  { isWithData }: { readonly isWithData: boolean },
): View {
  return {
    id: memory.id,
    blob_id: memory.blobId,
    distance,
    created_at: formatTime(memory.createdAtMs),
    importance: memory.importance ?? null,
    score,
    encrypted_data: isWithData ? data : undefined,
  };
}

/** The page of a listing that a request asks for. */
interface PageQuery {
  readonly limit: number;
  /** The number of the last change on the page before; 0 for the first page. */
  readonly after: number;
  /** The cursor as the request has it. */
  readonly cursor: string | null;
}

/** Writes a page of memories. */
export function memoriesView(
  rows: readonly MockRow[],
  query: URLSearchParams,
): View {
  const { limit, after, cursor } = readPageQuery(query, "m");
  const changed = rows.filter(({ change }) => change > after)
    .toSorted(byChange);
  const kept = changed.filter(({ state }) => state === "kept");
  const gone = changed.filter(({ state }) => state !== "kept");
  // Both lists end at the same change, so that the next page skips no change of
  // either.
  const end = Math.min(findPageEnd(kept, limit), findPageEnd(gone, limit));
  const isShown = ({ change }: MockRow) => change <= end;
  const last = changed.findLast(isShown);
  return {
    memories: kept.filter(isShown).map(memoryView),
    deleted: gone.filter(isShown).map(({ memory, changedAtMs }) => ({
      memory_id: memory.id,
      namespace_id: memory.namespace,
      deleted_at: formatTime(changedAtMs),
    })),
    must_resync: false,
    next_cursor: last === undefined ? cursor : `m${last.change}`,
    has_more: changed.some((row) => !isShown(row)),
    snapshot_version: LIMITS.snapshotVersion,
  };
}

/** Writes a page of namespaces. */
export function namespacesView(
  namespaces: readonly MockNamespace[],
  query: URLSearchParams,
): View {
  const { limit, after, cursor } = readPageQuery(query, "n");
  const changed = namespaces.filter(({ change }) => change > after)
    .toSorted(byChange);
  const shown = changed.slice(0, limit);
  const last = shown.at(-1);
  return {
    namespaces: shown.map((namespace) => ({
      id: namespace.name,
      name: namespace.name,
      memory_count: namespace.memoryCount,
      storage_used: namespace.sizeBytes,
      updated_at: formatTime(namespace.changedAtMs),
    })),
    next_cursor: last === undefined ? cursor : `n${last.change}`,
    has_more: changed.length > shown.length,
    snapshot_version: LIMITS.snapshotVersion,
  };
}

function memoryView({ memory, supersededBy, ...row }: MockRow): View {
  return {
    memory_id: memory.id,
    namespace_id: memory.namespace,
    blob_id: memory.blobId,
    created_at: formatTime(memory.createdAtMs),
    updated_at: formatTime(row.changedAtMs),
    size: row.sizeBytes,
    agent_id: MOCK_ACCOUNT.publicKey,
    package_id: MOCK_ACCOUNT.packageId,
    status: supersededBy === undefined ? "active" : "superseded",
    end_epoch: null,
    expires_at: null,
    importance: memory.importance ?? null,
    supersedes: memory.supersedes,
    superseded_by: supersededBy,
  };
}

/**
 * Reads which page a request asks for.
 *
 * @param mark the letter with which cursors of the listing begin
 */
function readPageQuery(query: URLSearchParams, mark: string): PageQuery {
  const limit = query.get("limit") ?? String(LIMITS.defaultPage);
  if (!/^\d{1,30}$/.test(limit) || Number(limit) < 1) {
    throw new Refusal(
      400,
      'Cannot list: "limit" is not a whole number from 1 on',
    );
  }
  const cursor = query.get("updated_after");
  const digits = cursor?.startsWith(mark) ? cursor.slice(mark.length) : "";
  if (cursor !== null && !/^\d{1,15}$/.test(digits)) {
    throw new Refusal(400, "invalid cursor");
  }
  return {
    limit: Math.min(Number(limit), LIMITS.page),
    after: Number(digits),
    cursor,
  };
}

interface Changed {
  readonly change: number;
}

function byChange(left: Changed, right: Changed): number {
  return left.change - right.change;
}

/**
 * Returns the number of the last change that a page of `limit` entries may
 * contain.
 */
function findPageEnd(changed: readonly Changed[], limit: number): number {
  return changed.length > limit ? changed[limit - 1]?.change ?? 0 : Infinity;
}

function rounded(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}

function formatTime(ms: number): string {
  return new Date(ms).toISOString();
}
