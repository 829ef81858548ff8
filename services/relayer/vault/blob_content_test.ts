import { assertEquals, assertThrows } from "@std/assert";
import { decodeContent, encodeContent } from "./blob_content.ts";
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
