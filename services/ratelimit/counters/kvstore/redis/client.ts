/**
 * One connection to a Redis server: it sends commands and takes replies, until
 * it fails for the first time.
 *
 * @module
 */

import type { Socket } from "node:net";
import { openStoreSocket } from "../../store_socket.ts";
import type { StoreTls } from "../../store_tls.ts";
import type { RedisAddress, RedisAuth } from "./address.ts";
import {
  CommandWriter,
  Gathering,
  type GatheringOptions,
  type RedisArgument,
  type RedisCommand,
} from "./command_writer.ts";
import { Expiries } from "./expiries.ts";
import { MergedHits, type ReplySink } from "./merged_hits.ts";
import {
  isRedisRefusal,
  RedisProtocolError,
  type RedisReply,
  ReplyReader,
} from "./reply.ts";

/**
 * Hits, each of which counts and has the count as its reply. Those that are
 * written together are merged, see {@linkcode MergedHits}.
 */
export interface Hits {
  /** Number of hits. */
  readonly count: number;
  /** Adds the hits to those that are written together. */
  addTo(merged: MergedHits, sink: ReplySink): void;
}

/** A connection that is dialled once, and not again after a failure. */
export interface RedisClient {
  /**
   * True while further commands would be sent in one write with those that
   * wait.
   */
  readonly isGathering: boolean;
  /**
   * Bytes of commands that the operating system has not taken yet, and of the
   * names of counters whose replies have not arrived.
   */
  readonly heldBytes: number;
  /**
   * Dials and signs in.
   *
   * @throws {Error} When that fails.
   */
  connect(): Promise<void>;
  /**
   * Sends commands, in one write with all others that are gathered meanwhile.
   * The commands are read before this returns. A list that has only pairs of
   * `INCRBY` and `EXPIRE`, each with one object as both names, is sent as hits;
   * the reply to an `EXPIRE` that was not needed is 1. `sink` gets no further reply
   * once the connection failed or was closed.
   */
  send(commands: readonly RedisCommand[], sink: ReplySink): void;
  /** Sends hits as {@linkcode RedisClient.send} sends commands. */
  hit(hits: Hits, sink: ReplySink): void;
  /** Closes the connection at once, even while it is being dialled. */
  destroy(): void;
}

/** How a {@linkcode RedisClient} is made. */
export interface RedisClientOptions extends GatheringOptions {
  /** Address of the server. */
  readonly address: RedisAddress;
  /**
   * Credentials of the connection.
   *
   * @default not signing in
   */
  readonly auth?: RedisAuth | undefined;
  /**
   * Number of the database.
   *
   * @default 0
   */
  readonly database?: number | undefined;
  /**
   * TLS settings of the connection; unix sockets are never encrypted.
   *
   * @default not encrypted
   */
  readonly tls?: StoreTls | undefined;
  /**
   * Knows which counters have an expiry.
   *
   * @default what this connection learns alone
   */
  readonly expiries?: Expiries | undefined;
  /**
   * Called once when a connection that `connect` had made fails. Its replies
   * can't be told apart from then on, so it is closed.
   */
  readonly onError: (error: Error) => void;
}

/** Makes a client; `connect()` dials. */
export function openRedisClient(options: RedisClientOptions): RedisClient {
  return new SocketClient(options);
}

/**
 * Sends commands and collects their replies; meant for commands that are rare.
 *
 * @returns Their replies; a promise that stays open when the connection fails.
 */
export function replies(
  client: RedisClient,
  commands: readonly RedisCommand[],
): Promise<readonly RedisReply[]> {
  return new Promise((resolve) => {
    const received = new Array<RedisReply>(commands.length);
    let left = commands.length;
    client.send(commands, {
      reply: (index, reply) => {
        received[index] = reply;
        if (--left === 0) resolve(received);
      },
    });
  });
}

/** A call whose replies have not all arrived. */
interface Expected {
  readonly sink: ReplySink;
  readonly count: number;
}

/**
 * Returns the commands that sign in and choose the database. `AUTH` without a
 * username is understood by servers before 6.0, too.
 */
