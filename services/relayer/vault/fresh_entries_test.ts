import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { FreshEntries } from "./fresh_entries.ts";

function createEntries(maxAgeMs: number, maxEntries = 10) {
  const clock = new FakeClock();
  const left: string[] = [];
  const entries = new FreshEntries<string>({
    ...{ maxEntries, clock },
    maxAgeMs: () => maxAgeMs,
    onLeave: (value) => void left.push(value),
  });
  return { clock, left, entries };
}

Deno.test("FreshEntries gives an entry until its age is over, and drops it soon after", () => {
  const { clock, left, entries } = createEntries(750);
  entries.set("a", "A");
  clock.advance(400);
  entries.set("b", "B");
  clock.advance(349);
  assertEquals([entries.get("a"), entries.get("b")], ["A", "B"]);
  clock.advance(1);
  assertEquals([entries.get("a"), entries.get("b")], [undefined, "B"]);
  clock.advance(399);
  assertEquals([entries.get("b"), left], ["B", ["A"]]);
  // Old entries are looked for 100 ms later, and this one is asked for before.
  clock.advance(1);
  assertEquals([entries.get("b"), left], [undefined, ["A", "B"]]);
});

Deno.test("FreshEntries drops what nobody asks for within a third of the age", () => {
  const { clock, left, entries } = createEntries(750);
  entries.set("a", "A");
  clock.advance(100);
  entries.set("b", "B");
  clock.advance(900);
  assertEquals(left, ["A", "B"]);
});

Deno.test("FreshEntries keeps entries without an age until there are too many", () => {
  const { clock, left, entries } = createEntries(Infinity, 2);
  for (const name of ["a", "b"]) entries.set(name, name);
  clock.advance(1e9);
  assertEquals([entries.get("b"), entries.get("a")], ["b", "a"]);
  entries.set("c", "c");
  assertEquals(left, ["b"]);
});

Deno.test("FreshEntries.read() tells a reading that its entry was dropped meanwhile", async () => {
  const { entries } = createEntries(Infinity);
  for (const name of ["a", "b"]) {
    await entries.read("a", (reading) => {
      entries.drop(name);
      assertEquals(reading.isDropped, name === "a");
      return Promise.resolve();
    });
  }
  await entries.read("a", (reading) => {
    entries.clear();
    assertEquals(reading.isDropped, true);
    return Promise.resolve();
  });
});

Deno.test("FreshEntries counts an entry's age from when its reading began", async () => {
  const { clock, entries } = createEntries(750);
  await entries.read("a", (reading) => {
    clock.advance(700);
    entries.keep(reading, "A");
    return Promise.resolve();
  });
  assertEquals(entries.get("a"), "A");
  clock.advance(50);
  assertEquals(entries.get("a"), undefined);
});
