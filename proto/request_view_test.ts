import { assertEquals } from "@std/assert";
import { eachRound } from "../tests/support/rounds.ts";
import type { SeededRandom } from "../tests/support/seeded_random.ts";
import {
  createView,
  type RequestOfTest,
} from "../tests/support/create_view.ts";
import { RequestView } from "./request_view.ts";

/** Returns everything that can be read from a view. */
function readContent(view: RequestView): unknown {
  return {
    domain: view.text(view.domainStart, view.domainEnd),
    hits: view.hitsAddend,
    descriptors: Array.from(
      { length: view.descriptorCount },
      (_, descriptor) => ({
        limit: view.hasLimit(descriptor) &&
          [view.limitRequestsPerUnit(descriptor), view.limitUnit(descriptor)],
        hits: view.hasHitsAddend(descriptor) &&
          view.descriptorHitsAddend(descriptor),
        isNegative: view.isNegativeHits(descriptor),
        entries: Array.from(
          { length: view.lastEntry(descriptor) - view.firstEntry(descriptor) },
          (_, at) => {
            const entry = view.firstEntry(descriptor) + at;
            return [view.keyText(entry), view.valueText(entry)];
          },
        ),
      }),
    ),
  };
}

function randomRequest(random: SeededRandom): RequestOfTest {
  const text = () => "x".repeat(random.below(random.chance(0.1) ? 900 : 9));
  return {
    domain: text(),
    hitsAddend: random.below(3),
    descriptors: random.list(random.chance(0.1) ? 300 : 4, () => ({
      entries: random.list(5, () => [text(), text()] as const),
      ...(random.chance(0.3)
        ? { limit: { requestsPerUnit: random.below(9), unit: 1 } }
        : {}),
      ...(random.chance(0.3) ? { hitsAddend: random.below(9) } : {}),
      isNegativeHits: random.chance(0.2),
    })),
  };
}

Deno.test("RequestView.copyInto() copies all of a request, whatever the target and the source held before and after", async () => {
  await eachRound({ rounds: 20 }, ({ random }) => {
    const target = new RequestView();
    for (let at = 0; at < 20; at++) {
      const source = createView(randomRequest(random));
      const content = readContent(source);
      source.copyInto(target);
      assertEquals(readContent(target), content);
      source.bytes.fill(0);
      source.reset(new Uint8Array(0));
      source.addEntry(0, 0, 0, 0);
      source.endDescriptor({});
      assertEquals(readContent(target), content);
    }
  });
});
