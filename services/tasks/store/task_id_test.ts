import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { TaskIds, taskNumber } from "./task_id.ts";

const EPOCH_MS = Date.UTC(2020, 0, 1);

function idsAt(clock: FakeClock, seed = 1): TaskIds {
  const random = new SeededRandom(seed);
  return new TaskIds(clock, (n) => random.bytes(n));
}

Deno.test("TaskIds makes ids of the documented form", () => {
  const ids = idsAt(new FakeClock());
  for (let count = 0; count < 1_000; count++) {
    assertMatch(ids.next(), /^tsk_[0-9abcdefghjkmnpqrstvwxyz]{26}$/);
  }
});

Deno.test("taskNumber() gives the milliseconds since 2020 and 12 bits", () => {
  const clock = new FakeClock(EPOCH_MS + 123_456_789);
  const number = taskNumber(idsAt(clock).next());
  assert(number !== undefined);
  assertEquals(Math.floor(number / 4_096), 123_456_789);
});

Deno.test("taskNumber() keeps the order and tells ids apart up to the last instant", () => {
  const random = new SeededRandom(2);
  const clock = new FakeClock(EPOCH_MS);
  const ids = idsAt(clock);
  let [lastId, lastNumber] = ["", -1];
  const endMs = EPOCH_MS + 2 ** 41 - 1;
  while (clock.nowMs() < endMs) {
    const id = ids.next();
    const number = taskNumber(id);
    assert(number !== undefined && number > lastNumber && id > lastId);
    assert(Number.isSafeInteger(number));
    [lastId, lastNumber] = [id, number];
    const stepMs = Math.floor(random.next() * 2 ** random.below(34));
    clock.advance(Math.min(stepMs, endMs - clock.nowMs()));
  }
});

Deno.test("TaskIds rises when the clock steps back", () => {
  let nowMs = EPOCH_MS + 10_000_000;
  const random = new SeededRandom(3);
  const clock = { ...new FakeClock(), nowMs: () => nowMs } as FakeClock;
  const ids = new TaskIds(clock, (n) => random.bytes(n));
  let last = "";
  for (let count = 0; count < 20_000; count++) {
    const id = ids.next();
    assert(id > last, `"${id}" does not follow "${last}"`);
    last = id;
    nowMs += random.below(7) - 3;
  }
});

Deno.test("TaskIds borrows from the next millisecond when one is spent", () => {
  const clock = new FakeClock(EPOCH_MS + 5_000);
  const ids = idsAt(clock);
  const numbers = Array.from({ length: 9_000 }, () => taskNumber(ids.next()));
  assertEquals(new Set(numbers).size, 9_000);
  assert((numbers.at(-1) ?? 0) / 4_096 >= 5_002);
  assert((numbers.at(-1) ?? 0) / 4_096 < 5_004);
});

Deno.test("TaskIds seldom makes the numbers of a process before it again", () => {
  const taken = new Set<number | undefined>();
  const before = new FakeClock(EPOCH_MS + 1_000_000);
  const first = idsAt(before, 4);
  for (let ms = 0; ms < 1_000; ms++, before.advance(1)) {
    for (let count = 0; count < 10; count++) {
      taken.add(taskNumber(first.next()));
    }
  }
  const after = new FakeClock(EPOCH_MS + 1_000_000);
  const second = idsAt(after, 5);
  let again = 0;
  for (let ms = 0; ms < 1_000; ms++, after.advance(1)) {
    if (taken.has(taskNumber(second.next()))) again++;
  }
  assert(again < 20, `${again} of 1000 were made again`);
});

Deno.test("TaskIds fills the tail with all random bits", () => {
  const ids = idsAt(new FakeClock());
  const tails = Array.from({ length: 2_000 }, () => ids.next().slice(15));
  for (let index = 0; index < 15; index++) {
    assertEquals(new Set(tails.map((tail) => tail[index])).size, 32);
  }
});

Deno.test("TaskIds refuses clocks that ids cannot hold", () => {
  for (const ms of [EPOCH_MS - 1, EPOCH_MS + 2 ** 41]) {
    const ids = idsAt(new FakeClock(ms));
    assertThrows(() => ids.next(), RangeError, "clock");
  }
});

Deno.test("taskNumber() refuses what is no id", () => {
  const id = idsAt(new FakeClock()).next();
  for (
    const wrong of [
      "",
      "tsk_",
      id.slice(4),
      id.slice(0, -1),
      `${id}0`,
      id.toUpperCase(),
      `wrk_${id.slice(4)}`,
      `tsk_i${id.slice(5)}`,
      `${id}\n`,
    ]
  ) assertEquals(taskNumber(wrong), undefined);
});
