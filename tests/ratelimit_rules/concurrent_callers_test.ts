import { assert, assertEquals } from "@std/assert";
import { CODE } from "../../proto/rate_limit_response.ts";
import type { CounterStore } from "../../services/ratelimit/counters/counter_store.ts";
import { MemoryStore } from "../../services/ratelimit/counters/memory_store.ts";
import { OverLimitCache } from "../../services/ratelimit/counters/over_limit_cache.ts";
import { StatsRegistry } from "../../services/ratelimit/stats/registry.ts";
import { DeciderBench } from "../support/decider_bench.ts";
import { SeededRandom } from "../support/seeded_random.ts";
import { createView } from "../support/create_view.ts";

const CALLERS = 64;
const CALLS = 40;
const LIMIT = 100;
const WINDOW_SECONDS = 60;
const RULES = `domain: d
descriptors:
  - {key: a, rate_limit: {unit: minute, requests_per_unit: ${LIMIT}}}
`;

interface Totals {
  /** Hits that were admitted, by window. */
  readonly admitted: Map<number, number>;
  /** Hits that were requested, by window. */
  readonly asked: Map<number, number>;
}

/** Returns a store that counts in memory and answers some turns later. */
function slowStore(random: SeededRandom): CounterStore {
  const memory = new MemoryStore();
  return {
    apply: async (batch) => {
      const answer = memory.apply(batch);
      await turns(random.below(8));
      return answer;
    },
    isHealthy: () => true,
    start: () => Promise.resolve(),
    stop: () => Promise.resolve(),
  };
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await Promise.resolve();
}

/** Lets all callers make calls at the same time, while the time moves on. */
async function run(
  store: CounterStore,
  options: { readonly random: SeededRandom; readonly mostHits: number },
): Promise<Totals> {
  const { random, mostHits } = options;
  const { decider } = new DeciderBench(RULES, { store });
  const totals: Totals = { admitted: new Map(), asked: new Map() };
  let nowSeconds = 1_795_219_200;
  const call = async (): Promise<void> => {
    const hitsAddend = 1 + random.below(mostHits);
    const window = Math.floor(nowSeconds / WINDOW_SECONDS);
    const view = createView({
      domain: "d",
      descriptors: [{ entries: [["a", "x"]], hitsAddend }],
    });
    const decision = await decider.decide(view, nowSeconds);
    if (decision.kind !== "decided") throw new Error(decision.reason);
    add(totals.asked, window, hitsAddend);
    if (decision.response.overallCode === CODE.OK) {
      add(totals.admitted, window, hitsAddend);
    }
  };
  const caller = async (): Promise<void> => {
    for (let at = 0; at < CALLS; at++) {
      await turns(random.below(6));
      if (random.below(40) === 0) nowSeconds += 1 + random.below(7);
      await call();
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return totals;
}

function add(counts: Map<number, number>, window: number, hits: number): void {
  counts.set(window, (counts.get(window) ?? 0) + hits);
}

function createStores(random: SeededRandom): readonly CounterStore[] {
  const cached = new OverLimitCache({
    stats: new StatsRegistry(),
    store: slowStore(random),
    maxBytes: 524_288,
    maxAgeSeconds: WINDOW_SECONDS,
  });
  return [new MemoryStore(), slowStore(random), cached];
}

Deno.test("64 callers at once never get more than the limit in a window", async () => {
  for (let seed = 1; seed <= 5; seed++) {
    const random = new SeededRandom(seed);
    for (const store of createStores(random)) {
      const { admitted, asked } = await run(store, { random, mostHits: 5 });
      let pressed = 0;
      for (const [window, hits] of asked) {
        const passed = admitted.get(window) ?? 0;
        assert(passed <= LIMIT, `${passed} in window ${window}, seed ${seed}`);
        if (hits > LIMIT) pressed++;
      }
      assert(pressed > 0, "no window was asked for more than the limit");
    }
  }
});

Deno.test("64 callers at once get exactly the limit of a window when each call is one hit", async () => {
  for (let seed = 1; seed <= 5; seed++) {
    const random = new SeededRandom(seed);
    for (const store of createStores(random)) {
      const { admitted, asked } = await run(store, { random, mostHits: 1 });
      for (const [window, hits] of asked) {
        assertEquals(admitted.get(window), Math.min(LIMIT, hits));
      }
    }
  }
});
