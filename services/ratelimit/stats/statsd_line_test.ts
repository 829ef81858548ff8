import { assert, assertEquals } from "@std/assert";
import {
  decimalText,
  LinePacker,
  nameTagger,
  splitTags,
  statsdLines,
} from "./statsd_line.ts";

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

Deno.test("splitTags() takes for a tag only what has a key and a value", () => {
  assertEquals(splitTags("m.add.__code=miss.__x=1.5"), {
    bare: "m.add",
    tags: [["code", "miss"], ["x", "1.5"]],
  });
  // Keys of callers that begin like a tag, as fields of some protocols do.
  for (const name of ["d.__typename.total_hits", "d.__.a=b", "d.__=b"]) {
    assertEquals(splitTags(name), { bare: name, tags: [] });
  }
  assertEquals(
    nameTagger({ env: "prod" })("d.__typename.total_hits"),
    "d.__typename.total_hits.__env=prod",
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
    statsdLines({ name: "c", ending: "" }, {
      kind: "counter",
      name: "c",
      increase: 3,
      total: 9,
      index: 0,
    }),
    ["c:3|c"],
  );
  const gauge = { kind: "gauge", name: "g", changed: false, index: 0 } as const;
  assertEquals(
    statsdLines({ name: "g", ending: "" }, { ...gauge, value: 2.5 }),
    ["g:2.5|g"],
  );
  assertEquals(
    statsdLines({ name: "g", ending: "" }, { ...gauge, value: -4 }),
    ["g:0|g", "g:-4|g"],
  );
});

Deno.test("statsdLines() writes samples with the rate they stand for", () => {
  const lines = (count: number, samplesMs: readonly number[]) =>
    statsdLines({ name: "t", ending: "" }, {
      kind: "timer",
      name: "t",
      interval: { count, sumMs: 0, maxMs: 0, buckets: [], samplesMs },
      index: 0,
    });
  assertEquals(lines(2, [1.25, 2]), ["t:1.25|ms", "t:2|ms"]);
  assertEquals(lines(20, [1, 2]), ["t:1|ms|@0.1", "t:2|ms|@0.1"]);
  assertEquals(lines(1e9, [1]), ["t:1|ms|@0.000001"]);
});

const decoder = new TextDecoder();

Deno.test("LinePacker fills a payload to its last byte and no further", () => {
  const packer = new LinePacker(8);
  assert(packer.add("abc"));
  assert(packer.add("def"));
  assert(!packer.add(""));
  assertEquals(decoder.decode(packer.take()), "abc\ndef\n");
  assertEquals(packer.take(), undefined);
});

Deno.test("LinePacker counts bytes and leaves no half line", () => {
  const packer = new LinePacker(8);
  assert(packer.add("éé"));
  assert(!packer.add("é\u{1f600}"));
  assertEquals(decoder.decode(packer.take()), "éé\n");
  assert(!packer.add("éééé"));
  assertEquals(packer.take(), undefined);
});

Deno.test("decimalText() writes plain decimals", () => {
  assertEquals(decimalText(0), "0");
  assertEquals(decimalText(-0), "0");
  assertEquals(decimalText(9007199254740991), "9007199254740991");
  assertEquals(decimalText(1.5), "1.5");
  assertEquals(decimalText(-2.25), "-2.25");
  assertEquals(decimalText(0.1 + 0.2), "0.3");
});

Deno.test("decimalText() never writes an exponent", () => {
  assertEquals(decimalText(1e21), "1000000000000000000000");
  assertEquals(decimalText(-1e21), "-1000000000000000000000");
  assertEquals(decimalText(1e-7), "0");
  assertEquals(decimalText(-1e-9), "0");
  assertEquals(decimalText(0.000001), "0.000001");
  assertEquals(decimalText(1e20), "100000000000000000000");
});

Deno.test("statsdLines() puts the ending behind the type, and behind the rate", () => {
  const shown = { name: "t", ending: "|#a:b" };
  assertEquals(
    statsdLines(shown, {
      kind: "timer",
      name: "t",
      interval: { count: 4, sumMs: 8, maxMs: 2, buckets: [], samplesMs: [2] },
      index: 0,
    }),
    ["t:2|ms|@0.25|#a:b"],
  );
  assertEquals(
    statsdLines(shown, {
      kind: "counter",
      name: "t",
      increase: 3,
      total: 3,
      index: 0,
    }),
    ["t:3|c|#a:b"],
  );
});
