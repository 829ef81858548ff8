/**
 * How long commands wait for others, to leave in one write with them.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import type { Clock, Timer } from "../../../../shared/clock.ts";

/** How long commands are gathered. */
export interface GatheringOptions {
  /**
   * Milliseconds that commands may wait for others. Timers know whole
   * milliseconds only, so below 1 nothing waits, and those leave together that
   * come within one turn of the event loop.
   *
   * @default 0
   */
  readonly pipelineWindowMs?: number | undefined;
  /**
   * Commands that end the waiting; 0 is no limit.
   *
   * @default 0
   */
  readonly pipelineLimit?: number | undefined;
  /** The time. */
  readonly clock: Clock;
  /**
   * Calls back when the events of this turn of the event loop are over.
   *
   * @default setImmediate
   */
  readonly afterTurn?: ((callback: () => void) => void) | undefined;
}

/** With so many, the cost of a write hardly shows in that of a command. */
const ENOUGH_COMMANDS = 64;

/** Says when the commands of one connection are to be written. */
export class Gathering {
  readonly #options: GatheringOptions;
  readonly #onEnd: () => void;
  #commands = 0;
  #timer: Timer | undefined;
  /** Tells a turn's callback whether the limit was reached before it. */
  #round = 0;

  /** Calls `onEnd` each time that what was gathered is to leave. */
  constructor(options: GatheringOptions, onEnd: () => void) {
    this.#options = options;
    this.#onEnd = onEnd;
  }

  /** True from the first command on until all of them leave. */
  get isUnderWay(): boolean {
    return this.#commands > 0;
  }

  /**
   * True while further commands make the write cheaper. Without a window those
   * of a long turn go over several connections, which finds out sooner that one
   * of them hangs.
   */
  get isOpen(): boolean {
    const { pipelineWindowMs = 0 } = this.#options;
    return this.#commands > 0 &&
      (pipelineWindowMs > 0 || this.#commands < ENOUGH_COMMANDS);
  }

  /** Takes note of commands. */
  add(commands: number): void {
    const isFirst = this.#commands === 0;
    this.#commands += commands;
    const { pipelineLimit = 0 } = this.#options;
    if (pipelineLimit > 0 && this.#commands >= pipelineLimit) this.#end();
    else if (isFirst) this.#wait();
  }

  /** Forgets what was gathered. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#commands = 0;
    this.#round++;
  }

  #wait(): void {
    const { clock, afterTurn, pipelineWindowMs = 0 } = this.#options;
    if (pipelineWindowMs >= 1) {
      this.#timer = clock.setTimer(() => this.#end(), pipelineWindowMs);
      return;
    }
    const round = this.#round;
    (afterTurn ?? callAfterTurn)(() => {
      if (this.#round === round) this.#end();
    });
  }

  #end(): void {
    this.stop();
    this.#onEnd();
  }
}

function callAfterTurn(callback: () => void): void {
  setImmediate(callback);
}
