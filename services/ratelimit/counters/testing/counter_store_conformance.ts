/**
 * What every counter store must do, as tests that each store's test file runs.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import type {
  CounterAnswer,
  CounterBatch,
  CounterOperation,
  CounterStore,
} from "../counter_store.ts";

/** A store under test. */
export interface ConformanceSubject {
  /** The store, started and able to answer. */
  readonly store: CounterStore;
  /** Ends what was started for the test; called after the store is stopped. */
  close(): Promise<void>;
}

/** How the tests are registered. */
export interface ConformanceOptions {
  /**
   * Registers one test.
   *
   * @default Deno.test
   */
  readonly register?: (definition: Deno.TestDefinition) => void;
}

/** One operation of a test, with its key as text or bytes. */
interface Touch {
  readonly key: string | Uint8Array;
  readonly hits?: number;
  readonly limit?: number;
  readonly windowSeconds?: number;
  readonly refuses?: boolean;
}

/** A whole day, so that no counter of a server ends while a test runs. */
const DAY = 86_400;
const NOW = 1_795_219_200;

/**
 * Registers the tests of the counter port.
 *
 * @param makeStore Makes the store of one test, with no counter in it.
 */
export function counterStoreConformance(
  name: string,
  makeStore: () => Promise<ConformanceSubject>,
  options: ConformanceOptions = {},
): void {
  const register = options.register ??
    ((definition: Deno.TestDefinition) => Deno.test(definition));

  function check(
    title: string,
    body: (store: CounterStore) => Promise<void>,
  ): void {
    register({
      name: `${name} store ${title}`,
      fn: async () => {
        const subject = await makeStore();
        try {
          await body(subject.store);
        } finally {
          await subject.store.stop();
          await subject.close();
        }
      },
    });
  }

  check("counts hits one after the other", async (store) => {
    for (let count = 1; count <= 5; count++) {
      assertEquals(await touch(store, [{ key: "a_" }]), [count]);
    }
  });

  check("answers in the order of the operations", async (store) => {
    await touch(store, [{ key: "b_", hits: 10 }, { key: "c_", hits: 100 }]);
    assertEquals(
      await touch(store, [
        { key: "c_" },
        { key: "new_" },
        { key: "b_", hits: 2 },
      ]),
      [101, 1, 12],
    );
  });

  check("lets two operations on one key see each other", async (store) => {
    assertEquals(
      await touch(store, [
        { key: "a_", hits: 3 },
        { key: "a_", hits: 0 },
        { key: "a_", hits: -2 },
        { key: "a_", hits: 4 },
      ]),
      [3, 3, 1, 5],
    );
  });

  check("adds many hits at once", async (store) => {
    assertEquals(await touch(store, [{ key: "a_", hits: 1_000 }]), [1_000]);
    assertEquals(
      await touch(store, [{ key: "a_", hits: 0xffffffff }]),
      [0xffffffff + 1_000],
    );
  });

  check("reads without counting when there are no hits", async (store) => {
    assertEquals(await touch(store, [{ key: "a_", hits: 0 }]), [0]);
    await touch(store, [{ key: "a_", hits: 7 }]);
    assertEquals(await touch(store, [{ key: "a_", hits: 0 }]), [7]);
    assertEquals(await touch(store, [{ key: "a_", hits: 0 }]), [7]);
  });

  check("gives hits back, but never below zero", async (store) => {
    assertEquals(await touch(store, [{ key: "a_", hits: -5 }]), [0]);
    assertEquals(await touch(store, [{ key: "a_", hits: 3 }]), [3]);
    assertEquals(await touch(store, [{ key: "a_", hits: -1 }]), [2]);
    assertEquals(await touch(store, [{ key: "a_", hits: -5 }]), [0]);
    assertEquals(await touch(store, [{ key: "a_", hits: 1 }]), [1]);
  });

  check("begins anew in the next window", async (store) => {
    const first = { key: "a_", hits: 4, windowSeconds: DAY };
    assertEquals(await touch(store, [first], NOW), [4]);
    assertEquals(await touch(store, [first], NOW + DAY - 1), [8]);
    assertEquals(await touch(store, [first], NOW + DAY), [4]);
    assertEquals(await touch(store, [first], NOW + DAY + 1), [8]);
  });

  check("begins anew when a look or a refund comes first", async (store) => {
    await touch(store, [{ key: "a_", hits: 4 }, { key: "b_", hits: 4 }]);
    const next = NOW + DAY;
    assertEquals(
      await touch(
        store,
        [{ key: "a_", hits: 0 }, { key: "b_", hits: -1 }],
        next,
      ),
      [0, 0],
    );
    assertEquals(await touch(store, [{ key: "a_" }, { key: "b_" }], next), [
      1,
      1,
    ]);
  });

  check("keeps windows of different lengths apart", async (store) => {
    // Both windows begin at the same second only at a multiple of both: a key
    // that does not name the window's length is distinguished by its start.
    const at = NOW + 3_600 * 5;
    assertEquals(
      await touch(store, [
        { key: "a_", hits: 2, windowSeconds: 3_600 },
        { key: "a_", hits: 5, windowSeconds: DAY },
      ], at),
      [2, 5],
    );
    assertEquals(
      await touch(store, [
        { key: "a_", hits: 1, windowSeconds: DAY },
        { key: "a_", hits: 1, windowSeconds: 3_600 },
      ], at),
      [6, 3],
    );
  });

  check("takes any bytes as a key", async (store) => {
    const long = new Uint8Array(300).fill(0x6b);
    const longer = new Uint8Array(301).fill(0x6b);
    const longOther = long.slice();
    longOther[299] = 0x6c;
    const keys = [
      new Uint8Array([0]),
      new Uint8Array([0, 0]),
      new Uint8Array([13, 10, 42, 49, 13, 10]),
      new Uint8Array([255, 254, 128]),
      "with blanks and\ttabs_",
      "ключ_значение_",
      "clé_値_🙂_",
      "key*?[a]_",
      long,
      longer,
      longOther,
      new Uint8Array(5_000).fill(0x20),
    ];
    const touches = keys.map((key, i) => ({ key, hits: i + 1 }));
    const once = keys.map((_, i) => i + 1);
    assertEquals(await touch(store, touches), once);
    assertEquals(await touch(store, touches), once.map((hits) => hits * 2));
  });

  check("never admits more than the limit to 64 callers", async (store) => {
    const limit = 500;
    let admitted = 0;
    const seen = new Set<number>();
    async function caller(): Promise<void> {
      for (let i = 0; i < 20; i++) {
        const [own, shared] = await touch(store, [
          { key: `own ${i}_`, limit },
          { key: "shared_", limit },
        ]);
        assert(own !== undefined && shared !== undefined);
        assert(!seen.has(shared), `count ${shared} was answered twice`);
        seen.add(shared);
        if (shared <= limit) admitted++;
      }
    }
    await Promise.all(Array.from({ length: 64 }, caller));
    assertEquals(admitted, limit);
    assertEquals(seen.size, 64 * 20);
    assertEquals(Math.max(...seen), 64 * 20);
    assertEquals(await touch(store, [{ key: "own 3_", hits: 0 }]), [64]);
  });

  check("never goes below zero when 64 callers give back", async (store) => {
    await touch(store, [{ key: "a_", hits: 40 }]);
    const answers = await Promise.all(
      Array.from({ length: 64 }, () => touch(store, [{ key: "a_", hits: -1 }])),
    );
    const counts = answers.map(([count]) => count!).sort((a, b) => b - a);
    assertEquals(
      counts.slice(0, 40),
      Array.from({ length: 40 }, (_, i) => 39 - i),
    );
    assertEquals(counts.slice(40), new Array(24).fill(0));
    assertEquals(await touch(store, [{ key: "a_" }]), [1]);
  });

  check("counts towards the greatest limits", async (store) => {
    const limit = 0xffffffff;
    assertEquals(
      await touch(store, [{ key: "a_", hits: limit, limit }]),
      [limit],
    );
    const most = Number.MAX_SAFE_INTEGER;
    assertEquals(await touch(store, [{ key: "b_", hits: most, limit }]), [
      most,
    ]);
    assertEquals(await touch(store, [{ key: "b_", hits: most, limit }]), [
      most,
    ]);
    assertEquals(await touch(store, [{ key: "c_", hits: 2 ** 64, limit }]), [
      most,
    ]);
  });

  check("answers an empty batch with nothing", async (store) => {
    assertEquals(await touch(store, []), []);
  });

  check("does not mind that the batch is used again", async (store) => {
    const batch = createBatch([{ key: "a_" }], NOW);
    const answer = store.apply(batch);
    const first = await answer;
    batch.keys.fill(0x62);
    assertEquals(readResults(first), [1]);
    assertEquals(await touch(store, [{ key: "a_" }, { key: "b_" }]), [2, 1]);
  });

  check("stops the others when one goes over its limit", async (store) => {
    const stop = { stopWhenOver: true };
    const touches = [
      { key: "a_", hits: 2, limit: 3 },
      { key: "b_", hits: 1, limit: 100 },
      { key: "c_", hits: 0, limit: 1 },
    ];
    assertEquals(await touch(store, touches, NOW, stop), [2, 1, 0]);
    assertEquals(await touch(store, touches, NOW, stop), [4, 1, 0]);
    assertEquals(await touch(store, touches, NOW, stop), [6, 1, 0]);
    assertEquals(await touch(store, touches, NOW), [8, 2, 0]);
  });

  check("stops nobody at exactly the limit", async (store) => {
    const stop = { stopWhenOver: true };
    const touches = [
      { key: "a_", hits: 5, limit: 5 },
      { key: "b_", hits: 1, limit: 1 },
    ];
    assertEquals(await touch(store, touches, NOW, stop), [5, 1]);
    assertEquals(await touch(store, touches, NOW, stop), [10, 2]);
  });

  check("stops neither looks nor refunds, nor for them", async (store) => {
    const stop = { stopWhenOver: true };
    await touch(store, [
      { key: "spent_", hits: 9, limit: 5 },
      { key: "back_", hits: 9 },
    ]);
    const touches = [
      { key: "spent_", hits: 0, limit: 5 },
      { key: "back_", hits: -4, limit: 1 },
      { key: "a_", hits: 1 },
      { key: "b_", hits: 1, limit: 1 },
    ];
    assertEquals(await touch(store, touches, NOW, stop), [9, 5, 1, 1]);
    assertEquals(await touch(store, touches, NOW, stop), [9, 1, 1, 2]);
    assertEquals(await touch(store, touches, NOW, stop), [9, 0, 1, 3]);
    assertEquals(await touch(store, touches, NOW, stop), [9, 0, 1, 4]);
  });

  check("counts all on a counter of which one goes over", async (store) => {
    const stop = { stopWhenOver: true };
    const touches = [
      { key: "a_", hits: 2, limit: 4 },
      { key: "a_", hits: 2, limit: 4 },
      { key: "b_", hits: 1 },
    ];
    assertEquals(await touch(store, touches, NOW, stop), [2, 4, 1]);
    assertEquals(await touch(store, touches, NOW, stop), [6, 8, 1]);
    const back = [{ key: "a_", hits: -5 }];
    assertEquals(await touch(store, back, NOW, stop), [3]);
    // Neither of the two operations would go over alone.
    const ones = touches.map((one) => ({ ...one, hits: 1 }));
    assertEquals(await touch(store, ones, NOW, stop), [4, 5, 1]);
  });

  check("stops nobody for a limit that never refuses", async (store) => {
    const stop = { stopWhenOver: true };
    const touches = [
      { key: "a_", hits: 2, limit: 1, refuses: false },
      { key: "b_", hits: 1, limit: 2 },
      { key: "c_", hits: 1 },
    ];
    assertEquals(await touch(store, touches, NOW, stop), [2, 1, 1]);
    assertEquals(await touch(store, touches, NOW, stop), [4, 2, 2]);
    assertEquals(await touch(store, touches, NOW, stop), [4, 3, 2]);
  });

  check("stops by the counts of the new window", async (store) => {
    const stop = { stopWhenOver: true };
    const touches = [
      { key: "a_", hits: 1, limit: 1 },
      { key: "b_", hits: 1 },
    ];
    assertEquals(await touch(store, touches, NOW, stop), [1, 1]);
    assertEquals(await touch(store, touches, NOW + DAY - 1, stop), [2, 1]);
    assertEquals(await touch(store, touches, NOW + DAY, stop), [1, 1]);
    assertEquals(await touch(store, touches, NOW + DAY, stop), [2, 1]);
  });

  check("stops with the greatest numbers", async (store) => {
    const stop = { stopWhenOver: true };
    const most = Number.MAX_SAFE_INTEGER;
    const touches = [
      { key: "a_", hits: most, limit: 0xffffffff },
      { key: "b_", hits: 1 },
    ];
    assertEquals(await touch(store, touches, NOW, stop), [most, 0]);
    assertEquals(await touch(store, touches, NOW, stop), [most, 0]);
    const one = [{ key: "c_", hits: most, limit: 1 }];
    assertEquals(await touch(store, one, NOW, stop), [most]);
  });

  check("is healthy while it answers", async (store) => {
    await touch(store, [{ key: "a_" }]);
    assertEquals(store.isHealthy(), true);
  });

  check("tolerates a second stop", async (store) => {
    await touch(store, [{ key: "a_" }]);
    await store.stop();
    await store.stop();
  });
}

