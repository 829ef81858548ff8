/**
 * What every store must do with sliding windows and token buckets, as tests
 * that each store's test file runs.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import type { Algorithm } from "../../rules/algorithm.ts";
import {
  type CounterBatch,
  type CounterResult,
  type CounterStore,
  type CounterVerdict,
  getCapacity,
} from "../counter_store.ts";
import { sliceMicros } from "../sliding_window.ts";
import type {
  ConformanceOptions,
  ConformanceSubject,
} from "./counter_store_conformance.ts";

/** One operation of a test; fields that are left out have their default. */
export interface Touch {
  /** @default "a_" */
  readonly key?: string;
  /** @default 1 */
  readonly hits?: number;
  /** @default 5 */
  readonly limit?: number;
  readonly burst?: number | undefined;
  /** @default 60 */
  readonly windowSeconds?: number;
  /** @default "sliding_window" */
  readonly algorithm?: Algorithm;
  /** @default true */
  readonly refuses?: boolean;
}

const SECOND = 1_000_000;
/** A time within a minute, and within a slice of a minute. */
const START = 1_795_219_207_123_457;

/** A store with the clock that it counts by. */
export class PacedBench {
  /** The clock in whole microseconds. */
  nowMicros: number = START;
  #store: CounterStore | undefined;

  /** Sets the store, which was made with this clock. */
  use(store: CounterStore): void {
    this.#store = store;
  }

  /** Applies operations as one batch. */
  async apply(
    touches: readonly Touch[],
    extra: Pick<CounterBatch, "stopWhenOver"> = {},
  ): Promise<readonly CounterResult[]> {
    const answer = await this.#store!.apply({
      ...pacedBatch(touches, Math.floor(this.nowMicros / SECOND)),
      ...extra,
    });
    if (answer.kind !== "counted") throw new Error(answer.reason);
    return answer.results;
  }

  /** Applies one operation. */
  async touch(touch: Touch): Promise<CounterVerdict> {
    const [result] = await this.apply([touch]);
    assert(typeof result === "object", "a count instead of a verdict");
    return result;
  }

  /** Lets time pass. */
  passSeconds(seconds: number): void {
    this.nowMicros += Math.round(seconds * SECOND);
  }
}

/** Makes a batch of operations, with a byte around their keys. */
export function pacedBatch(
  touches: readonly Touch[],
  nowSeconds: number,
): CounterBatch {
  const text = touches.map(({ key = "a_" }) => key).join("");
  let at = 1;
  return {
    keys: new TextEncoder().encode(`X${text}X`),
    nowSeconds,
    operations: touches.map((touch) => ({
      algorithm: touch.algorithm ?? "sliding_window",
      keyStart: at,
      keyEnd: at += (touch.key ?? "a_").length,
      hits: touch.hits ?? 1,
      limit: touch.limit ?? 5,
      burst: touch.burst,
      windowSeconds: touch.windowSeconds ?? 60,
      refuses: touch.refuses,
    })),
  };
}

/** A call that was admitted, in a property test. */
interface Call {
  readonly atMicros: number;
  readonly hits: number;
}

/**
 * Registers the tests.
 *
 * @param makeStore Makes the store of one test, with no counter in it, which
 * counts by the clock of `bench`.
 */
