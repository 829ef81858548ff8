/**
 * Lists the relayer's routes that require a signature, from the relayer itself,
 * so that tests include every new route.
 *
 * @module
 */

import { allRoutes } from "../../services/relayer/api/handler.ts";
import { openTestRelayer } from "../../services/relayer/api/testing/test_relayer.ts";
import type { HandRequest } from "./hand_signer.ts";

/** Returns a request for each route that requires a signature. */
export function signedRequests(owner: string): readonly HandRequest[] {
  return allRoutes(openTestRelayer().parts)
    .filter(({ access }) => access !== "open")
    .map(({ method, path }) => ({
      method,
      target: path.replace(":owner", owner).replace(":id", "no-such-id"),
      body: method === "POST" ? '{"namespace":"default"}' : "",
    }));
}
