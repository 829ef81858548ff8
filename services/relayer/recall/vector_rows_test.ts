import { assert, assertEquals } from "@std/assert";
import { Candidates } from "./vector_rows.ts";

/** Candidates that count how often one was held against the bar. */
class CountedCandidates extends Candidates<number> {
  looks = 0;

  override get bar(): number {
    this.looks++;
    return super.bar;
  }
}

Deno.test("Candidates.offer() looks at each candidate a few times only when all are equally close", () => {
  const candidates = new CountedCandidates(10);
  const count = 20_000;
  for (let id = 0; id < count; id++) {
    candidates.offer(id, { least: 0.5, most: 0.5 });
  }
  assert(candidates.looks <= 3 * count, `${candidates.looks} looks`);
  assertEquals(candidates.sorted().length, count);
});

Deno.test("Candidates.offer() lets go of those below the bar when closer ones come", () => {
  const candidates = new CountedCandidates(1);
  const count = 50_000;
  for (let id = 0; id < count; id++) {
    const similarity = id / count;
    candidates.offer(id, { least: similarity, most: similarity });
  }
  assert(candidates.looks <= 3 * count, `${candidates.looks} looks`);
  assertEquals(candidates.sorted().map(({ entry }) => entry), [count - 1]);
});
