import { assertEquals } from "@std/assert";
import { Slices } from "./slices.ts";

Deno.test("Slices lets each of several pieces of work go on in a round of its own", async () => {
  let nowMs = 0;
  const rounds: (() => void)[] = [];
  const slices = new Slices({
    sliceMs: 5,
    monotonicMs: () => nowMs,
    later: (callback) => void rounds.push(callback),
  });
  const done: string[] = [];
  const work = async (name: string): Promise<void> => {
    const pausing = slices.open();
    for (let step = 0; step < 12; step++) {
      nowMs++;
      done.push(name);
      const pause = pausing.pause();
      if (pause !== undefined) await pause;
    }
  };
  const all = Promise.all(["a", "b", "c"].map(work));
  const perRound: string[] = [done.splice(0).join("")];
  while (rounds.length > 0) {
    assertEquals(rounds.length, 1, "one round at a time");
    rounds.shift()!();
    await new Promise((resolve) => setTimeout(resolve, 0));
    perRound.push(done.splice(0).join(""));
  }
  await all;
  assertEquals(perRound, [
    "aaaaabbbbbccccc",
    ...["aaaaa", "bbbbb", "ccccc", "aa", "bb", "cc"],
  ]);
});

Deno.test("Slices.open() gives work that may go on without waiting while its slice lasts", () => {
  let nowMs = 0;
  const slices = new Slices({
    sliceMs: 5,
    monotonicMs: () => nowMs,
    later: () => {},
  });
  const pausing = slices.open();
  nowMs = 4.9;
  assertEquals(pausing.pause(), undefined);
});

Deno.test("Slices lets the event loop look after its timers between two slices", async () => {
  let ticks = 0;
  const timer = setInterval(() => ticks++, 0);
  const pausing = new Slices({ sliceMs: 0 }).open();
  for (let step = 0; step < 20; step++) await pausing.pause();
  clearInterval(timer);
  assertEquals(ticks > 3, true, `${ticks} ticks`);
});
