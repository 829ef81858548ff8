import { assert, assertEquals } from "@std/assert";
import { MAX_PREVIEW_BYTES, previewOf } from "./result_preview.ts";

function bytes(text: string): number {
  return new TextEncoder().encode(text).length;
}

Deno.test("previewOf() keeps a text of a KiB whole", () => {
  for (const text of ["1", "a".repeat(1_024), "ü".repeat(512)]) {
    assertEquals(previewOf(text), text);
  }
});

Deno.test("previewOf() cuts a longer text between characters", () => {
  for (const character of ["a", "ü", "€", "😀"]) {
    for (let before = 0; before < 4; before++) {
      const text = "x".repeat(before) + character.repeat(1_025);
      const preview = previewOf(text);
      assert(text.startsWith(preview));
      assert(bytes(preview) <= MAX_PREVIEW_BYTES);
      assert(bytes(preview) > MAX_PREVIEW_BYTES - bytes(character));
      assert(preview.isWellFormed());
    }
  }
});
