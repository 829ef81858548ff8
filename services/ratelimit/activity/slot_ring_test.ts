import { assertEquals } from "@std/assert";
import { SlotRing } from "./slot_ring.ts";

Deno.test("SlotRing sums what lies within its slots when time passes by any steps", () => {
  const ring = new SlotRing({ slotMs: 10, slots: 3, figures: 2 });
  ring.add(0, 5, 0);
  ring.add(1, 1, 9);
  ring.add(0, 2, 10);
  const series: number[] = [];
  ring.addSeries(0, series, 19);
  assertEquals(series, [0, 5, 2]);
  assertEquals([ring.sum(0, 29), ring.sum(1, 29)], [7, 1]);
  assertEquals([ring.sum(0, 30), ring.sum(1, 30)], [2, 0]);
  ring.add(0, 4, 35);
  assertEquals([ring.sum(0, 59), ring.sum(0, 1_000), ring.sum(0, 1_000)], [
    4,
    0,
    0,
  ]);
});

Deno.test("SlotRing is empty again when its slots have passed, however large the amounts were", () => {
  const ring = new SlotRing({ slotMs: 1, slots: 4, figures: 1 });
  for (let step = 0; step < 100; step++) ring.add(0, 2 ** 24 + step, step % 4);
  ring.add(0, 3, 100);
  assertEquals(ring.sum(0, 100), 3);
});
