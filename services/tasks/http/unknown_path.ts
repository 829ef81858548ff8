/**
 * What is said of a path that leads nowhere: where the caller may have meant to go.
 *
 * @module
 */

import type { HostKind } from "./locate.ts";

/** Says that there is no such path on a kind of host, and where to look. */
export function describeUnknownPath(path: string, host: HostKind): string {
  return `Cannot find the path: there is none such; ${hint(path, host)}`;
}

function hint(path: string, host: HostKind): string {
  if (host === "tenant" && path.startsWith("/v1/")) {
    return "the API begins with /api/v1/";
  }
  if (host === "apex" && path.startsWith("/api/")) {
    return "the API is at each tenant's own host, name it in the Host header";
  }
  return "/docs has them all";
}
