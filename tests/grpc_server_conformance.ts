/**
 * What any server of {@linkcode GrpcMethods} must do, whatever it is made of.
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
 * Registers a test for each thing that is asked of a gRPC server.
 *
 * @param name Stands before the title of each test.
 * @param makeServer Makes the server under test; it listens at the address it
 * is given.
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