export function pacedConformance(
  name: string,
  makeStore: (bench: PacedBench) => Promise<ConformanceSubject>,
  options: ConformanceOptions & {
    /**
     * Steps of each random stream.
     *
     * @default 400
     */
    readonly steps?: number;
  } = {},
): void {
  const { steps = 400 } = options;
  const register = options.register ??
    ((definition: Deno.TestDefinition) => Deno.test(definition));

  function check(
    title: string,
    body: (bench: PacedBench) => Promise<void>,
  ): void {
    register({
      name: `${name} store ${title}`,
      fn: async () => {
        const bench = new PacedBench();
        const subject = await makeStore(bench);
        bench.use(subject.store);
        try {
          await body(bench);
        } finally {
          await subject.store.stop();
          await subject.close();
        }
      },
    });
  }

  check(
    "says what a sliding window has left, and when it is whole",
    async (bench) => {
      const small = { limit: 3 };
      assertEquals(await bench.touch({ ...small, hits: 0 }), {
        ...verdict({ remaining: 3 }),
        resetSeconds: 0,
      });
      assertEquals(await bench.touch(small), verdict({ remaining: 2 }));
      bench.passSeconds(20);
      assertEquals(await bench.touch(small), verdict({ remaining: 1 }));
      // Nothing is left: 40 s until the first hit no longer counts.
      assertEquals(await bench.touch(small), {
        ...verdict({ remaining: 0 }),
        resetSeconds: 41,
      });
      assertEquals(
        await bench.touch(small),
        refusal({ waitMs: 40_000, resetSeconds: 41 }),
      );
      bench.passSeconds(40.001);
      assertEquals((await bench.touch(small)).isOver, false);
      assertEquals((await bench.touch(small)).isOver, true);
    },
  );

  check(
    "says what a token bucket has left, and when it is full",
    async (bench) => {
      const bucket = {
        algorithm: "token_bucket",
        limit: 6,
        burst: 10,
      } as const;
      assertEquals(await bench.touch({ ...bucket, hits: 4 }), {
        ...verdict({ remaining: 6 }),
        resetSeconds: 40,
      });
      assertEquals((await bench.touch({ ...bucket, hits: 6 })).remaining, 0);
      assertEquals(
        await bench.touch(bucket),
        refusal({ waitMs: 10_000, resetSeconds: 10 }),
      );
      bench.passSeconds(9.999_999);
      assertEquals(
        await bench.touch(bucket),
        refusal({ waitMs: 0, resetSeconds: 1 }),
      );
      bench.passSeconds(0.000_001);
      assertEquals((await bench.touch(bucket)).isOver, false);
      bench.passSeconds(1_000);
      assertEquals((await bench.touch({ ...bucket, hits: 0 })).remaining, 10);
    },
  );

  for (const algorithm of ["sliding_window", "token_bucket"] as const) {
    const what = algorithm.replace("_", " ");

    check(`does not charge a ${what} what it refuses`, async (bench) => {
      await bench.touch({ algorithm, hits: 3 });
      const refused = await bench.touch({ algorithm, hits: 3 });
      assertEquals(
        [refused.isOver, refused.hitsOver, refused.remaining],
        [true, 3, 2],
      );
      assertEquals((await bench.touch({ algorithm, hits: 2 })).isOver, false);
    });

    check(
      `never lets more through at once than a ${what} holds`,
      async (bench) => {
        const refused = await bench.touch({ algorithm, hits: 6 });
        assertEquals([refused.isOver, refused.remaining], [true, 5]);
        assertEquals(refused.resetSeconds, 60);
        for (const hits of [2 ** 53 - 1, 2 ** 64]) {
          assertEquals((await bench.touch({ algorithm, hits })).isOver, true);
        }
        assertEquals((await bench.touch({ algorithm, hits: 5 })).isOver, false);
      },
    );

    check(`refuses all with a limit of 0 on a ${what}`, async (bench) => {
      const none = { algorithm, limit: 0 };
      for (const hits of [1, 7, 0]) {
        const refused = await bench.touch({ ...none, hits });
        assertEquals([refused.isOver, refused.resetSeconds], [true, 60]);
      }
    });

    check(`looks at a ${what} as one hit would`, async (bench) => {
      const look = { algorithm, hits: 0 };
      assertEquals((await bench.touch(look)).isOver, false);
      await bench.touch({ algorithm, hits: 5 });
      const seen = await bench.touch(look);
      assertEquals([seen.isOver, seen.hitsOver, seen.remaining], [true, 0, 0]);
      assertEquals(await bench.touch(look), seen);
    });

    check(
      `gives hits back to a ${what}, but no more than were taken`,
      async (bench) => {
        assertEquals((await bench.touch({ algorithm, hits: -9 })).remaining, 5);
        await bench.touch({ algorithm, hits: 4 });
        assertEquals((await bench.touch({ algorithm, hits: -1 })).remaining, 2);
        assertEquals((await bench.touch({ algorithm, hits: -9 })).remaining, 5);
        assertEquals((await bench.touch({ algorithm, hits: 5 })).isOver, false);
        assertEquals((await bench.touch({ algorithm })).isOver, true);
      },
    );

    check(
      `lets operations of one batch on a ${what} see each other`,
      async (bench) => {
        const results = await bench.apply([
          { algorithm, hits: 5 },
          { algorithm, hits: 1 },
          { algorithm, hits: -2 },
          { algorithm, hits: 2 },
          { algorithm, hits: 0 },
        ]);
        assertEquals(
          results.map((result) =>
            typeof result === "number"
              ? result
              : [result.isOver, result.remaining]
          ),
          [[false, 0], [true, 0], [false, 2], [false, 0], [true, 0]],
        );
      },
    );

    check(
      `admits to 64 callers what a ${what} holds, and no more`,
      async (bench) => {
        const touch = { algorithm, limit: 500 };
        const answers = await Promise.all(
          Array.from({ length: 64 * 10 }, () => bench.touch(touch)),
        );
        assertEquals(answers.filter(({ isOver }) => !isOver).length, 500);
        const left = answers.filter(({ isOver }) => !isOver)
          .map(({ remaining }) => remaining);
        assertEquals(new Set(left).size, 500);
      },
    );

    check(`takes the greatest limits on a ${what}`, async (bench) => {
      const limit = 0xffff_ffff;
      const year = { algorithm, limit, windowSeconds: 365 * 86_400 };
      assertEquals((await bench.touch(year)).remaining, limit - 1);
      const rest = await bench.touch({ ...year, hits: limit - 1 });
      assertEquals([rest.isOver, rest.remaining], [false, 0]);
      assertEquals((await bench.touch(year)).isOver, true);
    });

    check(`goes by the newer limit of a ${what}`, async (bench) => {
      await bench.touch({ algorithm, hits: 50, limit: 60 });
      const lowered = await bench.touch({ algorithm, limit: 10 });
      assertEquals([lowered.isOver, lowered.remaining], [true, 0]);
      const raised = await bench.touch({ algorithm, limit: 70, hits: 20 });
      assertEquals([raised.isOver, raised.remaining], [false, 0]);
      bench.passSeconds(30);
      const { remaining } = await bench.touch({ algorithm, limit: 4, hits: 0 });
      assertEquals(remaining, 0);
    });
  }

  check("keeps algorithms and windows on one key apart", async (bench) => {
    const kinds: readonly Touch[] = [
      { algorithm: "fixed_window" },
      { algorithm: "sliding_window" },
      { algorithm: "token_bucket" },
      { algorithm: "sliding_window", windowSeconds: 3_600 },
      { algorithm: "token_bucket", windowSeconds: 3_600 },
    ];
    for (const kind of kinds) await bench.apply([{ ...kind, hits: 5 }]);
    const looks = kinds.map((kind) => ({ ...kind, hits: 0 }));
    const [count, ...rest] = await bench.apply(looks);
    assertEquals(count, 5);
    for (const result of rest) {
      assertEquals(typeof result === "object" && result.remaining, 0);
    }
  });

  check(
    "stops fixed windows for a bucket that is empty, and the other way round",
    async (bench) => {
      const stop = { stopWhenOver: true };
      const bucket = { algorithm: "token_bucket", key: "b_" } as const;
      const fixed = { algorithm: "fixed_window", key: "f_", limit: 9 } as const;
      const both = (hits: number): Promise<readonly CounterResult[]> =>
        bench.apply([{ ...bucket, hits }, { ...fixed, hits }], stop);
      const seen = async (hits: number): Promise<unknown> => {
        const [first, second] = await both(hits);
        assert(typeof first === "object");
        return [first.isOver, first.remaining, second];
      };
      assertEquals(await seen(4), [false, 1, 4]);
      assertEquals(await seen(2), [true, 1, 4]);
      assertEquals(await seen(1), [false, 0, 5]);
      await bench.apply([{ ...fixed, hits: 5 }]);
      bench.passSeconds(12);
      // The bucket has room and the fixed window has none: the bucket is only
      // read.
      assertEquals(await seen(1), [false, 1, 11]);
    },
  );

  check("stops nobody for a bucket that never refuses", async (bench) => {
    const stop = { stopWhenOver: true };
    const [bucket, fixed] = await bench.apply([
      { algorithm: "token_bucket", key: "b_", hits: 99, refuses: false },
      { algorithm: "fixed_window", key: "f_", hits: 1, limit: 9 },
    ], stop);
    assert(typeof bucket === "object" && bucket.isOver);
    assertEquals(fixed, 1);
  });

  for (const seed of [1, 2, 3, 4]) {
    check(
      `never admits more than the limit in any window of that length, and refuses nothing that fits with one slice more (seed ${seed})`,
      async (bench) => {
        const random = new SeededRandom(seed);
        const limit = random.pick([1, 4, 30, 33, 100, 1_000]);
        const windowSeconds = random.pick([60, 3_600]);
        const window = windowSeconds * SECOND;
        const slice = sliceMicros(limit, windowSeconds);
        const admitted: Call[] = [];
        for (let step = 0; step < steps; step++) {
          pass(bench, { random, window, limit });
          const at = bench.nowMicros;
          const hits = 1 + random.below(Math.max(1, Math.floor(limit / 4)));
          const within = hitsSince(admitted, at - window);
          const nearby = hitsSince(admitted, at - window - slice);
          const { isOver } = await bench.touch({ hits, limit, windowSeconds });
          const told = `step ${step}: ${hits} beside ${within} of ${limit}`;
          if (isOver) assert(nearby + hits > limit, `refused, ${told}`);
          else assert(within + hits <= limit, `admitted, ${told}`);
          if (!isOver) admitted.push({ atMicros: at, hits });
        }
        assert(admitted.length > 5 && admitted.length < steps);
      },
    );

    check(
      `never admits more than burst + rate × t in any time t, and refuses nothing that fits (seed ${seed})`,
      async (bench) => {
        const random = new SeededRandom(seed);
        const limit = random.pick([1, 7, 100, 5_000]);
        const burst = random.pick([1, limit, limit * 3]);
        const windowSeconds = random.pick([60, 3_600]);
        const bucket = {
          algorithm: "token_bucket",
          limit,
          burst,
          windowSeconds,
        } as const;
        const admitted: Call[] = [];
        for (let step = 0; step < steps; step++) {
          const window = windowSeconds * SECOND;
          pass(bench, { random, window, limit });
          const at = bench.nowMicros;
          const hits = 1 + random.below(Math.max(1, Math.floor(burst / 4)));
          const { isOver } = await bench.touch({ ...bucket, hits });
          // Computed in shares of a hit, so that all numbers are whole.
          const breaks = someStretch(
            admitted,
            (from, taken) =>
              (taken + hits) * window > burst * window + (at - from) * limit,
          );
          assertEquals(
            isOver,
            breaks || hits > burst,
            `step ${step}: ${hits} hits at ${at}`,
          );
          if (!isOver) admitted.push({ atMicros: at, hits });
        }
        assert(admitted.length > 5 && admitted.length < steps);
      },
    );

    check(
      `tells the truth of what remains and when it resets (seed ${seed})`,
      async (bench) => {
        const random = new SeededRandom(seed);
        const algorithm = random.pick(
          ["sliding_window", "token_bucket"] as const,
        );
        const limit = random.pick([1, 5, 40, 500]);
        const touch = {
          algorithm,
          limit,
          burst: algorithm === "token_bucket" ? limit * 2 : undefined,
          windowSeconds: 60,
        } as const;
        const capacity = getCapacity({ limit, burst: touch.burst });
        const ask = (hits: number): Promise<CounterVerdict> =>
          bench.touch({ ...touch, hits });
        for (let step = 0; step < steps; step++) {
          pass(bench, { random, window: 60 * SECOND, limit });
          const { remaining } = await ask(0);
          const hits = 1 + random.below(capacity);
          const answer = await ask(hits);
          assertEquals(answer.isOver, hits > remaining, `step ${step}`);
          assertEquals(
            answer.remaining,
            remaining - (answer.isOver ? 0 : hits),
          );
          if (random.chance(0.3)) {
            const { resetSeconds, isOver, remaining: left } = answer;
            const waitsFor = isOver ? hits : left === 0 ? 1 : capacity;
            bench.passSeconds(resetSeconds);
            const later = await ask(waitsFor);
            assertEquals(
              later.isOver,
              false,
              `step ${step}: not after the time`,
            );
            await ask(-waitsFor);
          } else if (answer.isOver && answer.waitMs! > 0) {
            bench.nowMicros += answer.waitMs! * 1_000 - 1;
            assertEquals(
              (await ask(hits)).isOver,
              true,
              `step ${step}: before`,
            );
          }
        }
      },
    );
  }
}

