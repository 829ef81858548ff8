/**
 * A statsd server over TCP for tests, which can also misbehave.
 *
 * @module
 */

import { createServer, type Server, type Socket } from "node:net";
import { waitUntil } from "./wait_until.ts";

/** A statsd server that stores the lines it receives. */
export class StatsdServer {
  /** Whether data on new connections is left unread. */
  paused = false;
  /** Whether new connections are closed at once. */
  hangUp = false;
  /** Number of connections so far. */
  accepted = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #text = "";
  #port = 0;

  private constructor() {
    this.#server = createServer((socket) => {
      this.accepted++;
      this.#sockets.add(socket);
      // Errors are expected when a test breaks a connection.
      socket.on("error", () => {});
      socket.on("close", () => this.#sockets.delete(socket));
      if (this.hangUp) socket.destroy();
      if (this.hangUp || this.paused) return;
      let text = "";
      socket.setEncoding("utf8");
      socket.on("data", (data) => {
        text += data;
        const end = text.lastIndexOf("\n") + 1;
        this.#text += text.slice(0, end);
        text = text.slice(end);
      });
    });
  }

  /** Starts to listen on loopback; port 0 is any free one. */
  static async listen(port = 0): Promise<StatsdServer> {
    const made = new StatsdServer();
    await new Promise<void>((done) =>
      made.#server.listen(port, "127.0.0.1", done)
    );
    const address = made.#server.address();
    if (address === null || typeof address === "string") {
      throw new Error("Cannot tell the port: the server has no address");
    }
    made.#port = address.port;
    return made;
  }

  /** The port on which the server listens. */
  get port(): number {
    return this.#port;
  }

  /** Number of open connections. */
  get open(): number {
    return this.#sockets.size;
  }

  /** Number of complete lines that were not taken yet. */
  get size(): number {
    return this.#text.split("\n").length - 1;
  }

  /** Returns the complete lines since the last call. */
  take(): string[] {
    const lines = this.#text.split("\n").slice(0, -1);
    this.#text = "";
    return lines;
  }

  /** Waits until `count` complete lines have arrived. */
  lines(count: number): Promise<void> {
    return waitUntil(() => this.size >= count, { what: `${count} lines` });
  }

  /** Waits until there have been `count` connections. */
  connected(count: number): Promise<void> {
    return waitUntil(() => this.accepted >= count, { what: "a connection" });
  }

  /** Breaks all connections. */
  drop(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Breaks all connections and closes the port. */
  async close(): Promise<void> {
    const closed = new Promise((done) => this.#server.close(done));
    this.drop();
    await closed;
  }

  /** Does the same as {@linkcode StatsdServer.close}. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