function openingCommands(
  { auth, database = 0 }: RedisClientOptions,
): readonly RedisCommand[] {
  const commands: RedisCommand[] = [];
  if (auth !== undefined) {
    const { username, password } = auth;
    commands.push(
      username === undefined
        ? ["AUTH", password]
        : ["AUTH", username, password],
    );
  }
  if (database !== 0) commands.push(["SELECT", String(database)]);
  return commands;
}

/** True for a list that has only pairs of `INCRBY` and `EXPIRE`. */
function isPairs(commands: readonly RedisCommand[]): boolean {
  for (let i = 0; i < commands.length; i += 2) {
    const [verb, name, hits] = commands[i]!;
    const next = commands[i + 1];
    if (verb !== "INCRBY" || !isSafe(hits)) return false;
    if (next?.[0] !== "EXPIRE" || next[1] !== name) return false;
    if (!(name instanceof Uint8Array) || !isSafe(next[2])) return false;
  }
  return true;
}

function isSafe(digits: RedisArgument | undefined): boolean {
  return Number(digits) > 0 && Number.isSafeInteger(Number(digits));
}

/** Returns the hits of a list of pairs. */
function pairHits(commands: readonly RedisCommand[]): Hits {
  return {
    count: commands.length / 2,
    addTo(merged, sink) {
      for (let index = 0; index < commands.length; index += 2) {
        const [, name, hits] = commands[index]!;
        const bytes = name as Buffer;
        merged.add(sink, {
          ...{ index, isPair: true, bytes, start: 0, end: bytes.length },
          hits: Number(hits),
          lifeSeconds: Number(commands[index + 1]![2]),
        });
      }
    },
  };
}

/** Most merged hits that are kept for use again. */
const MAX_SPARE = 4;

