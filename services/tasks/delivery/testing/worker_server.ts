/**
 * Test servers on the loopback that act as push workers, well behaved or not.
 *
 * @module
 */

import {
  createServer as createHttpServer,
  type RequestListener,
} from "node:http";
import { createServer as createHttpsServer } from "node:https";
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from "node:net";
import type { TestCertificate } from "../../../../tests/support/test_certificates.ts";

/** A server that listens. */
export interface WorkerServer extends AsyncDisposable {
  /** Its TCP port. */
  readonly port: number;
  /** How many connections it has had. */
  connections(): number;
  /** How many connections are open now. */
  open(): number;
}

/** Starts an HTTP server on a loopback address. */
export function startWorker(
  handler: RequestListener,
  address = "127.0.0.1",
): Promise<WorkerServer> {
  return listen(createHttpServer(handler), address);
}

/** Starts an HTTPS server on the loopback. */
export function startTlsWorker(
  handler: RequestListener,
  { certPem, keyPem }: TestCertificate,
): Promise<WorkerServer> {
  const server = createHttpsServer({ cert: certPem, key: keyPem }, handler);
  // A client that refuses the certificate is what some tests are about.
  server.on("tlsClientError", () => {});
  return listen(server, "127.0.0.1");
}

/**
 * Starts a server that answers a request with raw bytes of the test's choice.
 */
export function startRawWorker(
  answer: (socket: Socket) => void,
): Promise<WorkerServer> {
  const server = createTcpServer((socket) => {
    socket.once("data", () => answer(socket));
  });
  return listen(server, "127.0.0.1");
}

async function listen(server: Server, address: string): Promise<WorkerServer> {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on("connection", (socket: Socket) => {
    connections++;
    sockets.add(socket);
    // A connection that a client breaks off is not a failure of the test
    // server.
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    open: () => sockets.size,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
