/**
 * What the relayer says of itself: `/health`, `/version`, `/config`.
 *
 * @module
 */

import { ok } from "../answer.ts";
import type { RelayerParts } from "../parts.ts";
import type { OpenRoute } from "../route.ts";
import { contractOf } from "./contract.ts";

/** Parts of these routes. */
export type ServiceParts = Pick<
  RelayerParts,
  | "answerer"
  | "buildCommit"
  | "extractor"
  | "isRateLimitDisabled"
  | "isWriteReady"
  | "ledger"
  | "ledgerRpcUrl"
  | "network"
  | "version"
>;

/** The routes; nobody has to sign, so health can be looked at from anywhere. */
export function serviceRoutes(parts: ServiceParts): readonly OpenRoute[] {
  return [
    {
      access: "open",
      method: "GET",
      path: "/health",
      maxBodyBytes: 0,
      answer: () =>
        ok({
          status: "ok",
          version: parts.version,
          ...contractOf(parts),
          mode: "production",
          prompt_versions: {
            extract: parts.extractor.name,
            ask: parts.answerer.name,
          },
          write_ready: parts.isWriteReady,
        }),
    },
    {
      access: "open",
      method: "GET",
      path: "/version",
      maxBodyBytes: 0,
      answer: () => ok(contractOf(parts)),
    },
    {
      access: "open",
      method: "GET",
      path: "/config",
      maxBodyBytes: 0,
      answer: () =>
        ok({
          packageId: parts.ledger.packageId,
          network: parts.network,
          suiRpcUrl: parts.ledgerRpcUrl,
          suiTransport: "jsonrpc",
          rateLimitDisabled: parts.isRateLimitDisabled,
        }),
    },
  ];
}