async function touch(
  store: CounterStore,
  touches: readonly Touch[],
  nowSeconds = NOW,
  extra: Pick<CounterBatch, "stopWhenOver"> = {},
): Promise<readonly number[]> {
  const batch = { ...createBatch(touches, nowSeconds), ...extra };
  return readResults(await store.apply(batch));
}

function createBatch(
  touches: readonly Touch[],
  nowSeconds: number,
): CounterBatch {
  const encoder = new TextEncoder();
  const parts = touches.map(({ key }) =>
    typeof key === "string" ? encoder.encode(key) : key
  );
  // The bytes around the keys show whether a store keeps to the range of a key.
  const keys = new Uint8Array(
    parts.reduce((sum, part) => sum + part.length, 2),
  ).fill(0x58);
  const operations: CounterOperation[] = [];
  let at = 1;
  touches.forEach(({ hits, limit, windowSeconds, refuses }, i) => {
    const part = parts[i]!;
    keys.set(part, at);
    operations.push({
      algorithm: "fixed_window",
      keyStart: at,
      keyEnd: at + part.length,
      hits: hits ?? 1,
      limit: limit ?? 100,
      windowSeconds: windowSeconds ?? DAY,
      refuses,
    });
    at += part.length;
  });
  return { keys, operations, nowSeconds };
}

function readResults(answer: CounterAnswer): readonly number[] {
  if (answer.kind !== "counted") {
    throw new Error(`Cannot read results: store unavailable: ${answer.reason}`);
  }
  return answer.results.map((result) => {
    if (typeof result !== "number") {
      throw new Error("Cannot read results: a verdict instead of a count");
    }
    return result;
  });
}
