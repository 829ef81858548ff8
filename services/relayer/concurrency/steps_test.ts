import { assertEquals, assertRejects } from "@std/assert";
import type { Pausing } from "../../shared/slices.ts";
import { finish, finishInSlices, type Steps } from "./steps.ts";

function* counting(to: number): Steps<number> {
  for (let at = 0; at < to; at++) yield;
  return to;
}

Deno.test("finishInSlices() asks after each step and waits when it is told to", async () => {
  let asked = 0;
  let waited = 0;
  const pausing: Pausing = {
    pause() {
      if (++asked % 3 !== 0) return undefined;
      return Promise.resolve().then(() => void waited++);
    },
  };
  assertEquals(await finishInSlices(counting(10), { pausing }), 10);
  assertEquals([asked, waited], [10, 3]);
  assertEquals(finish(counting(10)), 10);
});

Deno.test("finishInSlices() ends with its signal after a wait", async () => {
  const ending = new AbortController();
  let asked = 0;
  const pausing: Pausing = {
    pause() {
      if (++asked === 2) ending.abort(new RangeError("over"));
      return Promise.resolve();
    },
  };
  await assertRejects(
    () => finishInSlices(counting(10), { pausing, signal: ending.signal }),
    RangeError,
    "over",
  );
  assertEquals(asked, 2);
});
