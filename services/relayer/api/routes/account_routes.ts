/**
 * Whether an owner has an account, and who one is.
 *
 * @module
 */

import { quote } from "../../../shared/quote.ts";
import { normalizeLedgerId } from "../../ledger/ledger_id.ts";
import { ok, refused } from "../answer.ts";
import { unavailableAnswer } from "../failure_answer.ts";
import type { RelayerParts } from "../parts.ts";
import type { OpenRoute, Route, SignedRoute } from "../route.ts";

/** Parts of these routes. */
export type AccountParts = Pick<RelayerParts, "ledger" | "logger">;

/** The routes. */
export function accountRoutes(parts: AccountParts): readonly Route[] {
  return [existsRoute(parts), whoamiRoute(parts)];
}

function existsRoute({ ledger, logger }: AccountParts): OpenRoute {
  return {
    access: "open",
    method: "GET",
    path: "/api/accounts/:owner/exists",
    maxBodyBytes: 0,
    async answer({ params }) {
      const text = params["owner"] ?? "";
      const owner = normalizeLedgerId(text);
      if (owner === undefined) {
        return refused(
          400,
          `Cannot look account up: ${quote(text)} is no address`,
        );
      }
      const outcome = await ledger.accountOfOwner(owner);
      return outcome.kind === "unavailable"
        ? unavailableAnswer(
          "Cannot look account up: the ledger does not answer",
          {
            logger,
            route: "GET /api/accounts/:owner/exists",
            reason: outcome.reason,
          },
        )
        : ok({ exists: outcome.kind === "ok" });
    },
  };
}

function whoamiRoute({ ledger }: AccountParts): SignedRoute {
  return {
    access: "signed",
    method: "GET",
    path: "/api/whoami",
    maxBodyBytes: 0,
    answer: ({ caller }) =>
      ok({
        account_id: caller.accountId,
        owner: caller.owner,
        package_id: ledger.packageId,
      }),
  };
}
