import { assertEquals } from "@std/assert";
import { nameTagger, statsdLines } from "./statsd_line.ts";

Deno.test("nameTagger() puts tags behind the name, sorted", () => {
  assertEquals(
    nameTagger({ zone: "eu", env: "prod" })("a.b"),
    "a.b.__env=prod.__zone=eu",
  );
  assertEquals(nameTagger({})("a.b"), "a.b");
});

Deno.test("nameTagger() sorts in the tags a name has and keeps theirs", () => {
  assertEquals(
    nameTagger({ code: "x", app: "y" })("m.__code=miss"),
    "m.__app=y.__code=miss",
  );
});

Deno.test("nameTagger() keeps a tag in its form", () => {
  assertEquals(
    nameTagger({ "k.=1": "v:|1.2\n=3" })("a"),
    "a.__k__1=v__1_2_=3",
  );
});

Deno.test("statsdLines() writes counters and gauges", () => {
  assertEquals(
    statsdLines("c", {
      kind: "counter",
      name: "c",
      increase: 3,
      total: 9,
      index: 0,
    }),
    ["c:3|c"],
  );
  const gauge = { kind: "gauge", name: "g", changed: false, index: 0 } as const;
  assertEquals(statsdLines("g", { ...gauge, value: 2.5 }), ["g:2.5|g"]);
  assertEquals(statsdLines("g", { ...gauge, value: -4 }), ["g:0|g", "g:-4|g"]);
});

Deno.test("statsdLines() writes samples with the rate they stand for", () => {
  const lines = (count: number, samplesMs: readonly number[]) =>
    statsdLines("t", {
      kind: "timer",
      name: "t",
      interval: { count, sumMs: 0, maxMs: 0, samplesMs },
      index: 0,
    });
  assertEquals(lines(2, [1.25, 2]), ["t:1.25|ms", "t:2|ms"]);
  assertEquals(lines(20, [1, 2]), ["t:1|ms|@0.1", "t:2|ms|@0.1"]);
  assertEquals(lines(1e9, [1]), ["t:1|ms|@0.000001"]);
});
