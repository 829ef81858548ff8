import { assert, assertEquals, assertMatch } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { TraceIds } from "./span_provider.ts";

Deno.test("TraceIds samples the share that it is told, by the id itself", () => {
  const drawn = 20_000;
  for (const samplingRate of [0.01, 0.25, 0.9]) {
    const ids = new TraceIds({ samplingRate, fill: fillFrom(1) });
    const sampled: string[] = [];
    for (let i = 0; i < drawn; i++) {
      if (ids.draw()) sampled.push(ids.generateTraceId());
    }
    const share = sampled.length / drawn;
    assert(Math.abs(share - samplingRate) < 0.02, `${share}`);
    // Go's SDK: bytes 8 to 15 without their lowest bit are below rate × 2^63.
    const bound = BigInt(Math.floor(samplingRate * 2 ** 53)) << 10n;
    for (const id of sampled) {
      assert(BigInt(`0x${id.slice(16)}`) >> 1n < bound, id);
    }
  }
});

Deno.test("TraceIds samples all at 1 and none at 0", () => {
  const all = new TraceIds({ samplingRate: 1, fill: fillFrom(2) });
  const none = new TraceIds({
    samplingRate: 0,
    fill: (bytes) => bytes.fill(0),
  });
  for (let i = 0; i < 1_000; i++) {
    assertEquals([all.draw(), none.draw()], [true, false]);
  }
  const highest = new TraceIds({
    samplingRate: 1,
    fill: (bytes) => bytes.fill(0xff),
  });
  assertEquals(highest.draw(), true);
});

Deno.test("TraceIds gives ids that differ and are never zero", () => {
  const ids = new TraceIds({ samplingRate: 1 });
  const seen = new Set<string>();
  for (let i = 0; i < 2_000; i++) {
    ids.draw();
    const traceId = ids.generateTraceId();
    const spanId = ids.generateSpanId();
    assertMatch(traceId, /^[\da-f]{32}$/);
    assertMatch(spanId, /^[\da-f]{16}$/);
    seen.add(traceId).add(spanId).add(ids.generateTraceId());
  }
  assertEquals(seen.size, 6_000);
  const zero = new TraceIds({
    samplingRate: 1,
    fill: (bytes) => bytes.fill(0),
  });
  zero.draw();
  assertEquals(zero.generateTraceId(), `${"0".repeat(31)}1`);
  assertEquals(zero.generateSpanId(), `${"0".repeat(15)}1`);
});

function fillFrom(seed: number): (bytes: Uint8Array) => void {
  const random = new SeededRandom(seed);
  return (bytes) => {
    for (let i = 0; i < bytes.length; i++) {
      bytes[i] = Math.floor(random.next() * 256);
    }
  };
}
