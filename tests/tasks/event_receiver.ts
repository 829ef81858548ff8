/**
 * A receiver of webhooks for tests, which can be down.
 *
 * @module
 */

import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { Webhook } from "npm:standardwebhooks@^1.0.0";

/** An event that was received. */
export interface ReceivedEvent {
  /** The header `webhook-id`. */
  readonly id: string;
  /** The body. */
  readonly event: {
    readonly id: string;
    readonly type: string;
    readonly data: Readonly<Record<string, unknown>> & {
      readonly task?: string;
    };
  };
  /** Which of the receiver's secrets the call is signed with, by their places. */
  readonly signedBy: readonly number[];
}

/** A receiver on the loopback, which keeps its port while it is down. */
export class EventReceiver implements AsyncDisposable {
  /** What was received and answered with 2xx. */
  readonly events: ReceivedEvent[] = [];
  /** The secrets with which calls are verified. */
  readonly secrets: string[] = [];
  /** The status of the answers. */
  status = 204;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #port = 0;

  /** The URL of the receiver. */
  get url(): string {
    return `http://127.0.0.1:${this.#port}/events`;
  }

  /** Begins to listen, on the same port as before. */
  async start(): Promise<void> {
    const server = createServer((request, response) => {
      const chunks: Uint8Array[] = [];
      request.on("data", (chunk: Uint8Array) => chunks.push(chunk));
      request.on("end", () => {
        const text = new TextDecoder().decode(
          new Uint8Array(chunks.flatMap((chunk) => [...chunk])),
        );
        const { status } = this;
        if (status < 300) this.#take(request.headers, text);
        response.writeHead(status).end(status < 300 ? undefined : "not now");
      });
    });
    server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => this.#sockets.delete(socket));
    });
    await new Promise<void>((resolve) =>
      server.listen(this.#port, "127.0.0.1", resolve)
    );
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** Ends at once, with all connections. */
  async kill(): Promise<void> {
    const closed = new Promise((resolve) => this.#server?.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** The types of the events of a task as they came, each id once. */
  typesOf(task: string): readonly string[] {
    const events = this.events.filter(({ event }) => event.data.task === task);
    return [...new Map(events.map(({ id, event }) => [id, event.type]))]
      .map(([, type]) => type);
  }

  /** Ends. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  #take(
    headers: Readonly<Record<string, string | string[] | undefined>>,
    text: string,
  ): void {
    const id = String(headers["webhook-id"]);
    const signedBy = this.secrets.flatMap((secret, place) => {
      try {
        new Webhook(secret).verify(text, headers as Record<string, string>);
        return [place];
      } catch {
        return [];
      }
    });
    this.events.push({ id, event: JSON.parse(text), signedBy });
  }
}
