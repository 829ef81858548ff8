import { assertEquals } from "@std/assert";
import { eachRound } from "../../../../tests/support/rounds.ts";
import { PlaceOrder } from "./places.ts";

Deno.test("PlaceOrder keeps places in the order of their times and ids, in whichever order they come", async () => {
  await eachRound({ rounds: 5, seed: 11 }, ({ random }) => {
    const times: number[] = [];
    const toId = (place: number): string => `${(place * 7919) % 10_000}`;
    const order = new PlaceOrder((place) => ({
      timeMs: times[place] ?? 0,
      id: toId(place),
    }));
    const isAppended = random.below(2) === 0;
    let kept: number[] = [];
    for (let place = 0; place < 2_000; place++) {
      times.push(isAppended ? place : random.below(300));
      const { before, after } = order.add(place);
      kept.push(place);
      if (place % 100 === 0) {
        const sorted = sortedBy(kept, { times, toId });
        const at = sorted.indexOf(place);
        assertEquals([before, after], [sorted[at - 1], sorted[at + 1]]);
      }
      if (random.below(3) > 0) continue;
      const gone = kept[random.below(kept.length)] ?? 0;
      order.remove(gone);
      kept = kept.filter((other) => other !== gone);
    }
    const sorted = sortedBy(kept, { times, toId });
    assertEquals([...order.places()], sorted);
    order.renumber(sorted.length);
    assertEquals([...order.places()], [...sorted.keys()]);
  });
});

function sortedBy(
  places: readonly number[],
  { times, toId }: {
    readonly times: readonly number[];
    readonly toId: (place: number) => string;
  },
): readonly number[] {
  return places.toSorted((one, other) =>
    (times[one] ?? 0) - (times[other] ?? 0) ||
    (toId(one) < toId(other) ? -1 : 1)
  );
}
