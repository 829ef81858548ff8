/**
 * A `fetch` that connects to this machine for host names below `localhost`,
 * such as `acme.localhost`.
 *
 * @module
 */

import { nodeFetch } from "../node_fetch.ts";

/**
 * Works as `fetch` does, except that host names below `localhost` mean this
 * machine, as RFC 6761 (6.3) defines; most resolvers do not know such names.
 * `fetch` itself cannot be used for them, as it can't send another `Host`
 * header than the host it connects to.
 */
export async function fetchLocally(
  input: RequestInfo | URL,
  init: RequestInit = {},
): Promise<Response> {
  const url = new URL(input instanceof Request ? input.url : input);
  const isLocal = url.protocol === "http:" &&
    url.hostname.endsWith(".localhost");
  if (!isLocal) return await fetch(input, init);
  const port = url.port === "" ? 80 : Number(url.port);
  return await nodeFetch(url, init, { host: "localhost", port });
}
