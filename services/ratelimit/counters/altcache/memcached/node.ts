/**
 * One memcached server: its connections, which are dialled again after each
 * failure, and the calls that wait for a connection.
 *
 * @module
 */

import type { Timer } from "../../../../shared/clock.ts";
import type { Logger } from "../../../../shared/logger.ts";
import { Breaker, type ProbeOutcome } from "../../breaker.ts";
import {
  computeSilence,
  redialDelayMs,
  type WaitingCall,
  WaitingCalls,
} from "../../server_outage.ts";
import { StoreOutages } from "../../store_outages.ts";
import {
  type MemcachedCall,
  MemcachedConnection,
  type MemcachedConnectionOptions,
  type RefusedCommand,
} from "./connection.ts";
import { addCommand, type MemcachedCommand } from "./protocol.ts";
import { formatMemcachedAddress } from "./address.ts";

/** How a {@linkcode MemcachedNode} is made. */
export interface MemcachedNodeOptions extends
  Pick<
    MemcachedConnectionOptions,
    "address" | "tls" | "timeoutMs" | "clock"
  > {
  /** Name of the server's kind in log lines. */
  readonly label: string;
  /**
   * Most connections that are kept while they are idle, at least 1.
   *
   * @default 2
   */
  readonly maxIdleConnections?: number | undefined;
  /** Returns a number from 0 up to, not including, 1. */
  readonly random: () => number;
  /**
   * Logs outages; the servers of a store have one together.
   *
   * @default one of its own
   */
  readonly outages?: StoreOutages | undefined;
  /** Gets a line when the server is connected. */
  readonly logger: Logger;
}

/** Begin of the name of the counter that probes write. */
const PROBE = "breaker_probe";

/** Missing replies of a connection at which a further connection is opened. */
const BUSY = 2_048;
/** Missing replies at which a connection takes no more commands. */
const FULL = 10_000;
/** Most connections at a time, however busy they are. */
const MAX_CONNECTIONS = 8;
/**
 * Milliseconds: a server that was up this long is dialled again at once when
 * lost.
 */
const STABLE_MS = 1_000;

/**
 * Sends commands to one server. All of them go over the first connection, in
 * order, as long as fewer than 2,048 replies are missing on it; beyond that
 * further connections are opened, of which a few are kept when the load is
 * over. A lost server is dialled at once, then after growing waits. Commands
 * wait for the first dial, within their own deadlines; while the server is
 * known to serve none they are answered as unavailable at once.
 */
export class MemcachedNode {
  readonly #options: MemcachedNodeOptions;
  readonly #maxIdle: number;
  readonly #waiting: WaitingCalls<WaitingCommand>;
  readonly #outages: StoreOutages;
  readonly #breaker: Breaker;
  #isSilent = false;
  #probeName = PROBE;
  readonly #up: MemcachedConnection[] = [];
  #dialling: MemcachedConnection | undefined;
  #redial: Timer | undefined;
  #isStarted = false;
  #wasUp = false;
  #failures = 0;
  #upSinceMs = 0;
  #growAfterMs = 0;
  #lastReason = "not started";

