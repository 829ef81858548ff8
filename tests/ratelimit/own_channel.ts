/**
 * Calls with the project's own gRPC client, which costs less than the gRPC
 * library and outlives whatever a server does.
 *
 * @module
 */

import { loadSchema } from "../../proto/testing/schema.ts";
import { H2GrpcChannel } from "../../services/shared/grpc/h2_channel.ts";

/** Opens a channel to a gRPC listener, without TLS. */
export function ownChannel(target: string): H2GrpcChannel {
  const [host = "", port] = target.split(":");
  return new H2GrpcChannel({
    target: { kind: "tcp", host, port: Number(port) },
  });
}

/** Encodes a request for a decision in the plain object form of protobufjs. */
export async function encodedRequest(request: object): Promise<Uint8Array> {
  const schema = await loadSchema();
  return schema("envoy.service.ratelimit.v3.RateLimitRequest")
    .encode({ ...request });
}
