/**
 * Calls gathered for one write.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import type { Clock, Timer } from "../../../../shared/clock.ts";
import type { RedisCommand } from "./client.ts";
import type { RedisOutcome } from "./reply.ts";

/** How long calls are gathered. */
export interface GatheringOptions {
  /**
   * Milliseconds that a call may wait for others. Timers know whole
   * milliseconds only, so below 1 the calls of one turn of the event loop are
   * gathered; 0 does not gather.
   *
   * @default 0
   */
  readonly pipelineWindowMs?: number;
  /**
   * Commands that end the waiting; 0 is no limit.
   *
   * @default 0
   */
  readonly pipelineLimit?: number;
  /** The time limit of a call, of which at most half is waited. */
  readonly timeoutMs: number;
  /** The time. */
  readonly clock: Clock;
  /**
   * Calls back when the events of this turn of the event loop are over.
   *
   * @default setImmediate
   */
  readonly afterTurn?: (callback: () => void) => void;
}

/** A call that was gathered. */
export interface GatheredCall {
  /** Its commands. */
  readonly commands: readonly RedisCommand[];
  /** When it gives up, by the clock. */
  readonly deadlineMs: number;
  /** Takes its outcome. */
  readonly resolve: (outcome: RedisOutcome) => void;
}

/** Keeps calls until the window is over or the limit is reached. */
export class Gathering {
  readonly #options: GatheringOptions;
  readonly #windowMs: number;
  readonly #sendAll: (calls: readonly GatheredCall[]) => void;
  #calls: GatheredCall[] = [];
  #commands = 0;
  #timer: Timer | undefined;

  /** Hands what it gathered to `sendAll`, which resolves each call. */
  constructor(
    options: GatheringOptions,
    sendAll: (calls: readonly GatheredCall[]) => void,
  ) {
    const { pipelineWindowMs = 0, timeoutMs } = options;
    this.#options = options;
    this.#windowMs = Math.min(pipelineWindowMs, timeoutMs / 2);
    this.#sendAll = sendAll;
  }

  /** False when calls are to be sent as they come. */
  get isOn(): boolean {
    return this.#windowMs > 0;
  }

  /** Keeps a call. */
  add(
    commands: readonly RedisCommand[],
    deadlineMs: number,
  ): Promise<RedisOutcome> {
    return new Promise((resolve) => {
      this.#calls.push({ commands, deadlineMs, resolve });
      this.#commands += commands.length;
      const { pipelineLimit = 0 } = this.#options;
      if (pipelineLimit > 0 && this.#commands >= pipelineLimit) this.flush();
      else if (this.#calls.length === 1) this.#await();
    });
  }

  /** Hands over what there is. */
  flush(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    const calls = this.#calls;
    this.#calls = [];
    this.#commands = 0;
    if (calls.length > 0) this.#sendAll(calls);
  }

  #await(): void {
    const { clock, afterTurn } = this.#options;
    if (this.#windowMs >= 1) {
      this.#timer = clock.setTimer(() => this.flush(), this.#windowMs);
      return;
    }
    const calls = this.#calls;
    (afterTurn ?? callAfterTurn)(() => {
      // The limit may have been reached, and others gather by now.
      if (this.#calls === calls) this.flush();
    });
  }
}

function callAfterTurn(callback: () => void): void {
  setImmediate(callback);
}
