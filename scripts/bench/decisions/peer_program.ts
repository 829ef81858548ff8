/**
 * The servers that the ratelimit service is compared with, one per process: the
 * shortest HTTP server of the runtime, an echo server, and `@grpc/grpc-js` with
 * a method that decides nothing. Prints the port on which the server listens.
 *
 * @module
 */

import {
  type handleUnaryCall,
  Server,
  ServerCredentials,
} from "npm:@grpc/grpc-js@^1.14.0";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { Buffer } from "node:buffer";
import { print } from "../../terminal.ts";
import { CALL_PATH } from "./call_frames.ts";

const HOSTNAME = "127.0.0.1";
/** The encoded response `overall_code: OK`. */
const ALLOWED = Buffer.from([0x08, 0x01]);

/** The servers by name; each function starts one and returns its port. */
const PEERS: Readonly<Record<string, () => number | Promise<number>>> = {
  hello: startHello,
  echo: startEcho,
  "grpc-js": startGrpcJs,
};

if (import.meta.main) {
  const start = PEERS[Deno.args[0] ?? ""];
  if (start === undefined) throw new TypeError("Cannot start: no such server");
  print(String(await start()));
}

function startHello(): number {
  const server = Deno.serve(
    { hostname: HOSTNAME, port: 0, onListen: () => {} },
    () => new Response("Hello, world"),
  );
  return server.addr.port;
}

function startEcho(): Promise<number> {
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on("data", (bytes) => socket.write(bytes));
    socket.on("error", () => socket.destroy());
  });
  return new Promise((resolve) =>
    server.listen(
      0,
      HOSTNAME,
      () => resolve((server.address() as AddressInfo).port),
    )
  );
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
