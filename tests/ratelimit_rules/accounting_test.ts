import { assertEquals } from "@std/assert";
import { MemoryStore } from "../../services/ratelimit/counters/memory_store.ts";
import { DeciderBench } from "../support/decider_bench.ts";
import { SeededRandom } from "../support/seeded_random.ts";

type Counts = Readonly<Record<string, number>>;

/**
 * A decider with one rule; with the default limit of 10, hits are near the
 * limit above 8.
 */
class Ledger {
  readonly #bench: DeciderBench;

  constructor(
    options: {
      readonly limit?: number;
      readonly rule?: string;
      readonly nearLimitRatio?: number;
      readonly shadowMode?: boolean;
    } = {},
  ) {
    const { limit = 10, rule = "", ...decider } = options;
    this.#bench = new DeciderBench(
      `domain: d
descriptors:
  - key: a
    ${rule}
    rate_limit: {unit: hour, requests_per_unit: ${limit}}
`,
      { ...decider, store: new MemoryStore() },
    );
  }

  /** Returns what one call adds to the statistics. */
  add(hits: number): Counts {
    const before = this.#bench.stats();
    this.#bench.ask({ entries: [["a", "x"]], hitsAddend: hits });
    return Object.fromEntries(
      Object.entries(this.#bench.stats()).map(([name, value]) =>
        [
          name.replace("rate_limit.d.a.", ""),
          value - (before[name] ?? 0),
        ] as const
      ).filter(([, value]) => value !== 0),
    );
  }
}

Deno.test("hits below the near limit are total and within", () => {
  assertEquals(new Ledger().add(8), { total_hits: 8, within_limit: 8 });
});

Deno.test("hits that pass the near limit are near in part", () => {
  const ledger = new Ledger();
  ledger.add(7);
  assertEquals(ledger.add(3), {
    total_hits: 3,
    within_limit: 3,
    near_limit: 2,
  });
});

Deno.test("hits between the near limit and the limit are all near", () => {
  const ledger = new Ledger();
  ledger.add(8);
  assertEquals(ledger.add(2), {
    total_hits: 2,
    within_limit: 2,
    near_limit: 2,
  });
});

Deno.test("hits that pass the limit are over in part, near in part and not within", () => {
  const ledger = new Ledger();
  ledger.add(9);
  assertEquals(ledger.add(3), { total_hits: 3, over_limit: 2, near_limit: 1 });
});

Deno.test("hits that pass the near limit and the limit at once are near between the two", () => {
  const ledger = new Ledger();
  ledger.add(5);
  assertEquals(ledger.add(10), {
    total_hits: 10,
    over_limit: 5,
    near_limit: 2,
  });
});

Deno.test("hits on a counter that is used up are all over", () => {
  const ledger = new Ledger();
  ledger.add(10);
  assertEquals(ledger.add(4), { total_hits: 4, over_limit: 4 });
});

Deno.test("hits on a limit of 0 are all over and none is near", () => {
  assertEquals(new Ledger({ limit: 0 }).add(4), {
    total_hits: 4,
    over_limit: 4,
  });
});

Deno.test("the near limit is the whole part of limit times ratio", () => {
  // 0.5 of 5 is 2.5, so the third hit is near the limit.
  const ledger = new Ledger({ limit: 5, nearLimitRatio: 0.5 });
  assertEquals(ledger.add(2), { total_hits: 2, within_limit: 2 });
  assertEquals(ledger.add(1), {
    total_hits: 1,
    within_limit: 1,
    near_limit: 1,
  });
});

Deno.test("with a ratio of 1 nothing is near, with 0 everything within the limit is", () => {
  assertEquals(new Ledger({ nearLimitRatio: 1 }).add(12), {
    total_hits: 12,
    over_limit: 2,
  });
  assertEquals(new Ledger({ nearLimitRatio: 0 }).add(12), {
    total_hits: 12,
    over_limit: 2,
    near_limit: 10,
  });
});

Deno.test("a rule in shadow mode counts what it let pass, in part when the limit is passed", () => {
  const ledger = new Ledger({ rule: "shadow_mode: true" });
  assertEquals(ledger.add(9), {
    total_hits: 9,
    within_limit: 9,
    near_limit: 1,
  });
  assertEquals(ledger.add(3), {
    total_hits: 3,
    over_limit: 2,
    near_limit: 1,
    shadow_mode: 2,
  });
  assertEquals(ledger.add(3), { total_hits: 3, over_limit: 3, shadow_mode: 3 });
});

Deno.test("global shadow mode counts one for a call, not its hits", () => {
  const ledger = new Ledger({ shadowMode: true });
  ledger.add(10);
  assertEquals(ledger.add(3), {
    total_hits: 3,
    over_limit: 3,
    global_shadow_mode: 1,
  });
});

Deno.test("global shadow mode counts nothing where shadow mode of the rule let the call pass", () => {
  const ledger = new Ledger({ shadowMode: true, rule: "shadow_mode: true" });
  ledger.add(10);
  assertEquals(ledger.add(3), { total_hits: 3, over_limit: 3, shadow_mode: 3 });
});

Deno.test("every hit is within or over, in sum, whatever the calls", () => {
  const random = new SeededRandom(7);
  for (let run = 0; run < 300; run++) {
    const limit = random.below(20);
    const ledger = new Ledger({ limit });
    const near = Math.floor(Math.fround(Math.fround(limit) * Math.fround(0.8)));
    let count = 0;
    for (let call = 0; call < 20; call++) {
      const hits = random.below(7);
      const added = { near_limit: 0, over_limit: 0, ...ledger.add(hits) };
      let [nearHits, overHits] = [0, 0];
      for (let hit = count + 1; hit <= count + hits; hit++) {
        if (hit > limit) overHits++;
        else if (hit > near) nearHits++;
      }
      count += hits;
      assertEquals(added, {
        near_limit: nearHits,
        over_limit: overHits,
        ...(hits === 0 ? {} : { total_hits: hits }),
        ...(hits > 0 && overHits === 0 ? { within_limit: hits } : {}),
      });
    }
  }
});
