/**
 * A server of HTTP/2 that sends GOAWAY on each connection, after another number
 * of frames each time: before its settings, between the frames of a request, and
 * behind its end.
 *
 * @module
 */

import { concat, frameOf, settingsFrame } from "./h2_frames.ts";

const GOAWAY = 7;
const PREFACE_BYTES = 24;
const HEADER_BYTES = 9;
/** Frames after which there is none, but an end of the connection. */
const MAX_FRAMES = 8;

/** Listens on this machine until it is closed. */
export class GoawayServer {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #connections = new Set<Deno.Conn>();
  readonly #running: Promise<void>;
  /** Its port. */
  readonly port: number = this.#listener.addr.port;
  #accepted = 0;

  /** Listens. */
  constructor() {
    this.#running = this.#run();
  }

  /** Connections so far. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Closes everything. */
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
      // The peer has left.
    } finally {
      close(connection);
      this.#connections.delete(connection);
    }
  }
}

/** Reads so many frames, sends GOAWAY, and reads on until the peer leaves. */
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
  // No error, and no stream was looked at; every other one names stream 1.
  const payload = Uint8Array.of(0, 0, 0, frames % 2, 0, 0, 0, 0);
  await connection.write(frameOf({ type: GOAWAY, payload }));
  while (await connection.read(bytes) !== null);
}

function close(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch (error) {
    if (!(error instanceof Deno.errors.BadResource)) throw error;
  }
}
