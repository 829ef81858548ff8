/**
 * A push worker for tests: it records every call and answers as the test says.
 *
 * @module
 */

import { waitUntil } from "../support/wait_until.ts";

/** A call that the worker received. */
export interface PushCall {
  /** When the call arrived, in milliseconds since the epoch. */
  readonly atMs: number;
  /** The header fields, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as text. */
  readonly body: string;
  /** The member `data` of the body. */
  readonly data: {
    readonly task: { readonly id: string };
    readonly run: number;
    readonly attempt: {
      readonly id: string;
      readonly token: string;
      readonly fence: number;
    };
  };
}

/**
 * Returns the response to a call; `index` is the number of the call, from 0.
 */
export type PushAnswerer = (
  call: PushCall,
  index: number,
) => Response | Promise<Response>;

/** The HTTP server of a push worker, on the loopback interface. */
export class PushReceiver {
  /** All calls so far. */
  readonly calls: PushCall[] = [];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  /** Starts to listen on a free port. */
  constructor(answer: PushAnswerer) {
    this.#server = Deno.serve({
      hostname: "127.0.0.1",
      port: 0,
      onListen: () => {},
    }, async (request) => {
      const body = await request.text();
      const { data } = JSON.parse(body) as Pick<PushCall, "data">;
      const headers = Object.fromEntries(request.headers);
      const call = { atMs: Date.now(), headers, body, data };
      this.calls.push(call);
      return await answer(call, this.calls.length - 1);
    });
  }

  /** The port on which the server listens. */
  get port(): number {
    return this.#server.addr.port;
  }

  /** The URL of the worker. */
  get url(): string {
    return `http://127.0.0.1:${this.port}/run`;
  }

  /** Waits until there have been `count` calls. */
  async waitForCalls(count: number, timeoutMs = 10_000): Promise<void> {
    await waitUntil(() => this.calls.length >= count, {
      what: `${count} push calls`,
      timeoutMs,
    });
  }

  /** Stops the server. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}