/** Lets time pass: often none, seldom more than a window. */
function pass(
  bench: PacedBench,
  from: {
    readonly random: SeededRandom;
    readonly window: number;
    readonly limit: number;
  },
): void {
  const { random, window, limit } = from;
  const bound = random.pick([
    1,
    2_000,
    Math.ceil(window / limit),
    Math.ceil(window / 16),
    random.chance(0.1) ? window * 2 : 1,
  ]);
  bench.nowMicros += random.below(bound);
}

/** Returns the hits of the calls after a time. */
function hitsSince(calls: readonly Call[], afterMicros: number): number {
  return calls.reduce(
    (sum, { atMicros, hits }) => atMicros > afterMicros ? sum + hits : sum,
    0,
  );
}

/**
 * True when a condition holds for the calls from any one of them to the last.
 */
function someStretch(
  calls: readonly Call[],
  holds: (fromMicros: number, taken: number) => boolean,
): boolean {
  let taken = 0;
  for (const { atMicros, hits } of calls.toReversed()) {
    taken += hits;
    if (holds(atMicros, taken)) return true;
  }
  return false;
}

function verdict(part: { readonly remaining: number }): CounterVerdict {
  return {
    isOver: false,
    hitsOver: 0,
    remaining: part.remaining,
    resetSeconds: 61,
    waitMs: 0,
  };
}

function refusal(
  time: { readonly waitMs: number; readonly resetSeconds: number },
): CounterVerdict {
  return {
    isOver: true,
    hitsOver: 1,
    remaining: 0,
    ...time,
  };
}
