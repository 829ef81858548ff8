/**
 * Several instances on one store in memory, for tests: each with a clock of its
 * own, and the store with its own time.
 *
 * @module
 */

import type { UserMirror } from "../../access/identity_provider.ts";
import type { Store } from "../../store/store.ts";
import { createMemoryStore } from "../../store/testing/memory_store.ts";
import { SteppingClock } from "../../../../tests/support/stepping_clock.ts";
import {
  openTestPush,
  type TestPush,
  type TestPushOptions,
} from "./test_push.ts";

/** How much time passes at a time, in milliseconds. */
const STEP_MS = 50;

/** Options of {@linkcode openFleet}. */
export interface FleetOptions extends Partial<Pick<TestPushOptions, "answer">> {
  /**
   * Wraps the store that an instance gets.
   *
   * @default no wrapper
   */
  readonly wrap?: (store: Store, index: number) => Store;
  /**
   * The mirror of users as an instance reaches it.
   *
   * @default users are not mirrored
   */
  readonly mirror?: (index: number) => UserMirror | undefined;
}

/** Several instances on one store. */
export interface Fleet {
  /** The instances, which are started. */
  readonly instances: readonly [TestPush, TestPush, TestPush];
  /** The store's time. */
  readonly time: SteppingClock;
  /** Opens one more instance without starting it. */
  open(): Promise<TestPush>;
  /** Lets time pass, except at instances that stand still. */
  advance(ms: number, still?: readonly TestPush[]): Promise<void>;
  /** Stops all instances. */
  stop(): Promise<void>;
}

/** Opens and starts three instances. */
export async function openFleet(options: FleetOptions = {}): Promise<Fleet> {
  const { answer = () => new Promise(() => {}), wrap = (store) => store } =
    options;
  const time = new SteppingClock();
  const base = createMemoryStore({
    clock: time,
    ownTimeMs: () => time.nowMs(),
  });
  const all: TestPush[] = [];
  const open = async (): Promise<TestPush> => {
    const index = all.length;
    // The machines' clocks are minutes apart.
    const clock = new SteppingClock(time.nowMs() + (index - 1) * 300_000);
    const mirror = options.mirror?.(index);
    const one = await openTestPush({
      answer,
      clock,
      store: createMemoryStore({ clock, besides: base }),
      seed: index + 1,
      wrap: (store) => wrap(store, index),
      ...(mirror === undefined ? {} : { mirror }),
    });
    all.push(one);
    return one;
  };
  const instances = [await open(), await open(), await open()] as const;
  const fleet: Fleet = {
    instances,
    time,
    open,
    async advance(ms, still = []) {
      for (let leftMs = ms; leftMs > 0; leftMs -= STEP_MS) {
        const stepMs = Math.min(STEP_MS, leftMs);
        await time.advance(stepMs);
        for (const one of all) {
          if (!still.includes(one)) await one.clock.advance(stepMs);
        }
      }
    },
    async stop() {
      for (const one of all) await one.stop();
    },
  };
  for (const one of instances) await one.start();
  // All know each other, and have their share of the duties.
  await fleet.advance(5_000);
  return fleet;
}
