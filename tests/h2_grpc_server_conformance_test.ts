import { createH2GrpcServer } from "../services/shared/grpc/h2_server.ts";
import { grpcServerConformance } from "./grpc_server_conformance.ts";

grpcServerConformance("createH2GrpcServer()", createH2GrpcServer);
