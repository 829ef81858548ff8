/**
 * Sends statistics to a statsd server, without delaying requests. Nothing is
 * queued while the server is down, since a counter remembers by how much it
 * grew.
 *
 * @module
 */

import { setImmediate } from "node:timers/promises";
import { type Clock, steadyClock, type Timer } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { Periodic } from "../../shared/periodic.ts";
import { describeError } from "../../shared/settled.ts";
import type { Part } from "../../shared/stopper.ts";
import { Backoff } from "../backoff.ts";
import type { StatsRegistry } from "./registry.ts";
import type { StatChange, StatsReader } from "./stats_reader.ts";
import { LinePacker, statsdLines, type StatsdName } from "./statsd_line.ts";
import {
  dialStatsdTcp,
  dialStatsdUdp,
  type StatsdDial,
  type StatsdLink,
} from "./statsd_transport.ts";

/** What an operator can do when statistics reach no server. */
const NEXT_STEP =
  "; set STATSD_HOST and STATSD_PORT to where a server listens, " +
  "or DISABLE_STATS=true";

/** Settings of {@linkcode StatsdSink}. */
interface StatsdSinkOptions {
  /** Host name or address of the server. */
  readonly host: string;
  /** Port of the server. */
  readonly port: number;
  /**
   * Protocol by which lines are sent.
   *
   * @default "tcp"
   */
  readonly protocol?: "tcp" | "udp";
  /** Milliseconds between two flushes. */
  readonly flushIntervalMs: number;
  /**
   * Returns the form in which a name is sent.
   *
   * @default the name as it is
   */
  readonly shown?: (name: string) => StatsdName;
  /** The statistics. */
  readonly registry: StatsRegistry;
  /** Drives flushes, retries and deadlines. */
  readonly clock: Clock;
  /** Gets one warning when the server is lost, and a line when it is back. */
  readonly logger: Logger;
  /**
   * Most values of one timer that are sent in a flush.
   *
   * @default 100
   */
  readonly maxTimerSamples?: number;
  /**
   * Most milliseconds for an attempt to connect, or for writing one payload,
   * before the connection is given up.
   *
   * @default 5_000
   */
  readonly linkTimeoutMs?: number;
  /**
   * Most milliseconds that `stop()` takes for the last flush.
   *
   * @default 2_000
   */
  readonly stopTimeoutMs?: number;
  /**
   * Returns a number from 0 up to, not including, 1, to choose samples and to
   * spread retries by.
   *
   * @default Math.random
   */
  readonly random?: () => number;
}

const RETRY_WAITS = {
  firstMs: 500,
  initialMs: 1_000,
  maxMs: 30_000,
  growth: 1,
  // So that a fleet of instances does not reconnect all at once.
  jitter: true,
} as const;

/**
 * Sends statistics at intervals.
 *
 * When a server cannot be reached, goes away or takes no bytes, one warning is
 * logged, until two flushes in a row went through one connection; the
 * connection is tried again after 0.5 s to 30 s. Counters go on counting
 * meanwhile; the payload that was being written is sent again, timers lose
 * theirs. Bytes that the system had accepted for a server that then went away
 * are lost: the protocol has no receipts.
 */
export class StatsdSink implements Part {
  /** Name in logs. */
  readonly name = "statistics";
  readonly #options: StatsdSinkOptions;
  readonly #dial: StatsdDial;
  readonly #shown: (name: string) => StatsdName;
  readonly #backoff: Backoff;
  readonly #linkTimeoutMs: number;
  readonly #flushes: Periodic;
  #reader: StatsReader | undefined;
  #link: StatsdLink | undefined;
  #retryTimer: Timer | undefined;
  #abort = new AbortController();
  #dialling: Promise<void> | undefined;
  #flushing: Promise<void> | undefined;
  #stopped: Promise<void> | undefined;
  #flushesOnLink = 0;
  #warned = false;

