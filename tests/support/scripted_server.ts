/**
 * A TCP server whose answers are written by the test.
 *
 * @module
 */

import { createServer, type Server, type Socket } from "node:net";

/** A connection of a client. */
export interface ScriptedClient {
  /** What the client has sent so far, one character for each byte. */
  readonly received: string;
  /** Sends a text to the client. */
  send(text: string): void;
  /** Closes the connection. */
  close(): void;
}

/**
 * A function that is called whenever a client has sent something; `sent` is
 * what just arrived.
 */
export type Script = (client: ScriptedClient, sent: string) => void;

/** Starts a server on a free port of the loopback interface. */
export async function startScriptedServer(
  script: Script,
): Promise<ScriptedServer> {
  const server = new ScriptedServer(script);
  await server.start();
  return server;
}

/** A server that keeps all connections open until it is stopped. */
export class ScriptedServer {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #port = 0;
  #accepted = 0;

  /** Creates a server that does not listen yet. */
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
      // The disconnection of a client does not fail a test.
      socket.on("error", () => {});
      socket.on("close", () => this.#sockets.delete(socket));
    });
  }

  /** The port on which the server listens. */
  get port(): number {
    return this.#port;
  }

  /** Number of connections so far. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Number of open connections. */
  get open(): number {
    return this.#sockets.size;
  }

  /** Starts to listen. */
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

  /** Closes the port and all connections. */
  stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}
