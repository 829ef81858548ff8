/**
 * Reads a tenant's server-sent events in tests, and goes on after a break.
 *
 * @module
 */

import { get, type IncomingMessage } from "node:http";
import { SERVICE_HOST } from "./tenant_client.ts";

/** A server-sent event. */
export interface ReadEvent {
  /** The last id that was told. */
  readonly id: string;
  /** The type. */
  readonly event: string;
  /** The data. */
  readonly data: EventJson;
}

/** The data of an event. */
export interface EventJson {
  readonly type: string;
  readonly timestamp: string;
  readonly id: string;
  readonly data: Readonly<Record<string, unknown>> & { readonly task?: string };
}

interface EventClientOptions {
  /** The port of the service; asked for at each connection. */
  readonly port: () => number;
  /** The key. */
  readonly token: string;
  /** The query, without the question mark. @default none */
  readonly query?: string;
  /** The label of the tenant's host. @default "acme" */
  readonly domain?: string;
}

/** A reader of events. */
export class EventClient {
  /** All events so far. */
  readonly events: ReadEvent[] = [];
  /** The status of each connection. */
  readonly statuses: number[] = [];
  /** The last id. */
  lastId = "";
  readonly #options: EventClientOptions;
  #isClosed = false;
  #response: IncomingMessage | undefined;
  #text = "";

  /** Reads nothing yet. */
  constructor(options: EventClientOptions) {
    this.#options = options;
  }

  /** Connects; resolves with the status when the head of the answer is there. */
  connect(): Promise<number> {
    const { port, token, query = "", domain = "acme" } = this.#options;
    return new Promise((resolve, reject) => {
      const request = get({
        host: "127.0.0.1",
        port: port(),
        path: `/api/v1/events?${query}`,
        agent: false,
        headers: {
          host: `${domain}.${SERVICE_HOST}`,
          authorization: `Bearer ${token}`,
          ...this.lastId === "" ? {} : { "last-event-id": this.lastId },
        },
      }, (response) => {
        this.#response = response;
        this.#text = "";
        this.statuses.push(response.statusCode ?? 0);
        response.setEncoding("utf8");
        response.on("data", (text: string) => this.#take(text));
        response.on("error", () => {});
        response.on("close", () => this.#response = undefined);
        resolve(response.statusCode ?? 0);
      });
      request.on("error", reject);
    });
  }

  /** Whether a connection is open. */
  get isOpen(): boolean {
    return this.#response !== undefined;
  }

  /** Connects again whenever the connection has ended, until it is closed. */
  async follow(pauseMs = 20): Promise<void> {
    while (!this.#isClosed) {
      if (!this.isOpen) await this.connect().catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }

  /** Ends the connection. */
  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#response?.destroy();
  }

  #take(text: string): void {
    this.#text += text;
    const blocks = this.#text.split("\n\n");
    this.#text = blocks.pop() ?? "";
    for (const block of blocks) {
      const fields = new Map(
        block.split("\n").map((line) => {
          const [name = "", value = ""] = line.split(/: (.*)/, 2);
          return [name, value];
        }),
      );
      this.lastId = fields.get("id") ?? this.lastId;
      const [event, data] = [fields.get("event"), fields.get("data")];
      if (event === undefined || data === undefined) continue;
      this.events.push({ id: this.lastId, event, data: JSON.parse(data) });
    }
  }
}
