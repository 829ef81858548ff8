/**
 * An HTTP/2 server that sends GOAWAY on each connection, each time after a
 * different number of frames: before its settings, between the frames of a
 * request, and after the end of the request.
 *
 * @module
 */

import { buildFrame, concat, settingsFrame } from "./h2_frames.ts";

const GOAWAY = 7;
const PREFACE_BYTES = 24;
const HEADER_BYTES = 9;
/**
 * The largest number of frames before GOAWAY; after that the numbers start
 * again at 0.
 */
const MAX_FRAMES = 8;

/** A server that listens on this machine until it is closed. */
export class GoawayServer {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #connections = new Set<Deno.Conn>();
  readonly #running: Promise<void>;
  /** The port on which the server listens. */
  readonly port: number = this.#listener.addr.port;
  #accepted = 0;

  /** Starts to listen. */
  constructor() {
    this.#running = this.#run();
  }

  /** Number of connections so far. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Closes the port and all connections. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    for (const connection of this.#connections) close(connection);
    await this.#running;
  }

  async #run(): Promise<void> {
    const serving: Promise<void>[] = [];
    try {
      for await (const connection of this.#listener) {
        this.#connections.add(connection);
        serving.push(this.#serve(connection, this.#accepted++));
      }
    } finally {
      await Promise.all(serving);
    }
  }

  async #serve(connection: Deno.Conn, index: number): Promise<void> {
    try {
      await answer(connection, {
        frames: index % (MAX_FRAMES + 1),
        tellsSettings: Math.floor(index / (MAX_FRAMES + 1)) % 2 === 0,
      });
    } catch {
      // The client has closed the connection.
    } finally {
      close(connection);
      this.#connections.delete(connection);
    }
  }
}

/**
 * Reads a number of frames, sends GOAWAY, and keeps reading until the client
 * closes the connection.
 */
async function answer(
  connection: Deno.Conn,
  { frames, tellsSettings }: {
    readonly frames: number;
    readonly tellsSettings: boolean;
  },
): Promise<void> {
  if (tellsSettings) await connection.write(settingsFrame([]));
  const bytes = new Uint8Array(65_536);
  let held = new Uint8Array(0);
  let seen = 0;
  let at = PREFACE_BYTES;
  while (seen < frames) {
    const read = await connection.read(bytes);
    if (read === null) return;
    held = concat(held, bytes.subarray(0, read)) as Uint8Array<ArrayBuffer>;
    while (held.length >= at + HEADER_BYTES && seen < frames) {
      at += HEADER_BYTES +
        (held[at]! << 16 | held[at + 1]! << 8 | held[at + 2]!);
      seen++;
    }
  }
  // The error code is NO_ERROR. The last stream is 0, which means that no
  // stream was handled, or in every other connection 1.
  const payload = Uint8Array.of(0, 0, 0, frames % 2, 0, 0, 0, 0);
  await connection.write(buildFrame({ type: GOAWAY, payload }));
  while (await connection.read(bytes) !== null);
}

function close(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch (error) {
    if (!(error instanceof Deno.errors.BadResource)) throw error;
  }
}
