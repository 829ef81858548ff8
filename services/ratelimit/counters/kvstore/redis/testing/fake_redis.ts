/**
 * Redis clients and servers that tests of connections control by hand.
 *
 * @module
 */

import { formatRedisAddress } from "../address.ts";
import type { RedisClient, RedisClientOptions } from "../client.ts";
import type { ReplySink } from "../merged_hits.ts";
import type { RedisArgument, RedisCommand } from "../command_writer.ts";
import type { RedisReply } from "../reply.ts";

/** One dialled client; the test plays its server. */
export class FakeRedisClient implements RedisClient {
  /** The options that the client was made with. */
  readonly options: RedisClientOptions;
  /** Commands sent that are not answered yet, PING included. */
  readonly sent: Array<{
    readonly command: readonly RedisArgument[];
    readonly resolve: (reply: unknown) => void;
    readonly reject: (error: Error) => void;
  }> = [];
  /** Settles the dial. */
  readonly dial: PromiseWithResolvers<void> = Promise.withResolvers<void>();
  /** How often the client was destroyed. */
  destroyed = 0;
  /** A test sets this to true to let commands gather. */
  isGathering = false;
  /** Always 0: no bytes are held. */
  readonly heldBytes = 0;

  /** Makes a client that is not dialled. */
  constructor(options: RedisClientOptions) {
    this.options = options;
  }

  /** Waits for {@linkcode FakeRedisClient.dial}. */
  connect(): Promise<void> {
    return this.dial.promise;
  }

  /** Keeps commands for the test to answer, in any order. */
  send(commands: readonly RedisCommand[], sink: ReplySink): void {
    for (const [index, command] of commands.entries()) {
      this.sent.push({
        command,
        resolve: (reply) => sink.reply(index, reply as RedisReply),
        reject: ({ message }) => sink.reply(index, { refusal: message }),
      });
    }
  }

  /** Tests of connections send commands. */
  hit(): void {
    throw new Error("Cannot count hits: a fake has no counters");
  }

  /** Counts the call, fails the dial and forgets the commands that wait. */
  destroy(): void {
    this.destroyed++;
    this.dial.reject(new Error("destroyed"));
    this.sent.length = 0;
  }

  /** Lets the dial succeed and answers the PING. */
  async accept(): Promise<void> {
    this.dial.resolve();
    await settle();
    this.sent.shift()?.resolve("PONG");
    await settle();
  }

  /** Fails as a client does whose socket is lost. */
  async lose(error = new Error("lost")): Promise<void> {
    this.sent.length = 0;
    this.options.onError(error);
    await settle();
  }
}

/** Lets promises that can settle do so. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}

/**
 * Returns the reply to a command of a server: a value, an error reply, or
 * `undefined` for no reply at all.
 */
export type FakeAnswer = (
  place: string,
  command: readonly string[],
) => unknown;

/** Servers whose dials succeed at once, unless they are down. */
export class FakeServers {
  /**
   * Commands that arrived, as "host:port COMMAND argument …"; PING and ROLE are
   * left out.
   */
  readonly log: string[] = [];
  /** Servers that cannot be reached. */
  readonly down = new Set<string>();
  /**
   * Replies to every command but PING, and but ROLE unless it replies to that,
   * too.
   */
  answer: FakeAnswer = () => undefined;
  readonly #clients = new Map<string, Set<FakeClient>>();

  /** Makes a client; to be given as the option `openClient`. */
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
  readonly isGathering = false;
  readonly heldBytes = 0;

  constructor(
    options: RedisClientOptions,
    servers: FakeServers,
    onClose: () => void,
  ) {
    this.#options = options;
    this.#servers = servers;
    this.#onClose = onClose;
    this.#place = formatRedisAddress(options.address);
  }

  connect(): Promise<void> {
    return this.#servers.down.has(this.#place)
      ? Promise.reject(new Error("refused"))
      : Promise.resolve();
  }

  send(commands: readonly RedisCommand[], sink: ReplySink): void {
    for (const [index, command] of commands.entries()) {
      const reply = this.#reply(command.map(String));
      if (reply === undefined) continue;
      // The reply comes later, as from a server: the caller has gone on by
      // then.
      Promise.resolve().then(() => {
        if (!this.#isClosed) sink.reply(index, fakeReply(reply));
      });
    }
  }

  hit(): void {
    throw new Error("Cannot count hits: a fake has no counters");
  }

  #isClosed = false;

  #reply(words: readonly string[]): unknown {
    const [verb] = words;
    if (verb === "PING") return "PONG";
    if (verb !== "ROLE") {
      this.#servers.log.push(`${this.#place} ${words.join(" ")}`);
    }
    const reply = this.#servers.answer(this.#place, words);
    return verb === "ROLE" && reply === undefined ? ["master", 0, []] : reply;
  }

  destroy(): void {
    this.#isClosed = true;
    this.#onClose();
  }

  lose(): void {
    this.#isClosed = true;
    this.#options.onError(new Error("lost"));
  }
}

function fakeReply(reply: unknown): RedisReply {
  return reply instanceof Error
    ? { refusal: reply.message }
    : reply as RedisReply;
}

/** Returns an error with which a server replies. */
export function errorReply(text: string): Error {
  return new Error(text);
}
