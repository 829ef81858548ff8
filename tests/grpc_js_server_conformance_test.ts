import { createGrpcJsServer } from "../services/shared/grpc/grpc_js_server.ts";
import { grpcServerConformance } from "./grpc_server_conformance.ts";

grpcServerConformance("createGrpcJsServer()", createGrpcJsServer);
