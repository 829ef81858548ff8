/**
 * The timeouts of a server's connection: handshake, unfinished frame, stalled
 * output and keepalive.
 *
 * @module
 */

import type { Expiring, TimerWheel } from "../timer_wheel.ts";
import type { H2Limits } from "./limits.ts";

/** How long the last output of an ended connection may make no progress. */
const LAST_WORDS_MS = 5_000;

/** A timer for the timer wheel that calls back when it expires. */
export class Alarm implements Expiring {
  /** Kept by the timer wheel; undefined while the alarm is not set. */
  wheelTick: number | undefined = undefined;
  readonly #onExpire: () => void;

  /** An alarm that is not set. */
  constructor(onExpire: () => void) {
    this.#onExpire = onExpire;
  }

  /** Calls back. */
  expire(): void {
    this.#onExpire();
  }
}

/** What the alarms read of their connection, and do to it. */
export interface AlarmHost {
  /** Number of a frame or header block that has begun; 0 when none has. */
  unfinished(): number;
  /** Bytes that wait to be sent. */
  unsentBytes(): number;
  /** Bytes that have been sent since the beginning. */
  sentBytes(): number;
  /** Sends a PING. */
  ping(): void;
  /** Ends the connection. */
  giveUp(reason: string): void;
}

/**
 * The alarms of a connection. They are set seldom and compare counters when
 * they expire, so reading and writing need not reset a timer each time.
 */
export class ConnectionAlarms {
  readonly #host: AlarmHost;
  readonly #wheel: TimerWheel;
  readonly #limits: H2Limits;
  readonly #handshake = new Alarm(() =>
    this.#host.giveUp("the handshake takes too long")
  );
  readonly #frame = new Alarm(() => this.#checkFrame());
  readonly #stall = new Alarm(() => this.#checkStall());
  readonly #keepalive = new Alarm(() => this.#checkKeepalive());
  #stallMs: number;
  #unfinished = 0;
  #hasHeard = false;
  #sentBytes = 0;
  #isProbing = false;

  /** Sets the alarms a connection begins with. */
  constructor(host: AlarmHost, wheel: TimerWheel, limits: H2Limits) {
    this.#host = host;
    this.#wheel = wheel;
    this.#limits = limits;
    this.#stallMs = limits.stallTimeoutMs;
    this.#wheel.add(this.#handshake, this.#limits.handshakeTimeoutMs);
    this.#wheel.add(this.#keepalive, this.#limits.keepaliveMs);
  }

  /** The handshake is done: the first settings of the peer have come. */
  shaken(): void {
    this.#wheel.remove(this.#handshake);
  }

  /** Bytes were received. */
  heard(): void {
    this.#hasHeard = true;
    if (this.#frame.wheelTick !== undefined) return;
    this.#unfinished = this.#host.unfinished();
    if (this.#unfinished > 0) {
      this.#wheel.add(this.#frame, this.#limits.frameTimeoutMs);
    }
  }

  /** Output has been written; watches that it makes progress. */
  sending(): void {
    if (this.#stall.wheelTick !== undefined) return;
    this.#sentBytes = this.#host.sentBytes();
    this.#wheel.add(this.#stall, this.#stallMs);
  }

  /** The connection ends: unsent output gets a short time, all else stops. */
  ending(): void {
    this.clear();
    this.#stallMs = Math.min(this.#stallMs, LAST_WORDS_MS);
    if (this.#host.unsentBytes() > 0) this.sending();
  }

  /** Stops all alarms. */
  clear(): void {
    this.#wheel.remove(this.#handshake);
    this.#wheel.remove(this.#frame);
    this.#wheel.remove(this.#stall);
    this.#wheel.remove(this.#keepalive);
  }

  #checkFrame(): void {
    const unfinished = this.#host.unfinished();
    if (unfinished > 0 && unfinished === this.#unfinished) {
      return this.#host.giveUp("a frame takes too long");
    }
    this.#unfinished = unfinished;
    if (unfinished > 0) {
      this.#wheel.add(this.#frame, this.#limits.frameTimeoutMs);
    }
  }

  #checkStall(): void {
    if (this.#host.unsentBytes() === 0) return;
    if (this.#host.sentBytes() === this.#sentBytes) {
      return this.#host.giveUp("the peer takes no answers");
    }
    this.sending();
  }

  #checkKeepalive(): void {
    if (!this.#hasHeard) {
      if (this.#isProbing) {
        return this.#host.giveUp("the peer does not answer a PING");
      }
      this.#isProbing = true;
      this.#host.ping();
      this.#wheel.add(this.#keepalive, this.#limits.keepaliveTimeoutMs);
      return;
    }
    this.#hasHeard = false;
    this.#isProbing = false;
    this.#wheel.add(this.#keepalive, this.#limits.keepaliveMs);
  }
}
