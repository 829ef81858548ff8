/**
 * Versions of the Model Context Protocol. Up to 2025-11-25 a conversation
 * begins with `initialize`, which settles the version. Since 2026-07-28 there
 * are no conversations: each request names its version in `_meta`.
 *
 * @module
 */

import { isJsonObject } from "../schema/schema.ts";
import type { RpcParams } from "./messages.ts";

/** The version whose requests each stand alone. */
export const STATELESS_VERSION = "2026-07-28";

/** The versions that begin with `initialize`, newest first. */
const CONVERSATION_VERSIONS = [
  "2025-11-25",
  "2025-06-18",
  "2025-03-26",
  "2024-11-05",
] as const;

/** All versions, newest first. */
export const VERSIONS: readonly string[] = [
  STATELESS_VERSION,
  ...CONVERSATION_VERSIONS,
];

/** Names of members of `_meta` that the protocol defines. */
export const META = {
  /** The version of a request that stands alone. */
  version: "io.modelcontextprotocol/protocolVersion",
  /** What the client of such a request can do. */
  capabilities: "io.modelcontextprotocol/clientCapabilities",
  /** From which level on such a request wants log messages; none without. */
  logLevel: "io.modelcontextprotocol/logLevel",
  /** Which server answered. */
  server: "io.modelcontextprotocol/serverInfo",
} as const;

/**
 * Settles the version of a conversation: the one that the client asked for, or
 * else the newest.
 */
export function settleVersion(asked: unknown): string {
  return CONVERSATION_VERSIONS.find((version) => version === asked) ??
    CONVERSATION_VERSIONS[0];
}

/** Whether a version begins with `initialize` and is supported. */
export function isConversationVersion(version: string): boolean {
  return CONVERSATION_VERSIONS.some((known) => known === version);
}

/** What a request says of itself in `_meta`; empty when it says nothing. */
export function readMeta(params: RpcParams): RpcParams {
  const { _meta: meta } = params;
  return isJsonObject(meta) ? meta : {};
}
