import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../tests/support/seeded_random.ts";
import { Backoff, type BackoffOptions } from "./backoff.ts";

const DEFAULTS: BackoffOptions = {
  firstMs: 3_000,
  initialMs: 10_000,
  maxMs: 60_000,
  growth: 0.5,
  jitter: false,
  random: () => 0,
};

function waits(options: Partial<BackoffOptions>, count: number): number[] {
  const backoff = new Backoff({ ...DEFAULTS, ...options });
  return Array.from({ length: count }, () => backoff.next());
}

Deno.test("Backoff.next() grows from the initial wait to the longest", () => {
  assertEquals(waits({}, 8), [
    3_000,
    10_000,
    15_000,
    22_500,
    33_750,
    50_625,
    60_000,
    60_000,
  ]);
  assertEquals(waits({ growth: 1 }, 6), [
    3_000,
    10_000,
    20_000,
    40_000,
    60_000,
    60_000,
  ]);
  assertEquals(waits({ growth: 0 }, 4), [3_000, 10_000, 10_000, 10_000]);
});

Deno.test("Backoff.next() waits no longer at first than the initial wait or the longest", () => {
  assertEquals(waits({ initialMs: 100 }, 3), [100, 100, 150]);
  assertEquals(waits({ maxMs: 2_000 }, 3), [2_000, 2_000, 2_000]);
});

Deno.test("Backoff.next() stays at the longest wait however many failures there are", () => {
  assertEquals(
    new Set(waits({ growth: 10 }, 2_000).slice(4)),
    new Set([60_000]),
  );
});

Deno.test("Backoff.next() leaves out up to half when there is jitter", () => {
  assertEquals(waits({ jitter: true, random: () => 0 }, 3), [
    1_500,
    5_000,
    7_500,
  ]);
  const random = new SeededRandom(81);
  const seen = new Set<number>();
  for (let round = 0; round < 100; round++) {
    const options = { jitter: true, random: () => random.next() };
    const jittered = waits(options, 6);
    const plain = waits({}, 6);
    for (const [at, waitMs] of jittered.entries()) {
      assert(waitMs >= plain[at]! / 2 && waitMs <= plain[at]!);
    }
    seen.add(jittered[0]!);
  }
  assert(seen.size > 90, `${seen.size} different first waits`);
});

Deno.test("Backoff.reset() begins with the first wait again", () => {
  const backoff = new Backoff(DEFAULTS);
  for (let failure = 0; failure < 5; failure++) backoff.next();
  backoff.reset();
  assertEquals([backoff.next(), backoff.next()], [3_000, 10_000]);
});
