/**
 * The ledger's reads over JSON-RPC, which released clients make before their
 * first call. They know the address from `/config`, some with a path of its own.
 *
 * @module
 */

import { type Answer, ok } from "../answer.ts";
import { parseJson } from "../json_body.ts";
import type { RelayerParts } from "../parts.ts";
import { MAX_SMALL_BODY_BYTES, type OpenRoute } from "../route.ts";

/** The routes; none when the ledger is somewhere else. */
export function rpcRoutes(
  { answerRpc }: Pick<RelayerParts, "answerRpc">,
): readonly OpenRoute[] {
  if (answerRpc === undefined) return [];
  return ["/", "/rpc"].map((path): OpenRoute => ({
    access: "open",
    method: "POST",
    path,
    maxBodyBytes: MAX_SMALL_BODY_BYTES,
    async answer({ body }) {
      const read = parseJson(body);
      if (read.kind === "bad") return parseError(read.fault);
      const reply = await answerRpc(read.value);
      // Nobody wanted an answer (JSON-RPC 2.0, 4.1).
      return reply === undefined ? { status: 204 } : ok(reply);
    },
  }));
}

/** Errors of JSON-RPC are good answers of HTTP (JSON-RPC 2.0, 5.1). */
function parseError(fault: string): Answer {
  return ok({
    jsonrpc: "2.0",
    id: null,
    error: { code: -32_700, message: `Cannot read call: ${fault}` },
  });
}
