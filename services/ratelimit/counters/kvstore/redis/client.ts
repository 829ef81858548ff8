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
  type RedisCommand,
} from "./command_writer.ts";
import {
  isRedisRefusal,
  RedisProtocolError,
  type RedisReply,
  ReplyReader,
} from "./reply.ts";

/** Commands that write themselves, without a list of arguments in between. */
export interface WritableCommands {
  /** Number of commands. */
  readonly count: number;
  /** Writes the commands. */
  writeTo(writer: CommandWriter): void;
  /** Returns the commands as a list, which holds nothing of their source. */
  listed(): readonly RedisCommand[];
}

/** Commands to execute, in either form. */
export type RedisCommands = readonly RedisCommand[] | WritableCommands;

/** Takes the replies to some commands. */
export interface ReplySink {
  /**
   * Takes the reply to the command at `index`; replies come in the order of the
   * commands.
   */
  reply(index: number, reply: RedisReply): void;
}

/** A connection that is dialled once, and not again after a failure. */
export interface RedisClient {
  /**
   * True while further commands would be sent in one write with those that
   * wait.
   */
  readonly isGathering: boolean;
  /** Bytes of commands that the operating system has not taken yet. */
  readonly unsentBytes: number;
  /**
   * Dials and signs in.
   *
   * @throws {Error} When that fails.
   */
  connect(): Promise<void>;
  /**
   * Sends commands, in one write with all others that are gathered meanwhile.
   * The commands are read before this returns. `sink` gets no further reply
   * once the connection failed or was closed.
   */
  send(commands: RedisCommands, sink: ReplySink): void;
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
   * Called once when a connection that `connect` had made fails. Its replies
   * can't be told apart from then on, so it is closed.
   */
  readonly onError: (error: Error) => void;
}

/** Returns the number of commands. */
export function commandCount(commands: RedisCommands): number {
  return "writeTo" in commands ? commands.count : commands.length;
}

/** Returns the commands as a list. */
export function commandList(commands: RedisCommands): readonly RedisCommand[] {
  return "writeTo" in commands ? commands.listed() : commands;
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

class SocketClient implements RedisClient {
  readonly #options: RedisClientOptions;
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

  constructor(options: RedisClientOptions) {
    this.#options = options;
    this.#gathering = new Gathering(options, () => this.#flush());
  }

  get isGathering(): boolean {
    return this.#gathering.isOpen;
  }

  get unsentBytes(): number {
    return this.#writer.length + (this.#writing?.length ?? 0);
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

  send(commands: RedisCommands, sink: ReplySink): void {
    if (this.#state === "closed") return;
    const writer = this.#writer;
    const count = commandCount(commands);
    if (count === 0) return;
    if ("writeTo" in commands) commands.writeTo(writer);
    else for (const command of commands) writer.add(command);
    this.#expected.push({ sink, count });
    this.#gathering.add(count);
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

  /**
   * Begins a write, unless one is in progress: the bytes gathered meanwhile are
   * written when it ends.
   */
  #flush(): void {
    const socket = this.#socket;
    if (this.#state === "closed" || socket === undefined) return;
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
    this.#gathering.stop();
    this.#socket?.destroy();
    this.#socket = undefined;
    if (!wasUp) this.#dial.reject(error);
    else if (isReported) this.#options.onError(error);
  }
}
