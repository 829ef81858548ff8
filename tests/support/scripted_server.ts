/**
 * A TCP server whose answers a test writes itself.
 *
 * @module
 */

import { createServer, type Server, type Socket } from "node:net";

/** One connection of a client. */
export interface ScriptedClient {
  /** What the client has sent so far, one character for each byte. */
  readonly received: string;
  /** Sends bytes to the client. */
  send(text: string): void;
  /** Closes the connection. */
  close(): void;
}

/** Is called whenever a client has sent something. */
export type Script = (client: ScriptedClient, sent: string) => void;

/** Starts a server on a free port of the loopback interface. */
export async function startScriptedServer(
  script: Script,
): Promise<ScriptedServer> {
  const server = new ScriptedServer(script);
  await server.start();
  return server;
}

/** Keeps all its connections until it is stopped. */
export class ScriptedServer {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #port = 0;
  #accepted = 0;

  /** Makes a server that does not listen yet. */
  constructor(script: Script) {
    this.#server = createServer((socket) => {
      this.#accepted++;
      this.#sockets.add(socket);
      let received = "";
      const client: ScriptedClient = {
        get received() {
          return received;
        },
        send: (text) => void socket.write(text, "latin1"),
        close: () => void socket.destroy(),
      };
      socket.on("data", (chunk) => {
        const sent = chunk.toString("latin1");
        received += sent;
        script(client, sent);
      });
      // A client that leaves is nothing to a test.
      socket.on("error", () => {});
      socket.on("close", () => this.#sockets.delete(socket));
    });
  }

  /** The port it listens on. */
  get port(): number {
    return this.#port;
  }

  /** Number of connections so far. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Number of connections that are open. */
  get open(): number {
    return this.#sockets.size;
  }

  /** Begins to listen. */
  start(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.listen(0, "127.0.0.1", () => {
        const address = this.#server.address();
        this.#port = address !== null && typeof address === "object"
          ? address.port
          : 0;
        resolve();
      });
    });
  }

  /** Closes everything. */
  stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}
