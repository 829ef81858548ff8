import { assertEquals } from "@std/assert";
import {
  canStop,
  hitsWhenStopping,
  stoppableOperations,
} from "./counter_store.ts";

function operation(
  counter: string,
  hits: number,
  limit = 10,
): ReturnType<typeof stoppableOperations>[number] {
  return { counter, hits, limit, chargesRefused: true };
}

Deno.test("canStop() needs two operations that take hits", () => {
  assertEquals(canStop([]), false);
  assertEquals(canStop([{ hits: 1 }, { hits: 0 }, { hits: -1 }]), false);
  assertEquals(canStop([{ hits: 1 }, { hits: 0 }, { hits: 2 }]), true);
});

Deno.test("hitsWhenStopping() leaves all as they are up to the limit", () => {
  const operations = [operation("a", 5), operation("b", 1), operation("c", 0)];
  assertEquals(hitsWhenStopping(operations, [5, 9, 100]), [5, 1, 0]);
});

Deno.test("hitsWhenStopping() stops those on other counters only", () => {
  const operations = [
    operation("a", 1),
    operation("b", 2),
    operation("c", -3),
    operation("a", 4),
    operation("d", 0),
  ];
  assertEquals(hitsWhenStopping(operations, [6, 0, 5, 6, 0]), [1, 0, -3, 4, 0]);
});

Deno.test("hitsWhenStopping() sees what was given back before", () => {
  const operations = [
    operation("a", -5),
    operation("a", 5),
    operation("b", 1),
  ];
  assertEquals(hitsWhenStopping(operations, [10, 10, 0]), [-5, 5, 1]);
  assertEquals(hitsWhenStopping(operations, [2, 2, 0]), [-5, 5, 1]);
});

Deno.test("stoppableOperations() tells counters apart by key and window", () => {
  const common = { algorithm: "fixed_window", hits: 1, limit: 1 } as const;
  const counters = stoppableOperations({
    keys: new Uint8Array([255, 254, 255]),
    nowSeconds: 0,
    operations: [
      { ...common, keyStart: 0, keyEnd: 1, windowSeconds: 60 },
      { ...common, keyStart: 1, keyEnd: 2, windowSeconds: 60 },
      { ...common, keyStart: 2, keyEnd: 3, windowSeconds: 60 },
      { ...common, keyStart: 2, keyEnd: 3, windowSeconds: 1 },
    ],
  }).map(({ counter }) => counter);
  assertEquals(new Set(counters).size, 3);
  assertEquals(counters[0], counters[2]);
});