  /** Idle until `start()`. */
  constructor(options: StatsdSinkOptions) {
    this.#options = options;
    this.#dial = options.protocol === "udp" ? dialStatsdUdp : dialStatsdTcp;
    this.#shown = options.shown ?? ((name) => ({ name, ending: "" }));
    const { random } = options;
    this.#backoff = new Backoff({ ...RETRY_WAITS, random });
    this.#linkTimeoutMs = options.linkTimeoutMs ?? 5_000;
    this.#flushes = new Periodic({
      clock: options.clock,
      intervalMs: options.flushIntervalMs,
      run: () => this.flush(),
      onError: (error) => this.#failed(describeError(error)),
    });
  }

  /** Begins to connect and to flush, in the background, and returns at once. */
  start(): Promise<void> {
    if (this.#reader !== undefined || this.#stopped !== undefined) {
      return Promise.resolve();
    }
    const { registry, maxTimerSamples = 100 } = this.#options;
    this.#flushes.start();
    this.#reader = registry.openReader({
      maxTimerSamples,
      random: this.#options.random,
    });
    this.#connect();
    return Promise.resolve();
  }

  /**
   * Sends what has changed now. Resolves when it is sent or cannot be; never
   * rejects. A flush that is already in progress is waited for instead.
   */
  flush(): Promise<void> {
    return this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = undefined;
    });
  }

  /** Flushes once more, within `stopTimeoutMs`, and closes the connection. */
  stop(): Promise<void> {
    return this.#stopped ??= this.#stop();
  }

  #connect(): void {
    this.#dialling = this.#open().finally(() => {
      this.#dialling = undefined;
    });
  }

  async #open(): Promise<void> {
    const { host, port, clock } = this.#options;
    const abort = this.#abort = new AbortController();
    const timer = clock.setTimer(
      () => abort.abort(new Error(this.#tooSlow("no connection"))),
      this.#linkTimeoutMs,
    );
    try {
      const link = await this.#dial({
        host,
        port,
        signal: abort.signal,
        clock: steadyClock(clock),
      });
      this.#link = link;
      this.#flushesOnLink = 0;
      link.closed.then((reason) => this.#lost(link, reason));
    } catch (error) {
      this.#failed(describeError(error));
    } finally {
      timer.cancel();
    }
  }

  #lost(link: StatsdLink, reason: string): void {
    if (this.#link !== link) return;
    this.#link = undefined;
    this.#failed(reason);
  }

  #failed(reason: string): void {
    if (this.#stopped !== undefined) return;
    const { host, port, protocol = "tcp", clock, logger } = this.#options;
    const delayMs = Math.round(this.#backoff.next());
    const message = `Cannot send statistics: ${reason}`;
    const fields = { host, port, protocol, retryInMs: delayMs };
    if (this.#warned) logger.debug(message, fields);
    else logger.warn(message + NEXT_STEP, fields);
    this.#warned = true;
    this.#retryTimer = clock.setTimer(() => this.#connect(), delayMs);
  }

  async #flush(): Promise<void> {
    const link = this.#link;
    const reader = this.#reader;
    if (link === undefined || reader === undefined) return;
    const packer = new LinePacker(link.maxPayloadBytes);
    let unsent: StatChange[] = [];
    let sent = false;
    const send = async (payload: Uint8Array | undefined) => {
      if (payload === undefined) return;
      await this.#send(link, payload);
      sent = true;
      // A write that succeeds at once would not let requests have a turn.
      await setImmediate();
    };
    try {
      for (const change of reader.changes()) {
        unsent.push(change);
        for (const line of statsdLines(this.#shown(change.name), change)) {
          if (packer.add(line)) continue;
          await send(packer.take());
          unsent = [change];
          if (packer.add(line)) continue;
          // The line is longer than a payload should be: it is sent alone.
          await send(new TextEncoder().encode(`${line}\n`));
          unsent = [];
        }
      }
      await send(packer.take());
    } catch (error) {
      reader.giveBack(unsent);
      link.destroy(describeError(error));
      return;
    }
    if (sent) this.#worked();
  }

  async #send(link: StatsdLink, payload: Uint8Array): Promise<void> {
    const timer = this.#options.clock.setTimer(
      () => link.destroy(this.#tooSlow("no bytes taken")),
      this.#linkTimeoutMs,
    );
    try {
      await link.send(payload);
    } finally {
      timer.cancel();
    }
  }

  #worked(): void {
    this.#backoff.reset();
    this.#flushesOnLink++;
    // The first bytes on a connection are accepted even when no server reads
    // them at the other end; a second flush shows that the connection holds.
    if (!this.#warned || this.#flushesOnLink < 2) return;
    this.#warned = false;
    const { host, port, protocol = "tcp", logger } = this.#options;
    logger.info("Statistics are sent again", { host, port, protocol });
  }

  async #stop(): Promise<void> {
    void this.#flushes.stop();
    this.#retryTimer?.cancel();
    const { clock, stopTimeoutMs = 2_000 } = this.#options;
    const tooLate = clock.setTimer(() => {
      const reason = `it took longer than ${stopTimeoutMs} ms to stop`;
      this.#abort.abort(new Error(reason));
      this.#link?.destroy(reason);
    }, stopTimeoutMs);
    await this.#dialling;
    await this.#flushing;
    await this.flush();
    await this.#link?.end();
    tooLate.cancel();
    this.#reader?.close();
  }

  #tooSlow(what: string): string {
    return `${what} for ${this.#linkTimeoutMs} ms`;
  }
}
