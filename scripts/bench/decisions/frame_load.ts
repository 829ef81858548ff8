/**
 * The bench's own load client. It sends calls of `ShouldRateLimit` as bytes
 * that are built beforehand, so that the client costs little, and can send the
 * same bytes to an echo server. It does what h2load can't: changing values and
 * headers, calls at a fixed rate, latencies of single calls, and the same load
 * on a server that does not speak HTTP/2.
 *
 * Runs as a program: reads a {@linkcode FrameJob} as JSON from its only
 * argument and prints a {@linkcode FrameResult}.
 *
 * @module
 */

import { quantile } from "../kit/numbers.ts";
import { print } from "../../terminal.ts";
import { callFrames, CLIENT_HELLO } from "./call_frames.ts";

/** Describes a load: where it goes, for how long, and what the calls are. */
export interface FrameJob {
  /** The server's port on this machine. */
  readonly port: number;
  /**
   * Whether the server is an echo server, which returns the bytes it gets,
   * rather than one that answers calls.
   */
  readonly isEcho: boolean;
  /** Number of connections. */
  readonly connections: number;
  /** Number of calls that are under way at a time on each connection. */
  readonly streams: number;
  /** Duration of the load, in milliseconds. */
  readonly ms: number;
  /**
   * How many values of the first descriptor the calls cycle through; 1 for
   * always the same value.
   */
  readonly values: number;
  /** Number of descriptors in a call. */
  readonly descriptors: number;
  /**
   * Whether each call has a request header whose value differs from that of
   * every other call.
   */
  readonly isHeaderNew: boolean;
  /**
   * Calls begun in a second, over all connections, whether or not earlier ones
   * are answered; without it, each answer begins the next call at once.
   */
  readonly perSecond?: number | undefined;
  /**
   * Whether calls begin only once the server has distributed the connections
   * among its threads. The server closes a connection to move it; the client
   * opens each closed one again until the server closes no more.
   *
   * @default false
   */
  readonly isSettled?: boolean | undefined;
}

/** The result of a load. */
export interface FrameResult {
  /** Calls that were answered. */
  readonly calls: number;
  /** How long the load took, in milliseconds. */
  readonly ms: number;
  /** Median latency of a call, in milliseconds. */
  readonly p50Ms: number;
  /** 99th percentile of the latency, in milliseconds. */
  readonly p99Ms: number;
  /** 99.9th percentile of the latency, in milliseconds. */
  readonly p999Ms: number;
  /** The longest latency, in milliseconds. */
  readonly maxMs: number;
}

const FRAME_HEAD = 9;
const HEADERS = 1;
const RESET = 3;
const GOAWAY = 7;
const END_STREAM = 1;
const MAX_TIMES = 2_000_000;
const TICK_MS = 1;
/**
 * Connections count as distributed among threads once the server has closed
 * none for this long.
 */
const QUIET_MS = 2_500;

async function load(job: FrameJob): Promise<FrameResult> {
  const times = new Times();
  const loops = await Promise.all(
    Array.from({ length: job.connections }, () => Connection.open(job, times)),
  );
  if (job.isSettled) {
    const quiet = waitForQuiet();
    await Promise.all(loops.map((loop) => loop.settle(quiet)));
  }
  const sinceMs = performance.now();
  await Promise.all(loops.map((loop) => loop.run(sinceMs + job.ms)));
  return { ...times.result(), ms: performance.now() - sinceMs };
}

/** A wait until a period has passed in which nothing happened. */
interface Quiet {
  /** Resolves when the quiet period is over. */
  readonly over: Promise<void>;
  /** Starts the period from the beginning, because something happened. */
  readonly begin: () => void;
}

function waitForQuiet(): Quiet {
  const { promise: over, resolve } = Promise.withResolvers<void>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const begin = (): void => {
    clearTimeout(timer);
    timer = setTimeout(resolve, QUIET_MS);
  };
  begin();
  return { over, begin };
}

/** Records the latencies of calls. */
class Times {
  readonly #times = new Float64Array(MAX_TIMES);
  #count = 0;

  note(ms: number): void {
    this.#times[this.#count++ % MAX_TIMES] = ms;
  }

  result(): Omit<FrameResult, "ms"> {
    const known = Math.min(this.#count, MAX_TIMES);
    const sorted = this.#times.slice(0, known).sort();
    return {
      calls: this.#count,
      p50Ms: quantile(sorted, 0.5),
      p99Ms: quantile(sorted, 0.99),
      p999Ms: quantile(sorted, 0.999),
      maxMs: sorted.at(-1) ?? NaN,
    };
  }
}

/** A connection with calls under way. */
class Connection {
  #socket: Deno.TcpConn;
  readonly #buffer = new Uint8Array(65_536);
  #reading: Promise<number | null> | undefined;
  readonly #job: FrameJob;
  readonly #times: Times;
  readonly #write: (count: number) => Uint8Array;
  readonly #frameBytes: number;
  /** When each unanswered call was begun, in the order of the calls. */
  readonly #begun: number[] = [];
  #first = 0;
  /** The first bytes of a frame whose end has not arrived yet. */
  #rest = new Uint8Array();
  #echoed = 0;
  #isRetired = false;
  #isOver = false;

