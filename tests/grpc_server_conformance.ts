/**
 * The conformance suite that every server of {@linkcode GrpcMethods} has to
 * pass, whatever its implementation.
 *
 * @module
 */

import { addressCases } from "./grpc_conformance/address_cases.ts";
import { callCases } from "./grpc_conformance/call_cases.ts";
import type { MakeServer, Suite } from "./grpc_conformance/harness.ts";
import { healthCases } from "./grpc_conformance/health_cases.ts";
import { stopCases } from "./grpc_conformance/stop_cases.ts";
import { streamCases } from "./grpc_conformance/stream_cases.ts";
import { wireCases } from "./grpc_conformance/wire_cases.ts";

export type {
  ConformanceServerOptions,
  MakeServer,
} from "./grpc_conformance/harness.ts";

/**
 * Registers all conformance tests for a gRPC server.
 *
 * @param name The prefix of each test's title.
 * @param makeServer Creates the server under test, which listens at the address
 * it is given.
 */
export function grpcServerConformance(
  name: string,
  makeServer: MakeServer,
): void {
  const suite: Suite = { name, makeServer };
  callCases(suite);
  wireCases(suite);
  streamCases(suite);
  stopCases(suite);
  addressCases(suite);
  healthCases(suite);
}
