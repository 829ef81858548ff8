import { assert, assertEquals, assertThrows } from "@std/assert";
import { finish } from "../concurrency/testing/finish.ts";
import { memoryWordsSteps } from "../recall/ranking/memory_words.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import {
  decodeContent,
  decodeIndexEntry,
  encodeContent,
  encodeIndexEntry,
  MAX_VECTOR_WIDTH,
} from "./sealed_content.ts";
import { sampleContent } from "./testing/open_vault.ts";
import type { BlobContent } from "./vault.ts";

Deno.test("decodeContent() gives back what was encoded", () => {
  const contents: BlobContent[] = [
    sampleContent(),
    sampleContent({ supersedes: "older", metadata: {} }),
    sampleContent({ text: "\0 \u2028 \ud800 lone, 😀 pair, \u0301" }),
    sampleContent({ text: "x".repeat(1_048_576), importance: 0 }),
    sampleContent({
      metadata: JSON.parse('{"__proto__":"own","constructor":1}'),
    }),
  ];
  for (const content of contents) {
    assertEquals(decodeContent(encodeContent(content)), content);
  }
});

Deno.test("decodeContent() refuses what is no content", () => {
  const { id: _, ...withoutId } = sampleContent();
  for (
    const value of [
      null,
      [],
      "text",
      { v: 1, ...withoutId },
      { v: 2, ...sampleContent() },
      { v: 1, ...sampleContent(), text: 5 },
      { v: 1, ...sampleContent(), metadata: { a: null } },
      { v: 1, ...sampleContent(), metadata: [1] },
      { v: 1, ...sampleContent(), supersedes: 5 },
    ]
  ) {
    const bytes = new TextEncoder().encode(JSON.stringify(value));
    assertEquals(decodeContent(bytes), undefined);
  }
  assertEquals(decodeContent(Uint8Array.of(0xff, 0xfe)), undefined);
  assertEquals(decodeContent(new Uint8Array()), undefined);
});

Deno.test("encodeContent() refuses what would not come back", () => {
  for (
    const odd of [
      sampleContent({ importance: NaN }),
      sampleContent({ createdAtMs: Infinity }),
      sampleContent({ metadata: { a: -Infinity } }),
    ]
  ) {
    assertThrows(() => encodeContent(odd), RangeError, "not finite");
  }
  const long = sampleContent({ text: "x".repeat(9_000_000) });
  assertThrows(() => encodeContent(long), RangeError, "is the most");
  const words = sampleContent({ metadata: { a: "Infinity", b: "NaN" } });
  assertEquals(decodeContent(encodeContent(words)), words);
});

const model = "hashed words, größer";
const metadata = { topic: "tea", rank: 2.5, isOld: true };

Deno.test("decodeIndexEntry() gives back every bit of any vector", () => {
  const random = new SeededRandom(9);
  for (const share of [0, 0.01, 0.3, 0.6, 0.7, 1]) {
    for (const width of [0, 1, 2, 1_536]) {
      const vector = Float32Array.from(
        { length: width },
        () => random.chance(share) ? random.next() * 2 - 1 : 0,
      );
      if (width > 1) vector[1] = -0;
      const bytes = encodeIndexEntry({ vector, model, metadata });
      const entry = decodeIndexEntry(bytes);
      assertEquals(entry, { vector, model, metadata, words: undefined });
      assert(Object.is(entry?.vector[1], width > 1 ? -0 : undefined));
    }
  }
});

Deno.test("decodeIndexEntry() writes into what it is given, whatever was there", () => {
  const into = new Float32Array(8).fill(9);
  for (
    const numbers of [[0, 0.5, 0, 0, 0, 0, 0, 0], [1, 2, 3, 4, 5, 6, 7, 8]]
  ) {
    const vector = Float32Array.from(numbers);
    const bytes = encodeIndexEntry({ vector, model, metadata });
    const entry = decodeIndexEntry(bytes, into);
    assertEquals(entry, { vector, model, metadata, words: undefined });
    assert(entry?.vector === into);
  }
  const wider = Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9);
  const bytes = encodeIndexEntry({ vector: wider, model, metadata: {} });
  assertEquals(decodeIndexEntry(bytes, into), {
    ...{ vector: wider, model, metadata: {}, words: undefined },
  });
  assertEquals(into[0], 1);
});

