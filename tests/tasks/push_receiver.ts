/**
 * A worker that is called: it notes every call and answers as it is told.
 *
 * @module
 */

import { waitUntil } from "../support/wait_until.ts";

/** A call as it came. */
export interface PushCall {
  /** When, in milliseconds since the epoch. */
  readonly atMs: number;
  /** Header fields, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The content as it came. */
  readonly body: string;
  /** The content's data. */
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

/** Decides the answer to a call; `index` counts from 0. */
export type PushAnswerer = (
  call: PushCall,
  index: number,
) => Response | Promise<Response>;

/** A server of its own on the loopback interface. */
export class PushReceiver {
  /** Every call so far. */
  readonly calls: PushCall[] = [];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  /** Listens. */
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

  /** The port. */
  get port(): number {
    return this.#server.addr.port;
  }

  /** The URL of the worker. */
  get url(): string {
    return `http://127.0.0.1:${this.port}/run`;
  }

  /** Waits until there have been so many calls. */
  async waitForCalls(count: number, timeoutMs = 10_000): Promise<void> {
    await waitUntil(() => this.calls.length >= count, {
      what: `${count} push calls`,
      timeoutMs,
    });
  }

  /** Stops to listen; open calls are cut. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}
