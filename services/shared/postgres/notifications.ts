/**
 * What instances tell each other over PostgreSQL's notifications: in bundles
 * and apart from the commits, which would else wait for each other. A lost
 * notice costs its reader a look.
 *
 * @module
 */

import { type Clock, steadyClock, type Timer } from "../clock.ts";
import { type Logger, RateLimitedLog } from "../logger.ts";
import {
  describeError,
  settle,
  unlessAborted,
  waitAtMost,
} from "../settled.ts";
import { StoreFailedError } from "../store_failed.ts";
import type { DatabaseConnection } from "./connection.ts";
import { openPrimary } from "./primary.ts";
import type { ServerWatch } from "./server_watch.ts";
import type { Runner, Session } from "./session.ts";

/** Options of {@linkcode Notifications}. */
export interface NotificationsOptions {
  /** The database; it needs a connection of its own to it. */
  readonly connection: DatabaseConnection;
  /**
   * Other connections, by which it makes sure that it hears: behind a pooler in
   * transaction mode it would not.
   */
  readonly runner: Runner;
  /** Is told which server answers. */
  readonly watch: ServerWatch;
  /** The channel: of those on one database, and of one schema. */
  readonly channel: string;
  /** Tells this instance from others; without line ends. */
  readonly instanceId: string;
  /** Sets the timers. */
  readonly clock: Clock;
  /** Hears when nothing can be heard. */
  readonly logger: Logger;
  /** Is told each notice of another instance. */
  readonly onNotice: (notice: unknown) => void;
  /**
   * Is told that notices may have been missed, each time that it begins to
   * listen: everything has to be looked at.
   */
  readonly onGap: () => void;
  /**
   * How long notices are gathered after others were sent, in milliseconds; one
   * that comes later than that goes at once. Where notices come fast, two and a
   * half times as long: sending 100 times a second took a tenth of the processor
   * time of the creates that were told.
   *
   * @default {10}
   */
  readonly bundleMs?: number;
  /** Most notices that wait; the oldest are dropped. @default {10000} */
  readonly maxWaiting?: number;
}

/** A payload must be shorter than 8,000 bytes. */
const MAX_BYTES = 7_999;
/**
 * How often the connection is tried, and how long an answer may take: a network
 * that was cut tells nothing to those who only listen.
 */
const BEAT_MS = 5_000;
/** From how many notices sent together they are gathered for longer. */
const MANY = 5;
const LONGER = 2.5;
const FIRST_RETRY_MS = 50;
const LAST_RETRY_MS = 2_000;
/** How long the first notice, of its own, may take. */
const HEAR_MS = 2_000;
/** The wait where a pooler keeps notifications away. */
const DEAF_RETRY_MS = 60_000;

/**
 * A commit that carries notices waits for no disk and no standby: others that
 * notify wait for its end.
 */
const SEND = "SELECT set_config('synchronous_commit', 'off', true), " +
  "pg_notify($1, payload) FROM unnest($2::text[]) AS payload";

/** Listens to other instances and tells them. */
export class Notifications {
  readonly #options: NotificationsOptions;
  readonly #clock: Clock;
  readonly #log: RateLimitedLog;
  readonly #stop = new AbortController();
  /** Texts of notices in the order given, each once. */
  readonly #waiting = new Set<string>();
  #session: Session | undefined;
  #heard = Promise.withResolvers<void>();
  #bundle: Timer | undefined;
  /** When notices were last sent. */
  #sentMs = -Infinity;
  /** How many notices were told since, the same ones as well. */
  #told = 0;
  #areMany = false;
  #running: Promise<void> = Promise.resolve();

  /** It does nothing until it is started. */
  constructor(options: NotificationsOptions) {
    this.#options = options;
    this.#clock = steadyClock(options.clock);
    this.#log = new RateLimitedLog(options.logger, options.clock);
  }

  /** Begins to listen; what fails is tried again until it is stopped. */
  start(): void {
    this.#running = this.#run();
  }

  /** Sends what waits, as far as that goes, and stops. */
  async stop(): Promise<void> {
    this.#bundle?.cancel();
    await this.#send();
    this.#stop.abort();
    // Ends the wait for the first notice, with its timer.
    this.#heard.resolve();
    await this.#running;
  }

  /** Tells other instances soon; the same notice again goes once. */
  tell(notice: unknown): void {
    const { maxWaiting = 10_000 } = this.#options;
    this.#told++;
    this.#waiting.add(JSON.stringify(notice));
    if (this.#waiting.size > maxWaiting) {
      for (const oldest of this.#waiting) {
        this.#waiting.delete(oldest);
        break;
      }
    }
    this.#bundle ??= this.#sendSoon();
  }

