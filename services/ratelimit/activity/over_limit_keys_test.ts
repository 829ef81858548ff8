import { assert, assertEquals } from "@std/assert";
import {
  DeciderBench,
  TextStore,
} from "../../../tests/support/decider_bench.ts";
import { createView } from "../../../tests/support/create_view.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import type { CounterOperation } from "../counters/counter_store.ts";
import { OverLimitBoard, OverLimitKeys } from "./over_limit_keys.ts";

function note(found: OverLimitKeys, key: string): void {
  const keys = new TextEncoder().encode(`..${key}..`);
  const operation = { keyStart: 2, keyEnd: keys.length - 2 };
  found.note(keys, operation as CounterOperation);
}

const listKeys = (found: OverLimitKeys, most = 10) =>
  found.top(most).map(({ key, perMinute }) => [key, Math.round(perMinute)]);

Deno.test("OverLimitKeys counts refusals, which fade with a minute", () => {
  const found = new OverLimitKeys();
  for (const key of ["a", "b", "a", "a"]) note(found, key);
  found.fade(0);
  assertEquals(listKeys(found), [["a", 3], ["b", 1]]);
  assertEquals(listKeys(found, 1), [["a", 3]]);
  found.fade(60_000);
  assertEquals(found.top(9).map(({ perMinute }) => perMinute), [
    3 * Math.exp(-1),
    Math.exp(-1),
  ]);
  found.fade(600_000);
  assertEquals(found.top(9), []);
});

Deno.test("OverLimitKeys shows a steady rate as refusals a minute", () => {
  const found = new OverLimitKeys();
  for (let second = 0; second < 600; second++) {
    found.fade(second * 1_000);
    for (let call = 0; call < 5; call++) note(found, "a");
  }
  const { perMinute } = found.top(1)[0]!;
  assert(perMinute > 290 && perMinute < 310, String(perMinute));
});

Deno.test("OverLimitKeys finds the most frequent keys among any number of others, in fixed memory", () => {
  const random = new SeededRandom(39);
  const found = new OverLimitKeys(() => random.next());
  const counts = new Map<string, number>();
  for (let second = 0; second < 20; second++) {
    found.fade(0);
    for (let call = 0; call < 5_000; call++) {
      const key = random.chance(0.3)
        ? `often ${random.below(3)}`
        : `once ${call} ${second}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
      note(found, key);
    }
  }
  const top = found.top(1_000);
  assert(top.length > 400 && top.length <= 500, String(top.length));
  assertEquals(
    top.slice(0, 3).map(({ key }) => key).sort(),
    ["often 0", "often 1", "often 2"],
  );
  for (const { key, perMinute, maxError } of top.slice(0, 3)) {
    const ratio = (perMinute - maxError) / counts.get(key)!;
    assert(ratio > 0.85 && ratio < 1.15, `${key}: ${ratio}`);
  }
});

Deno.test("OverLimitKeys leaves out keys that are very long", () => {
  const found = new OverLimitKeys();
  note(found, "x".repeat(513));
  note(found, "y".repeat(512));
  assertEquals(found.top(9).map(({ key }) => key[0]), ["y"]);
});

const RULES = `domain: d
descriptors:
  - {key: user, rate_limit: {unit: hour, requests_per_unit: 1}}
  - {key: shadow, shadow_mode: true, rate_limit: {unit: hour, requests_per_unit: 0}}
`;

Deno.test("Decider notes the limits that are exceeded, shadow mode or not, and no looks", () => {
  const overLimit = new OverLimitKeys();
  const bench = new DeciderBench(RULES, { overLimit });
  bench.ask({ entries: [["user", "ann"]] }, { entries: [["shadow", "x"]] });
  bench.ask({ entries: [["user", "ann"]] }, { entries: [["nothing", "x"]] });
  bench.ask({ entries: [["user", "ann"]], hitsAddend: 0 });
  assertEquals(overLimit.top(9).map(({ rule, key }) => [rule, key]), [
    ["d\nshadow", "d_shadow_x_hour_"],
    ["d\nuser", "d_user_ann_hour_"],
  ]);
});

Deno.test("Decider notes the right key when the store answers after other calls", async () => {
  const overLimit = new OverLimitKeys();
  const answers: (() => void)[] = [];
  const inner = new TextStore();
  const bench = new DeciderBench(RULES, {
    overLimit,
    store: {
      start: () => Promise.resolve(),
      stop: () => Promise.resolve(),
      isHealthy: () => true,
      apply(batch) {
        const answer = inner.apply(batch);
        return new Promise((resolve) => answers.push(() => resolve(answer)));
      },
    },
  });
  const calls = ["ann", "ann", "somebody"].map((value) => {
    const descriptors = [{ entries: [["user", value]] as const }];
    return bench.decider.decide(createView({ domain: "d", descriptors }), 0);
  });
  for (const answer of answers) answer();
  await Promise.all(calls);
  assertEquals(listKeys(overLimit), [["d_user_ann_hour_", 1]]);
});

Deno.test("OverLimitBoard adds what the threads found, until a thread ends", () => {
  const board = new OverLimitBoard();
  const key = { rule: "d\nk", key: "d_k_a_", perMinute: 2, maxError: 0 };
  board.replace(0, [{ ...key, perMinute: 3 }, { ...key, key: "d_k_b_" }]);
  board.replace(1, [{ ...key, key: "d_k_b_", maxError: 1 }]);
  const list = () =>
    board.list().map(({ key, perMinute, maxError }) => [
      key,
      perMinute,
      maxError,
    ]);
  assertEquals(list(), [["d_k_b_", 4, 1], ["d_k_a_", 3, 0]]);
  board.replace(1, []);
  assertEquals(list(), [["d_k_a_", 3, 0], ["d_k_b_", 2, 0]]);
});
