/**
 * Gathers calls that are made at about the same time, so that one statement, or
 * one commit, serves all of them.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import { settle } from "../../shared/settled.ts";
import { StoreFailedError } from "../../shared/store_failed.ts";

/** Options of {@linkcode GatheredCalls}. */
interface GatheredCallsOptions<Item, Answer> {
  /** Does the work of several calls; its answers are in their order. */
  readonly run: (items: readonly Item[]) => Promise<readonly Answer[]>;
  /** Makes the error of a call that is refused, as too much waits. */
  readonly busy: () => Error;
  /** Most calls of a group. @default {500} */
  readonly maxGroup?: number;
  /** What a call weighs, such as its bytes. @default {() => 1} */
  readonly weigh?: (item: Item) => number;
  /** Most that a group weighs, unless one call weighs more. @default {Infinity} */
  readonly maxGroupWeight?: number;
  /** Most groups at a time; 1 keeps the order of the calls. @default {1} */
  readonly maxParallel?: number;
  /** Most calls that wait. @default {20000} */
  readonly maxWaiting?: number;
  /** Most that all that waits weighs. @default {Infinity} */
  readonly maxWaitingWeight?: number;
}

interface Waiting<Item, Answer> {
  readonly item: Item;
  readonly weight: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Runs calls in groups. Calls of one turn are a group; those that come while as
 * many groups are under way as may be form the next one.
 */
export class GatheredCalls<Item, Answer> {
  readonly #options: GatheredCallsOptions<Item, Answer>;
  readonly #waiting: Waiting<Item, Answer>[] = [];
  readonly #underWay = new Set<Promise<void>>();
  #weight = 0;
  #isPlanned = false;

  /** Starts with nothing to do. */
  constructor(options: GatheredCallsOptions<Item, Answer>) {
    this.#options = options;
  }

  /**
   * Runs a call with others.
   *
   * @throws what `busy` makes, when too much waits
   * @throws what `run` throws. A group that is refused is run call by call, so
   * that one bad call does not fail others; a store that fails fails them all
   */
  call(item: Item): Promise<Answer> {
    const { busy, weigh = () => 1 } = this.#options;
    const { maxWaiting = 20_000, maxWaitingWeight = Infinity } = this.#options;
    const weight = weigh(item);
    const isFull = this.#waiting.length >= maxWaiting ||
      this.#weight + weight > maxWaitingWeight;
    // A call that is too heavy by itself has its turn when nothing else waits.
    if (isFull && this.#waiting.length > 0) return Promise.reject(busy());
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    this.#waiting.push({ item, weight, resolve, reject });
    this.#weight += weight;
    this.#plan();
    return promise;
  }

  /** Resolves when nothing waits and nothing is under way. */
  async idle(): Promise<void> {
    while (this.#waiting.length > 0 || this.#underWay.size > 0) {
      if (this.#underWay.size > 0) await Promise.race(this.#underWay);
      else await new Promise((resolve) => setImmediate(resolve));
    }
  }

  #plan(): void {
    const { maxParallel = 1 } = this.#options;
    if (this.#isPlanned || this.#waiting.length === 0) return;
    if (this.#underWay.size >= maxParallel) return;
    this.#isPlanned = true;
    // At the end of the turn, when its other calls have come.
    setImmediate(() => {
      this.#isPlanned = false;
      const running = this.#run(this.#nextGroup()).finally(() => {
        this.#underWay.delete(running);
        this.#plan();
      });
      this.#underWay.add(running);
      this.#plan();
    });
  }

  #nextGroup(): readonly Waiting<Item, Answer>[] {
    const { maxGroup = 500, maxGroupWeight = Infinity } = this.#options;
    let count = 0;
    let weight = 0;
    for (const one of this.#waiting) {
      weight += one.weight;
      if (count > 0 && (count === maxGroup || weight > maxGroupWeight)) break;
      count++;
    }
    const group = this.#waiting.splice(0, count);
    for (const one of group) this.#weight -= one.weight;
    return group;
  }

  async #run(group: readonly Waiting<Item, Answer>[]): Promise<void> {
    const { run } = this.#options;
    const outcome = await settle(() => run(group.map(({ item }) => item)));
    if (outcome.kind === "ok") {
      for (const [at, { resolve }] of group.entries()) {
        resolve(outcome.value[at] as Answer);
      }
      return;
    }
    const { error } = outcome;
    if (group.length > 1 && !(error instanceof StoreFailedError)) {
      for (const one of group) await this.#run([one]);
      return;
    }
    for (const { reject } of group) reject(error);
  }
}