Deno.test("decodeIndexEntry() gives back words, and none of another version", () => {
  const words = finish(memoryWordsSteps("Ann: Where is the tea of 1990?"));
  for (const vector of [new Float32Array(9), Float32Array.of(1, 2, 3)]) {
    const bytes = encodeIndexEntry({ vector, model, metadata, words });
    const entry = { vector, model, metadata, words };
    assertEquals(decodeIndexEntry(bytes), entry);
    for (let length = 0; length < bytes.length; length++) {
      assertEquals(decodeIndexEntry(bytes.subarray(0, length)), undefined);
    }
    const plain = encodeIndexEntry({ vector, model, metadata });
    const wordsAt = plain.length - JSON.stringify(metadata).length + 4;
    const other = bytes.slice();
    other[wordsAt] = 250;
    assertEquals(decodeIndexEntry(other), { ...entry, words: undefined });
  }
});

Deno.test("encodeIndexEntry() keeps no more words than an entry has room for", () => {
  const text = Array.from({ length: 40_000 }, (_, at) => `w${at}`).join(" ");
  const words = finish(memoryWordsSteps(text));
  const vector = new Float32Array(1);
  const bytes = encodeIndexEntry({ vector, model, metadata, words });
  assert(bytes.length < 200_000);
  const kept = decodeIndexEntry(bytes)?.words?.terms;
  assertEquals([...kept ?? []][0], ["w0", 1]);
});

Deno.test("encodeIndexEntry() is short for vectors that are mostly zeros", () => {
  const vector = new Float32Array(1_536);
  for (let at = 0; at < 100; at++) vector[at * 7] = 0.1;
  const sparse = encodeIndexEntry({ vector, model: "m", metadata: {} }).length;
  assertEquals(sparse, 7 + 1 + 4 + 100 * 6 + 2);
  const dense = encodeIndexEntry({
    vector: vector.fill(1),
    model: "m",
    metadata: {},
  });
  assertEquals(dense.length, 7 + 1 + 1_536 * 4 + 2);
});

Deno.test("decodeIndexEntry() refuses whatever encodeIndexEntry() did not make", () => {
  const vector = new Float32Array(8);
  vector[3] = 1;
  const bytes = encodeIndexEntry({ vector, model: "m", metadata: {} });
  for (let length = 0; length < bytes.length; length++) {
    assertEquals(decodeIndexEntry(bytes.subarray(0, length)), undefined);
  }
  const odd = (at: number, value: number) => {
    const copy = bytes.slice();
    copy[at] = value;
    return decodeIndexEntry(copy);
  };
  assertEquals(odd(0, 5), undefined);
  // A form with words, in bytes without words.
  assertEquals(odd(0, 4), undefined);
  assertEquals(odd(4, 255), undefined);
  // A model's name that is longer than the entry, and one that is no UTF-8.
  assertEquals(odd(6, 255), undefined);
  assertEquals(odd(7, 255), undefined);
  assertEquals(odd(11, 255), undefined);
  assertEquals(odd(12, 8), undefined);
  const random = new SeededRandom(1);
  const words = finish(memoryWordsSteps("Ann: Where is the tea of 1990?"));
  const worded = encodeIndexEntry({ vector, model: "m", metadata, words });
  for (let round = 0; round < 6_000; round++) {
    const noise = (round % 2 === 0 ? bytes : worded).slice();
    noise[random.below(noise.length)] = random.below(256);
    const entry = decodeIndexEntry(noise);
    // A changed entry that still decodes can be encoded again.
    if (entry !== undefined) encodeIndexEntry(entry);
  }
});

Deno.test("encodeIndexEntry() has bounds", () => {
  const wide = new Float32Array(MAX_VECTOR_WIDTH + 1);
  assertThrows(
    () => encodeIndexEntry({ vector: wide, model, metadata: {} }),
    RangeError,
    "16384 is the most",
  );
  const long = { note: "x".repeat(70_000) };
  assertThrows(
    () =>
      encodeIndexEntry({ vector: new Float32Array(1), model, metadata: long }),
    RangeError,
    "Cannot seal metadata",
  );
  assertThrows(
    () =>
      encodeIndexEntry({
        vector: new Float32Array(1),
        model: "ö".repeat(2_049),
        metadata: {},
      }),
    RangeError,
    "4096 is the most",
  );
});
