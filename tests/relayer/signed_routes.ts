/**
 * The routes that want a signature, as the relayer has them: a new one is in the
 * tests without anybody thinking of it.
 *
 * @module
 */

import { allRoutes } from "../../services/relayer/api/handler.ts";
import { openTestRelayer } from "../../services/relayer/api/testing/test_relayer.ts";
import type { HandRequest } from "./hand_signer.ts";

/** Gives a request of each route that is not open. */
export function signedRequests(owner: string): readonly HandRequest[] {
  return allRoutes(openTestRelayer().parts)
    .filter(({ access }) => access !== "open")
    .map(({ method, path }) => ({
      method,
      target: path.replace(":owner", owner).replace(":id", "no-such-id"),
      body: method === "POST" ? '{"namespace":"default"}' : "",
    }));
}
