import { assert, assertEquals } from "@std/assert";
import { LONGEST_WAIT_MS, nextAttemptMs } from "./job_failure.ts";

const FACTS = { maxAttempts: 10, nowMs: 1_000_000, random: 0.5 };

Deno.test("nextAttemptMs() doubles the wait with each attempt, up to five minutes", () => {
  const waits = [1, 2, 3, 8, 9].map((attempts) =>
    (nextAttemptMs({ ...FACTS, attempts }) ?? 0) - FACTS.nowMs
  );
  assertEquals(waits, [2_000, 4_000, 8_000, 256_000, 300_000]);
});

Deno.test("nextAttemptMs() ends when the relayer's own fault has had all attempts, and never for others'", () => {
  const isOurs = true;
  assertEquals(nextAttemptMs({ ...FACTS, isOurs, attempts: 10 }), undefined);
  assertEquals(nextAttemptMs({ ...FACTS, isOurs, attempts: 11 }), undefined);
  const later = nextAttemptMs({ ...FACTS, attempts: 1_000 }) ?? 0;
  assert(later > FACTS.nowMs && later <= FACTS.nowMs + 375_000);
});

Deno.test("nextAttemptMs() spreads jobs by a quarter each way", () => {
  const at = (random: number) =>
    (nextAttemptMs({ ...FACTS, attempts: 3, random }) ?? 0) - FACTS.nowMs;
  assertEquals(at(0), 6_000);
  assert(at(0.999) > 9_900 && at(0.999) <= 10_000);
});

Deno.test("nextAttemptMs() waits as long as the other end wants at least", () => {
  const next = nextAttemptMs({ ...FACTS, attempts: 1, retryAfterMs: 60_000 });
  assertEquals(next, FACTS.nowMs + 60_000);
});

Deno.test("nextAttemptMs() waits an hour at most, whatever the other end wants", () => {
  const next = nextAttemptMs({ ...FACTS, attempts: 1, retryAfterMs: 1e12 });
  assertEquals(next, FACTS.nowMs + LONGEST_WAIT_MS);
});
