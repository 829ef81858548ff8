import { assert, assertEquals } from "@std/assert";
import { eachRound } from "../../../tests/support/rounds.ts";
import { type FlowItem, flowOrder } from "./flow_order.ts";

function flow(needs: Readonly<Record<string, string>>): readonly FlowItem[] {
  return Object.entries(needs).map(([ref, text]) => ({
    ref,
    refs: text === "" ? undefined : new Set(text.split(" ")),
  }));
}

Deno.test("flowOrder() leaves tasks that name none as they are", () => {
  assertEquals(flowOrder([{ ref: "a" }, undefined, {}]), {
    order: [0, 1, 2],
    circular: new Set<number>(),
  });
});

Deno.test("flowOrder() puts each task behind those that it depends on", () => {
  const { order, circular } = flowOrder(
    flow({ sum: "left right", left: "load", right: "load other", load: "" }),
  );
  assertEquals([order, circular.size], [[3, 1, 2, 0], 0]);
});

Deno.test("flowOrder() finds circles, and not what only depends on one", () => {
  const { order, circular } = flowOrder(
    flow({ a: "b", b: "c", c: "a", behind: "a", before: "", itself: "itself" }),
  );
  assertEquals([...circular].sort(), [0, 1, 2, 5]);
  assertEquals(order.length, 6);
  assertEquals(order[0], 4);
});

Deno.test("flowOrder() orders whatever has no circle", async () => {
  await eachRound({ rounds: 100 }, ({ random }) => {
    const names = Array.from({ length: 30 }, (_, index) => `${index}`);
    // Each depends on some that come before it in a hidden order.
    const keys = new Map(names.map((name) => [name, random.next()]));
    const hidden = names.toSorted((one, other) =>
      (keys.get(one) ?? 0) - (keys.get(other) ?? 0)
    );
    const items = names.map((ref): FlowItem => {
      const before = hidden.slice(0, hidden.indexOf(ref));
      const refs = before.filter(() => random.chance(0.2));
      return { ref, refs: refs.length === 0 ? undefined : new Set(refs) };
    });
    const { order, circular } = flowOrder(items);
    assertEquals(circular.size, 0);
    const place = new Map(order.map((position, at) => [`${position}`, at]));
    for (const { ref = "", refs = [] } of items) {
      for (const one of refs) {
        assert((place.get(one) ?? 99) < (place.get(ref) ?? 0));
      }
    }
  });
});
