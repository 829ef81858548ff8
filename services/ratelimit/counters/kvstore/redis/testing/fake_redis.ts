/**
 * Clients and servers that tests of connections work by hand.
 *
 * @module
 */

import { ErrorReply } from "redis";
import { formatRedisAddress } from "../address.ts";
import type {
  RedisArgument,
  RedisClient,
  RedisClientOptions,
  RedisCommand,
} from "../client.ts";

/** One dialled client, whose server is the test. */
export class FakeRedisClient implements RedisClient {
  /** What it was made with. */
  readonly options: RedisClientOptions;
  /** Commands sent that are not answered yet, PING included. */
  readonly sent: Array<{
    readonly command: readonly RedisArgument[];
    readonly resolve: (reply: unknown) => void;
    readonly reject: (error: Error) => void;
  }> = [];
  /** Settles the dial. */
  readonly dial: PromiseWithResolvers<void> = Promise.withResolvers<void>();
  /** How often it was destroyed. */
  destroyed = 0;

  /** Makes a client that is not dialled. */
  constructor(options: RedisClientOptions) {
    this.options = options;
  }

  /** Waits for {@linkcode FakeRedisClient.dial}. */
  connect(): Promise<void> {
    return this.dial.promise;
  }

  /** Keeps a command for the test to answer. */
  send(command: readonly RedisArgument[]): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.sent.push({ command, resolve, reject });
    return promise;
  }

  /** Fails what waits, as the package does. */
  destroy(): void {
    this.destroyed++;
    this.dial.reject(new Error("destroyed"));
    for (const { reject } of this.sent.splice(0)) {
      reject(new Error("destroyed"));
    }
  }

  /** Lets the dial succeed and answers the PING. */
  async accept(): Promise<void> {
    this.dial.resolve();
    await settle();
    this.sent.shift()?.resolve("PONG");
    await settle();
  }

  /** Fails as a lost socket does. */
  async lose(error = new Error("lost")): Promise<void> {
    this.options.onError(error);
    for (const { reject } of this.sent.splice(0)) reject(error);
    await settle();
  }
}

/** Lets promises that can settle do so. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}

/**
 * Replies to a command of a server: a value, an error reply, or `undefined` for
 * no reply at all.
 */
export type FakeAnswer = (
  place: string,
  command: readonly string[],
) => unknown;

/** Servers whose dials succeed at once, unless they are down. */
export class FakeServers {
  /**
   * What arrived, as "host:port COMMAND argument …"; PING and ROLE are left
   * out.
   */
  readonly log: string[] = [];
  /** Servers that cannot be reached. */
  readonly down = new Set<string>();
  /**
   * Replies to everything but PING, and ROLE unless it replies to that, too.
   */
  answer: FakeAnswer = () => undefined;
  readonly #clients = new Map<string, Set<FakeClient>>();

  /** Makes a client; for options called `openClient`. */
  readonly open = (options: RedisClientOptions): RedisClient => {
    const place = formatRedisAddress(options.address);
    const clients = this.#clients.get(place) ?? new Set();
    this.#clients.set(place, clients);
    const client = new FakeClient(options, this, () => clients.delete(client));
    clients.add(client);
    return client;
  };

  /** Number of connections to a server. */
  connections(place: string): number {
    return this.#clients.get(place)?.size ?? 0;
  }

  /** Takes a server down, with its connections. */
  kill(place: string): void {
    this.down.add(place);
    for (const client of this.#clients.get(place) ?? []) client.lose();
  }
}

class FakeClient implements RedisClient {
  readonly #options: RedisClientOptions;
  readonly #servers: FakeServers;
  readonly #onClose: () => void;
  readonly #place: string;
  readonly #lost = Promise.withResolvers<never>();

  constructor(
    options: RedisClientOptions,
    servers: FakeServers,
    onClose: () => void,
  ) {
    this.#options = options;
    this.#servers = servers;
    this.#onClose = onClose;
    this.#place = formatRedisAddress(options.address);
    this.#lost.promise.catch(() => {});
  }

  connect(): Promise<void> {
    return this.#servers.down.has(this.#place)
      ? Promise.reject(new Error("refused"))
      : Promise.resolve();
  }

  send(command: RedisCommand): Promise<unknown> {
    const words = command.map(String);
    if (words[0] === "PING") return Promise.resolve("PONG");
    if (words[0] !== "ROLE") {
      this.#servers.log.push(`${this.#place} ${words.join(" ")}`);
    }
    const reply = this.#servers.answer(this.#place, words);
    if (words[0] === "ROLE" && reply === undefined) {
      return Promise.resolve(["master", 0, []]);
    }
    if (reply instanceof Error) return Promise.reject(reply);
    return reply === undefined ? this.#lost.promise : Promise.resolve(reply);
  }

  destroy(): void {
    this.#onClose();
    this.#lost.reject(new Error("destroyed"));
  }

  lose(): void {
    this.#lost.reject(new Error("lost"));
    this.#options.onError(new Error("lost"));
  }
}

/** An error that a server replies with. */
export function errorReply(text: string): Error {
  return new ErrorReply(text);
}