  /** Makes a node that is not connected yet. */
  constructor(options: MemcachedNodeOptions) {
    this.#options = options;
    this.#maxIdle = Math.max(1, options.maxIdleConnections ?? 2);
    this.#waiting = new WaitingCalls(options);
    const { label, logger, clock, random } = options;
    this.#outages = options.outages ??
      new StoreOutages({ name: label, logger, clock });
    this.#breaker = new Breaker({
      clock,
      random,
      probe: () => this.#probe(),
      onOpen: (reason) => this.#onOpen(reason),
      onClose: () => this.#outages.end(this.name),
      onCleared: (refusal) => this.#outages.refused(refusal),
    });
  }

  /** The server's name: its address as `host:port`. */
  get name(): string {
    return formatMemcachedAddress(this.#options.address);
  }

  /** True while commands can be sent. */
  get isUp(): boolean {
    return this.#up.length > 0 && !this.#breaker.isOpen;
  }

  /** Number of connections that are up. */
  get connections(): number {
    return this.#up.length;
  }

  /** Begins to connect; does nothing when it is started already. */
  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#failures = 0;
    this.#dial();
  }

  /** Closes the connections; calls that wait are answered as unavailable. */
  stop(): void {
    if (!this.#isStarted) return;
    this.#isStarted = false;
    this.#wasUp = false;
    this.#lastReason = "stopped";
    this.#redial?.cancel();
    this.#breaker.stop();
    const connections = [...this.#up];
    if (this.#dialling !== undefined) connections.push(this.#dialling);
    this.#up.length = 0;
    this.#dialling = undefined;
    for (const connection of connections) connection.close("stopped");
    this.#waiting.failAll("stopped");
  }

  /**
   * Sends a command, lets it wait for the first dial, or answers it as
   * unavailable.
   */
  send(command: MemcachedCommand, call: MemcachedCall): void {
    if (this.#breaker.isOpen) {
      const { reason } = this.#breaker;
      return call.done({ kind: "unavailable", reason });
    }
    const connection = this.#pick();
    if (connection !== undefined) return connection.send(command, call);
    if (this.#up.length > 0) {
      const reason = `"${this.name}" has ${FULL} commands to answer already`;
      return call.done({ kind: "unavailable", reason });
    }
    const isFirstDial = this.#dialling !== undefined && this.#failures === 0;
    if (isFirstDial) this.#waiting.add(waitingCommand(command, call));
    else call.done({ kind: "unavailable", reason: this.#lastReason });
  }

  /**
   * Returns the first connection that is not busy, else the least busy one;
   * opens a further connection when all are busy.
   */
  #pick(): MemcachedConnection | undefined {
    let least: MemcachedConnection | undefined;
    for (const connection of this.#up) {
      const { outstanding } = connection;
      if (outstanding < BUSY) return connection;
      if (outstanding >= FULL) continue;
      if (least === undefined || outstanding < least.outstanding) {
        least = connection;
      }
    }
    if (
      this.#up.length > 0 && this.#up.length < MAX_CONNECTIONS &&
      this.#dialling === undefined &&
      this.#options.clock.nowMs() >= this.#growAfterMs
    ) this.#dial();
    return least;
  }

  #dial(): void {
    const { address, clock, timeoutMs, tls } = this.#options;
    const connection = new MemcachedConnection({
      address,
      timeoutMs,
      clock,
      tls,
      onUp: () => this.#rise(connection),
      onDown: (reason) => this.#lose(connection, reason),
      onIdle: () => this.#shrink(),
      onDoubt: (refused) => this.#onDoubt(refused),
    });
    this.#dialling = connection;
    connection.open();
  }

  #rise(connection: MemcachedConnection): void {
    const { label, logger, clock } = this.#options;
    this.#dialling = undefined;
    this.#up.push(connection);
    if (this.#up.length > 1) return;
    this.#upSinceMs = clock.nowMs();
    this.#breaker.join();
    if (!this.#wasUp && !this.#breaker.isOpen) {
      logger.info(`connected to ${label}`, { address: this.name });
    }
    this.#wasUp = true;
    for (const { command, call } of this.#waiting.take()) {
      this.send(command, call);
    }
  }

  #lose(connection: MemcachedConnection, reason: string): void {
    const { clock, random } = this.#options;
    const wasDialling = this.#dialling === connection;
    if (wasDialling) this.#dialling = undefined;
    const index = this.#up.indexOf(connection);
    if (index >= 0) this.#up.splice(index, 1);
    if (!this.#isStarted) return;
    const nowMs = clock.nowMs();
    if (this.#up.length > 0) {
      // The other connections carry on; this one is replaced when needed.
      this.#growAfterMs = nowMs + STABLE_MS;
      return;
    }
    this.#wasUp = false;
    this.#lastReason = reason;
    // A further connection that is being dialled takes the place of the lost
    // one.
    if (this.#dialling !== undefined) return;
    const wasStable = !wasDialling && nowMs - this.#upSinceMs >= STABLE_MS;
    this.#failures = wasStable ? 0 : this.#failures + 1;
    if (wasStable) {
      this.#dial();
    } else {
      this.#redial = clock.setTimer(
        () => this.#dial(),
        redialDelayMs(this.#failures, random),
      );
    }
    if (!wasStable) this.#breaker.cut(reason);
  }

  #onOpen(reason: string): void {
    this.#outages.begin(this.name, reason);
    this.#waiting.failAll(reason);
    // No connection of a silent server is worth a further probe.
    if (this.#isSilent) { for (const one of [...this.#up]) one.giveUp(); }
  }

  #onDoubt(refused: RefusedCommand | undefined): void {
    if (refused !== undefined) {
      // A server has memory by size: only the same size meets the same refusal.
      const [, name = ""] = refused.command.text.split(" ");
      this.#probeName = PROBE.padEnd(name.length, "_");
    }
    this.#breaker.doubt(refused?.reason);
  }

  /**
   * Stores a counter of its own, over a connection that is not stuck. To add a
   * counter takes memory, even when there is one already.
   */
  #probe(): ProbeOutcome | Promise<ProbeOutcome> {
    const { clock } = this.#options;
    this.#isSilent = false;
    const connection = this.#up.find((one) => !one.isSlow) ?? this.#up[0];
    if (connection === undefined) {
      return { kind: "cut", reason: this.#lastReason };
    }
    const deadlineMs = clock.nowMs() + computeSilence(this.#options).probeMs;
    return new Promise((resolve) =>
      connection.send(addCommand(this.#probeName, { value: "1", expiry: 60 }), {
        deadlineMs,
        done: (outcome) => {
          if (outcome.kind === "unavailable") {
            this.#isSilent = true;
            resolve({ kind: "failed", reason: outcome.reason });
          } else if (outcome.kind === "refused") {
            const reason = `Cannot use "${this.name}": ${outcome.reason}`;
            resolve({ kind: "failed", reason });
          } else resolve({ kind: "served" });
        },
      })
    );
  }

  /** Closes idle connections beyond the maximum, once the load is over. */
  #shrink(): void {
    const first = this.#up[0];
    if (first === undefined || first.outstanding >= BUSY / 2) return;
    for (let i = this.#up.length - 1; i >= this.#maxIdle; i--) {
      const connection = this.#up.findLast((up) => up.outstanding === 0);
      if (connection === undefined || connection === first) return;
      this.#up.splice(this.#up.indexOf(connection), 1);
      connection.close("idle");
    }
  }
}

/** A command that waits for a connection. */
interface WaitingCommand extends WaitingCall {
  /** The command. */
  readonly command: MemcachedCommand;
  /** The caller, who is answered. */
  readonly call: MemcachedCall;
}

function waitingCommand(
  command: MemcachedCommand,
  call: MemcachedCall,
): WaitingCommand {
  return {
    command,
    call,
    deadlineMs: call.deadlineMs,
    fail: (reason) => call.done({ kind: "unavailable", reason }),
  };
}
