import { H2GrpcServer } from "../services/shared/grpc/h2_server.ts";
import { grpcServerConformance } from "./grpc_server_conformance.ts";

grpcServerConformance(
  "H2GrpcServer",
  (options) => new H2GrpcServer(options),
);
