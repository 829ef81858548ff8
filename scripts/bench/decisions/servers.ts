/**
 * The servers that the services are compared with, one per process: the shortest
 * HTTP server of the runtime, that of `node:http` and that of the services, an
 * echo server, and `@grpc/grpc-js` with a method that decides nothing. Prints
 * the port on which the server listens.
 *
 * @module
 */

import {
  type handleUnaryCall,
  Server,
  ServerCredentials,
} from "npm:@grpc/grpc-js@^1.14.0";
import { Buffer } from "node:buffer";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { Http1Server } from "../../../services/shared/http1/server.ts";
import { print } from "../../terminal.ts";
import { CALL_PATH } from "./call_frames.ts";

const HOSTNAME = "127.0.0.1";
/** The encoded response `overall_code: OK`. */
const ALLOWED = Buffer.from([0x08, 0x01]);
const HELLO = "Hello, world";

/** The servers by name; each function starts one and returns its port. */
const SERVERS: Readonly<Record<string, () => number | Promise<number>>> = {
  hello: startHello,
  echo: startEcho,
  "grpc-js": startGrpcJs,
  "node:http": startNodeHttp,
  "services/shared/http1": startHttp1,
};

if (import.meta.main) {
  const start = SERVERS[Deno.args[0] ?? ""];
  if (start === undefined) throw new TypeError("Cannot start: no such server");
  print(String(await start()));
}

function startHello(): number {
  const server = Deno.serve(
    { hostname: HOSTNAME, port: 0, onListen: () => {} },
    () => new Response(HELLO),
  );
  return server.addr.port;
}

function startEcho(): Promise<number> {
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on("data", (bytes) => socket.write(bytes));
    socket.on("error", () => socket.destroy());
  });
  return portOnceListening(server);
}

function startGrpcJs(): Promise<number> {
  const server = new Server();
  const shouldRateLimit: handleUnaryCall<Buffer, Buffer> = (_, answer) =>
    answer(null, ALLOWED);
  const passed = (bytes: Buffer): Buffer => bytes;
  server.addService({
    shouldRateLimit: {
      path: CALL_PATH,
      requestStream: false,
      responseStream: false,
      requestSerialize: passed,
      requestDeserialize: passed,
      responseSerialize: passed,
      responseDeserialize: passed,
    },
  }, { shouldRateLimit });
  return new Promise((resolve, reject) =>
    server.bindAsync(
      `${HOSTNAME}:0`,
      ServerCredentials.createInsecure(),
      (error, port) => error === null ? resolve(port) : reject(error),
    )
  );
}

async function startHttp1(): Promise<number> {
  const drop = (): void => {};
  const server = new Http1Server({
    hostname: HOSTNAME,
    port: 0,
    logger: { debug: drop, info: drop, warn: drop, error: drop },
    handler: () => ({ status: 200, headers: {}, body: HELLO }),
  });
  return (await server.start()).port;
}

function startNodeHttp(): Promise<number> {
  return portOnceListening(
    createHttpServer((_, response) => void response.end(HELLO)),
  );
}

function portOnceListening(
  server: ReturnType<typeof createServer>,
): Promise<number> {
  return new Promise((resolve) =>
    server.listen(
      0,
      HOSTNAME,
      () => resolve((server.address() as AddressInfo).port),
    )
  );
}
