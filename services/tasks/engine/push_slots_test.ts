import { assert, assertEquals } from "@std/assert";
import { PushSlots } from "./push_slots.ts";

Deno.test("PushSlots gives everything to the only one who wants it", () => {
  const slots = new PushSlots(4);
  assertEquals(slots.free("a"), 4);
  for (let count = 0; count < 4; count++) slots.take("a");
  assertEquals([slots.taken, slots.free("a")], [4, 0]);
  assert(slots.takeScarcity());
  assertEquals(slots.takeScarcity(), false);
  slots.giveBack("a");
  assertEquals(slots.free("a"), 1);
});

Deno.test("PushSlots lets nobody take more than a share when there are others", () => {
  const slots = new PushSlots(4);
  slots.take("a");
  slots.take("a");
  slots.take("a");
  assertEquals(slots.free("b"), 1);
  slots.take("b");
  assertEquals([slots.free("a"), slots.free("b")], [0, 0]);
  slots.giveBack("a");
  assertEquals([slots.free("a"), slots.free("b")], [0, 1]);
  slots.take("b");
  assertEquals(slots.taken, 4);
});

Deno.test("PushSlots has a slot in time for each of many tenants", () => {
  const slots = new PushSlots(2);
  for (const tenant of ["a", "b"]) slots.take(tenant);
  assertEquals(slots.free("c"), 0);
  slots.giveBack("a");
  assertEquals(slots.free("c"), 1);
});
