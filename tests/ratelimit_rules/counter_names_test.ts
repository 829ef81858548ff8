import { assertEquals } from "@std/assert";
import { UNIT } from "../../proto/rate_limit_response.ts";
import { planAltcacheBatch } from "../../services/ratelimit/counters/altcache/altcache_call.ts";
import type {
  CounterAnswer,
  CounterBatch,
  CounterStore,
} from "../../services/ratelimit/counters/counter_store.ts";
import { kvstoreOperations } from "../../services/ratelimit/counters/kvstore/kvstore_commands.ts";
import { DeciderBench } from "../support/decider_bench.ts";

const MIDNIGHT = 1_795_219_200;

/**
 * A store that records the names under which the servers would keep each
 * counter.
 */
class NamingStore implements CounterStore {
  readonly kvstore: string[] = [];
  readonly altcache: string[] = [];

  apply(batch: CounterBatch): CounterAnswer {
    const jitter = { expirationJitterMaxSeconds: 0, random: () => 0 };
    this.kvstore.push(
      ...kvstoreOperations(batch, jitter).map(({ name }) => name.toString()),
    );
    const { operations } = batch;
    this.altcache.push(
      ...operations.flatMap((one) =>
        planAltcacheBatch({ ...batch, operations: [one] }).keys
      ),
    );
    return { kind: "counted", results: operations.map(() => 1) };
  }

  isHealthy(): boolean {
    return true;
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }
}

function names(
  options: {
    readonly unit?: string;
    readonly keyFormat?: "escaped" | "reference";
    readonly prefix?: string;
    readonly value?: string;
  },
): NamingStore {
  const { unit = "day", keyFormat = "reference", prefix = "" } = options;
  const store = new NamingStore();
  const bench = new DeciderBench(
    `domain: d
descriptors:
  - key: k
    rate_limit: {unit: ${unit}, requests_per_unit: 5}
    descriptors:
      - {key: l, value: w*, rate_limit: {unit: ${unit}, requests_per_unit: 5}}
`,
    { store, keyFormat, prefix },
  );
  bench.nowSeconds = MIDNIGHT + 4_321;
  const value = options.value ?? "v";
  bench.ask([["k", value]], [["k", value], ["l", "w1"]]);
  return store;
}

Deno.test("a counter is named by prefix, domain, keys and values, and the start of its window", () => {
  assertEquals(names({}).kvstore, [
    "d_k_v_1795219200",
    "d_k_v_l_w1_1795219200",
  ]);
  assertEquals(names({ unit: "hour", prefix: "p:" }).kvstore, [
    "p:d_k_v_1795222800",
    "p:d_k_v_l_w1_1795222800",
  ]);
});

Deno.test("both servers see the same names", () => {
  for (const keyFormat of ["escaped", "reference"] as const) {
    const { kvstore, altcache } = names({ keyFormat });
    assertEquals(altcache, kvstore);
  }
});

Deno.test("separators within keys and values are escaped, unless the names of the other service are asked for", () => {
  const value = "x_y\\z";
  assertEquals(
    names({ keyFormat: "reference", value }).kvstore[0],
    "d_k_x_y\\z_1795219200",
  );
  assertEquals(
    names({ keyFormat: "escaped", value }).kvstore[0],
    "d_k_x\\_y\\\\z_day_1795219200",
  );
});

/**
 * Returns the counter names of a daily rule, and of a limit in the request for
 * the same descriptor.
 */
function namesWithOverride(
  keyFormat: "escaped" | "reference",
  unit: number,
): readonly string[] {
  const store = new NamingStore();
  const bench = new DeciderBench(
    "domain: d\ndescriptors: [{key: k, rate_limit: {unit: day, requests_per_unit: 1}}]",
    { store, keyFormat },
  );
  bench.nowSeconds = MIDNIGHT;
  bench.ask([["k", "v"]], {
    entries: [["k", "v"]],
    limit: { requestsPerUnit: 77, unit },
  });
  return store.kvstore;
}

Deno.test("the limit is not part of a counter's name", () => {
  assertEquals(namesWithOverride("escaped", UNIT.DAY), [
    "d_k_v_day_1795219200",
    "d_k_v_day_1795219200",
  ]);
});

Deno.test("the unit is part of a counter's name, unless the names of the other service are asked for", () => {
  assertEquals(namesWithOverride("escaped", UNIT.HOUR), [
    "d_k_v_day_1795219200",
    "d_k_v_hour_1795219200",
  ]);
  assertEquals(namesWithOverride("reference", UNIT.HOUR), [
    "d_k_v_1795219200",
    "d_k_v_1795219200",
  ]);
});

Deno.test("a unit at a counter's end is never taken for a key or value", () => {
  const names = [
    ["k", "v"],
    ["k", "v_day"],
    ["k_v", "day"],
    ["k", "v\\_day"],
  ].flatMap(([key, value]) => {
    const store = new NamingStore();
    const bench = new DeciderBench(
      `domain: d\ndescriptors: [{key: ${key}, rate_limit: {unit: day, requests_per_unit: 1}}]`,
      { store },
    );
    bench.ask([[key!, value!]]);
    return store.kvstore;
  });
  assertEquals(new Set(names).size, names.length);
});

Deno.test("a value with a blank or of any length has a counter of its own on a server that takes neither", () => {
  const long = "v".repeat(300);
  const values = ["a b", "a  b", "a\tb", "ü", long, `${long}w`];
  const seen = new Set(values.map((value) => names({ value }).altcache[0]));
  assertEquals(seen.size, values.length);
  for (const name of seen) {
    assertEquals(/^[\x21-\x7e]{1,250}$/.test(name!), true, name);
  }
});