  private constructor(socket: Deno.TcpConn, job: FrameJob, times: Times) {
    this.#socket = socket;
    this.#job = job;
    this.#times = times;
    const frames = callFrames(job);
    this.#write = (count) => frames.next(count);
    this.#frameBytes = frames.bytes;
  }

  static async open(job: FrameJob, times: Times): Promise<Connection> {
    const connection = new Connection(await connectTo(job.port), job, times);
    if (!job.isEcho) await connection.#send(CLIENT_HELLO);
    return connection;
  }

  /**
   * Opens the connection again whenever the server ends it, until the quiet
   * period is over.
   */
  async settle(quiet: Quiet): Promise<void> {
    while (true) {
      const length = await Promise.race([
        this.#reading ??= this.#read(),
        quiet.over,
      ]);
      if (length === undefined) return;
      if (length === null) throw new Error("Cannot measure: it was closed");
      this.#reading = undefined;
      this.#answered(this.#buffer.subarray(0, length));
      if (!this.#isRetired) continue;
      this.#isRetired = false;
      this.#rest = new Uint8Array();
      this.#socket.close();
      this.#socket = await connectTo(this.#job.port);
      await this.#send(CLIENT_HELLO);
      quiet.begin();
    }
  }

  async run(endMs: number): Promise<void> {
    const { perSecond, streams } = this.#job;
    const pace = perSecond === undefined
      ? undefined
      : this.#pace(perSecond / this.#job.connections, endMs);
    if (perSecond === undefined) await this.#begin(streams, performance.now());
    while (performance.now() < endMs || this.#first < this.#begun.length) {
      const length = await (this.#reading ?? this.#read());
      this.#reading = undefined;
      if (this.#isOver) return;
      if (length === null) throw new Error("Cannot measure: it was closed");
      const nowMs = performance.now();
      const done = this.#answered(this.#buffer.subarray(0, length));
      if (this.#isRetired) throw new Error("Cannot measure: it is to end");
      for (let left = done; left > 0; left--) {
        this.#times.note(nowMs - (this.#begun[this.#first++] ?? nowMs));
      }
      if (done > 0 && perSecond === undefined && nowMs < endMs) {
        await this.#begin(done, nowMs);
      }
      if (this.#first > 65_536) {
        this.#begun.splice(0, this.#first);
        this.#first = 0;
      }
      if (nowMs >= endMs && this.#first === this.#begun.length) break;
    }
    await pace;
    this.#close();
  }

  async #read(): Promise<number | null> {
    try {
      return await this.#socket.read(this.#buffer);
    } catch (error) {
      if (this.#isOver) return null;
      throw error;
    }
  }

  #close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#socket.close();
  }

  /**
   * Begins calls at a steady rate; latencies count from when a call is begun.
   */
  async #pace(perSecond: number, endMs: number): Promise<void> {
    const sinceMs = performance.now();
    let begun = 0;
    while (performance.now() < endMs) {
      const nowMs = performance.now();
      const due = Math.floor((nowMs - sinceMs) / 1_000 * perSecond) - begun;
      if (due > 0) {
        await this.#begin(due, nowMs);
        begun += due;
      }
      await new Promise((resolve) => setTimeout(resolve, TICK_MS));
    }
    // While calls are unanswered, the last answer closes the connection.
    if (this.#first === this.#begun.length) this.#close();
  }

  async #begin(count: number, nowMs: number): Promise<void> {
    for (let left = count; left > 0; left--) this.#begun.push(nowMs);
    await this.#send(this.#write(count));
  }

  async #send(bytes: Uint8Array): Promise<void> {
    let sent = 0;
    while (sent < bytes.length) {
      sent += await this.#socket.write(bytes.subarray(sent));
    }
  }

  /** Counts the calls that these bytes answer. */
  #answered(bytes: Uint8Array): number {
    if (this.#job.isEcho) {
      const before = Math.floor(this.#echoed / this.#frameBytes);
      this.#echoed += bytes.length;
      return Math.floor(this.#echoed / this.#frameBytes) - before;
    }
    let all = bytes;
    if (this.#rest.length > 0) {
      all = new Uint8Array(this.#rest.length + bytes.length);
      all.set(this.#rest);
      all.set(bytes, this.#rest.length);
    }
    let at = 0;
    let done = 0;
    while (all.length - at >= FRAME_HEAD) {
      const length = all[at]! << 16 | all[at + 1]! << 8 | all[at + 2]!;
      if (all.length - at - FRAME_HEAD < length) break;
      const type = all[at + 3];
      if (type === HEADERS && (all[at + 4]! & END_STREAM) !== 0) done++;
      if (type === RESET) throw new Error("Cannot measure: a call was refused");
      if (type === GOAWAY) this.#isRetired = true;
      at += FRAME_HEAD + length;
    }
    this.#rest = all.slice(at);
    return done;
  }
}

async function connectTo(port: number): Promise<Deno.TcpConn> {
  const socket = await Deno.connect({ hostname: "127.0.0.1", port });
  socket.setNoDelay();
  return socket;
}

if (import.meta.main) {
  print(JSON.stringify(await load(JSON.parse(Deno.args[0] ?? "null"))));
}