class SocketClient implements RedisClient {
  readonly #options: RedisClientOptions;
  readonly #expiries: Expiries;
  readonly #writer = new CommandWriter();
  readonly #reader = new ReplyReader({
    onReply: (reply) => this.#onReply(reply),
  });
  readonly #gathering: Gathering;
  readonly #dial = Promise.withResolvers<void>();
  #state: "new" | "dialling" | "up" | "closed" = "new";
  #socket: Socket | undefined;
  #expected: Expected[] = [];
  /** Index of the call whose replies come next, and index of its next reply. */
  #head = 0;
  #nextReply = 0;
  /** Bytes that the socket has not taken yet. */
  #writing: Uint8Array | undefined;
  /** Hits that are not written yet. */
  #open: MergedHits | undefined;
  /** Hits that were written and have not all their replies. */
  readonly #unanswered = new Set<MergedHits>();
  readonly #spare: MergedHits[] = [];
  #nameBytes = 0;

  constructor(options: RedisClientOptions) {
    this.#options = options;
    this.#expiries = options.expiries ?? new Expiries();
    this.#gathering = new Gathering(options, () => this.#flush());
  }

  get isGathering(): boolean {
    return this.#gathering.isOpen;
  }

  get heldBytes(): number {
    return this.#writer.length + (this.#writing?.length ?? 0) +
      (this.#open?.bytes ?? 0) + this.#nameBytes;
  }

  connect(): Promise<void> {
    if (this.#state !== "new") return this.#dial.promise;
    this.#state = "dialling";
    const { address, tls } = this.#options;
    try {
      const socket = openStoreSocket(address, {
        tls,
        onOpen: () => this.#signIn(),
      });
      this.#socket = socket;
      socket.on("data", (chunk: Buffer) => this.#read(chunk));
      socket.on("error", (error) => this.#fail(error));
      socket.on(
        "close",
        () => this.#fail(new Error("the server closed the connection")),
      );
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error(String(error)));
    }
    return this.#dial.promise;
  }

  send(commands: readonly RedisCommand[], sink: ReplySink): void {
    const count = commands.length;
    if (this.#state === "closed" || count === 0) return;
    if (isPairs(commands)) return this.hit(pairHits(commands), sink);
    // A command between hits must see those before it, and those alone.
    this.#writeHits();
    for (const command of commands) this.#writer.add(command);
    this.#expected.push({ sink, count });
    this.#gathering.add(count);
  }

  hit(hits: Hits, sink: ReplySink): void {
    if (this.#state === "closed" || hits.count === 0) return;
    const merged = this.#open ??= this.#spare.pop() ?? this.#merging();
    const before = merged.size;
    hits.addTo(merged, sink);
    // Hits on known counters leave with those that are gathered already.
    const counters = merged.size - before;
    if (counters > 0) this.#gathering.add(2 * counters);
  }

  destroy(): void {
    this.#fail(new Error("the connection was closed"), { isReported: false });
  }

  #signIn(): void {
    if (this.#state !== "dialling") return;
    const commands = openingCommands(this.#options);
    if (commands.length === 0) return this.#rise();
    replies(this, commands).then((received) => {
      const refused = received.find(isRedisRefusal);
      if (refused === undefined) this.#rise();
      else this.#fail(new Error(refused.refusal));
    });
  }

  #rise(): void {
    if (this.#state !== "dialling") return;
    this.#state = "up";
    this.#dial.resolve();
  }

  #merging(): MergedHits {
    return new MergedHits({
      expiries: this.#expiries,
      expire: (name, { seconds, sink }) =>
        this.send([["EXPIRE", name, String(seconds)]], sink),
      onAnswered: (merged) => this.#onAnswered(merged),
    });
  }

  #writeHits(): void {
    const merged = this.#open;
    if (merged === undefined) return;
    this.#open = undefined;
    this.#expiries.age(this.#options.clock.nowMs());
    const count = merged.writeTo(this.#writer);
    this.#expected.push({ sink: merged, count });
    this.#unanswered.add(merged);
    this.#nameBytes += merged.bytes;
  }

  #onAnswered(merged: MergedHits): void {
    // When the connection failed meanwhile, nothing is left of it.
    if (!this.#unanswered.delete(merged)) return;
    this.#nameBytes -= merged.bytes;
    merged.clear();
    if (this.#spare.length < MAX_SPARE) this.#spare.push(merged);
  }

  /**
   * Begins a write, unless one is in progress: the bytes gathered meanwhile are
   * written when it ends.
   */
  #flush(): void {
    const socket = this.#socket;
    if (this.#state === "closed" || socket === undefined) return;
    if (this.#writing === undefined) this.#writeHits();
    if (this.#writer.length === 0 || this.#writing !== undefined) return;
    const bytes = this.#writer.take();
    this.#writing = bytes;
    socket.write(bytes, (error) => {
      this.#writing = undefined;
      // A failed write is also reported as an error of the socket.
      if (error !== null && error !== undefined) return;
      this.#writer.reuse(bytes);
      if (!this.#gathering.isUnderWay) this.#flush();
    });
  }

  #read(chunk: Buffer): void {
    if (this.#state === "closed") return;
    try {
      this.#reader.push(chunk);
    } catch (error) {
      if (!(error instanceof RedisProtocolError)) throw error;
      this.#fail(error);
    }
  }

  #onReply(reply: RedisReply): void {
    if (this.#state === "closed") return;
    const expected = this.#expected[this.#head];
    if (expected === undefined) {
      throw new RedisProtocolError("a reply that was not asked for");
    }
    const index = this.#nextReply++;
    if (this.#nextReply === expected.count) {
      this.#nextReply = 0;
      this.#head++;
      if (this.#head === this.#expected.length) {
        this.#expected.length = this.#head = 0;
      } else if (this.#head === 1_024) {
        this.#expected.splice(0, this.#head);
        this.#head = 0;
      }
    }
    expected.sink.reply(index, reply);
  }

  #fail(error: Error, { isReported = true } = {}): void {
    if (this.#state === "closed") return;
    const wasUp = this.#state === "up";
    this.#state = "closed";
    this.#expected = [];
    for (const merged of this.#unanswered) merged.lose();
    this.#unanswered.clear();
    this.#open = undefined;
    this.#gathering.stop();
    this.#socket?.destroy();
    this.#socket = undefined;
    if (!wasUp) this.#dial.reject(error);
    else if (isReported) this.#options.onError(error);
  }
}