  #sendSoon(): Timer {
    const { bundleMs = 10 } = this.#options;
    const gatherMs = this.#areMany ? LONGER * bundleMs : bundleMs;
    const dueMs = this.#sentMs + gatherMs - this.#clock.nowMs();
    return this.#clock.setTimer(() => void this.#send(), Math.max(0, dueMs));
  }

  async #send(): Promise<void> {
    const session = this.#session;
    if (session !== undefined && this.#waiting.size > 0) {
      const payloads = bundle(this.#options.instanceId, this.#waiting);
      this.#waiting.clear();
      this.#areMany = this.#told >= MANY;
      this.#told = 0;
      // What is lost costs a look; the loop says why.
      await settle(() =>
        session.query(SEND, [this.#options.channel, payloads])
      );
      this.#sentMs = this.#clock.nowMs();
    }
    this.#bundle = undefined;
    const { signal } = this.#stop;
    if (this.#session === undefined || this.#waiting.size === 0) return;
    if (!signal.aborted) this.#bundle = this.#sendSoon();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    for (let failures = 0; !signal.aborted;) {
      let delayMs = Math.min(FIRST_RETRY_MS * 2 ** failures++, LAST_RETRY_MS);
      const outcome = await settle(() => this.#connect());
      if (outcome.kind === "ok" && outcome.value !== undefined) {
        failures = 0;
        await this.#listen(outcome.value);
      } else if (outcome.kind === "ok") {
        delayMs = DEAF_RETRY_MS;
        this.#log.warn("Cannot hear other instances: notifications are lost", {
          advice: "connect past PgBouncer, or expect a second of delay",
        });
      } else if (!signal.aborted) {
        this.#log.warn("Cannot listen to other instances", {
          reason: describeError(outcome.error),
        });
      }
      if (!signal.aborted) await this.#sleep(delayMs);
    }
  }

  /** Returns a connection that hears, or none where a pooler is between. */
  async #connect(): Promise<Session | undefined> {
    const { connection, runner, watch, channel, instanceId } = this.#options;
    this.#heard = Promise.withResolvers();
    const session = await openPrimary({
      connection,
      watch,
      clock: this.#options.clock,
      signal: this.#stop.signal,
      prepare: false,
      connectTimeoutMs: BEAT_MS,
      queryTimeoutMs: BEAT_MS,
      onNotification: (_channel, payload) => this.#hear(payload),
    });
    try {
      await session.query(`LISTEN "${channel}"`);
      await runner.query(SEND, [channel, [instanceId]]);
      const heard = waitAtMost(this.#heard.promise, {
        clock: this.#clock,
        timeoutMs: HEAR_MS,
      });
      const either = Promise.race([heard, session.closed]);
      const outcome = await unlessAborted(either, this.#stop.signal);
      if (outcome !== "late") {
        if (!session.isClosed) return session;
        throw new StoreFailedError("Cannot listen: the connection was closed");
      }
    } catch (error) {
      session.destroy("it cannot listen");
      throw error;
    }
    await session.close();
    return undefined;
  }

  /** Listens until the connection ends. */
  async #listen(session: Session): Promise<void> {
    this.#session = session;
    this.#options.onGap();
    this.#bundle ??= this.#clock.setTimer(() => void this.#send(), 0);
    let beat: Timer;
    const wait = (): void => {
      beat = this.#clock.setTimer(() => {
        session.query("SELECT 1").then(wait, () => {});
      }, BEAT_MS);
    };
    wait();
    await settle(() => unlessAborted(session.closed, this.#stop.signal));
    beat!.cancel();
    this.#session = undefined;
    session.destroy("it is no longer needed");
  }

  #hear(payload: string): void {
    const [instanceId, ...lines] = payload.split("\n");
    if (instanceId === this.#options.instanceId) return this.#heard.resolve();
    for (const line of lines) {
      let notice: unknown;
      try {
        notice = JSON.parse(line);
      } catch {
        // Every role of the database may notify.
        this.#log.warn("Cannot read a notification: it is not JSON", {});
        continue;
      }
      this.#options.onNotice(notice);
    }
  }

  async #sleep(delayMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = this.#clock.setTimer(resolve, delayMs);
    await settle(() => unlessAborted(promise, this.#stop.signal));
    timer.cancel();
  }
}

/**
 * Puts notices together, as many as a payload takes. A notice that is too long
 * by itself is left out.
 */
export function bundle(
  instanceId: string,
  texts: Iterable<string>,
): readonly string[] {
  const payloads: string[] = [];
  const encoder = new TextEncoder();
  const emptyBytes = encoder.encode(instanceId).length;
  let payload = instanceId;
  let bytes = emptyBytes;
  const finish = (): void => {
    if (bytes > emptyBytes) payloads.push(payload);
    payload = instanceId;
    bytes = emptyBytes;
  };
  for (const text of texts) {
    const added = encoder.encode(text).length + 1;
    if (emptyBytes + added > MAX_BYTES) continue;
    if (bytes + added > MAX_BYTES) finish();
    payload += `\n${text}`;
    bytes += added;
  }
  finish();
  return payloads;
}
