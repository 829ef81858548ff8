/**
 * Tokens with which another service of the operator reads an owner's listings.
 *
 * @module
 */

import { type Answer, ok, refused } from "../answer.ts";
import { jsonBody } from "../json_body.ts";
import type { RelayerParts } from "../parts.ts";
import type { OpenRoute } from "../route.ts";
import { wireTime } from "../views/wire_time.ts";

const MAX_BODY_BYTES = 4_096;

/** The route. Who has no credential learns nothing of the body. */
export function ownerTokenRoute(
  { ownerTokens, refusalDelay }: Pick<
    RelayerParts,
    "ownerTokens" | "refusalDelay"
  >,
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
            read.kind === "bad"
              ? `Cannot make token: ${read.fault}`
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
