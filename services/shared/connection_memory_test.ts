import { assertEquals } from "@std/assert";
import { ByteBudget } from "./connection_memory.ts";

Deno.test("ByteBudget.take() takes what is left and no more", () => {
  const budget = new ByteBudget(10);
  assertEquals(budget.take(7), true);
  assertEquals(budget.take(4), false);
  assertEquals(budget.take(3), true);
  budget.give(5);
  assertEquals(budget.usedBytes, 5);
  assertEquals(budget.take(5), true);
});

Deno.test("ByteBudget.take() counts in the parent, or nowhere", () => {
  const parent = new ByteBudget(10);
  const first = new ByteBudget(8, parent);
  const second = new ByteBudget(8, parent);
  assertEquals(first.take(8), true);
  assertEquals(second.take(3), false);
  assertEquals([second.usedBytes, parent.usedBytes], [0, 8]);
  first.give(8);
  assertEquals(second.take(8), true);
  assertEquals(parent.usedBytes, 8);
});
