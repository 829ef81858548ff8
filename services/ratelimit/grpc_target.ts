/**
 * Reads addresses of gRPC servers, as settings and flags write them.
 *
 * @module
 */

import type { GrpcTarget } from "../shared/grpc/client_socket.ts";

/** The forms that {@linkcode parseGrpcTarget} takes, in words. */
export const GRPC_TARGET_FORMS = "host:port, [address]:port or unix:/path";

/**
 * Reads an address, also in the forms `dns:///host:port` and `unix:///path` that
 * gRPC libraries take; undefined for any other text.
 */
export function parseGrpcTarget(text: string): GrpcTarget | undefined {
  const path = /^unix:(?:\/\/(?=\/))?(.+)$/.exec(text)?.[1];
  if (path !== undefined) return { kind: "unix", path };
  const found =
    /^(?:dns:(?:\/\/\/)?)?(?:\[([0-9a-f:.%]+)\]|([^\s:/[\]]+)):(\d{1,5})$/i
      .exec(text);
  const host = found?.[1] ?? found?.[2];
  const port = Number(found?.[3]);
  if (host === undefined || port < 1 || port > 65_535) return undefined;
  return { kind: "tcp", host, port };
}
