import { assert, assertEquals, assertExists } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { type ByteView, endOf, startOf, viewOf } from "./byte_view.ts";
import { decodeBase64, decodeBase64Tail } from "./decoded_base64.ts";
import { unescapeJson, unescapePercent } from "./decoded_views.ts";

Deno.test("unescapeJson() undoes all escapes", () => {
  const text = String.raw`a\"\\\/\b\f\n\r\t\u00e9\u20AC\uD83D\uDD11z`;
  assertEquals(
    textOf(unescapeJson(viewOf(text))),
    '"a"'.slice(1, 2) +
      '"\\/\b\f\n\r\té€🔑z',
  );
});

Deno.test("unescapeJson() leaves what is no escape", () => {
  const text = String.raw`\q C:\users \u12 \u12g4 \ud83d\u0041 é\n` + "\\";
  assertEquals(
    textOf(unescapeJson(viewOf(text))),
    String.raw`\q C:\users \u12 \u12g4 ` + "\ufffdA é\n\\",
  );
});

Deno.test("unescapeJson() undoes what JSON.stringify() did", () => {
  const random = new SeededRandom(5);
  for (let round = 0; round < 2_000; round++) {
    const text = random.list(
      20,
      () =>
        random.pick([
          "a",
          '"',
          "\\",
          "\n",
          "\x01",
          "é",
          "🔑",
          "u",
          "0",
          "\u2028",
        ]),
    ).join("");
    const escaped = JSON.stringify(text);
    const view = unescapeJson(viewOf(escaped)) ?? viewOf(escaped);
    assertEquals(textOf(view), `"${text}"`);
  }
});

Deno.test("unescapePercent() undoes any spelling", () => {
  const text = "a%2fb%2Fc%C3%A9%61%zz%4%";
  assertEquals(textOf(unescapePercent(viewOf(text))), "a/b/céa%zz%4%");
  assertEquals(
    textOf(unescapePercent(viewOf("a+b%2Bc"), { plusIsSpace: true })),
    "a b+c",
  );
  assertEquals(textOf(unescapePercent(viewOf("a+b%20c"))), "a+b c");
});

Deno.test("views are absent when nothing is encoded", () => {
  assertEquals(unescapeJson(viewOf("plain %41 text+")), undefined);
  assertEquals(unescapePercent(viewOf("plain \\n text+")), undefined);
  assertEquals(
    decodeBase64(viewOf("some short words"), { minBytes: 8 }),
    undefined,
  );
});

Deno.test("decodeBase64() decodes from each of the first four letters", () => {
  const view = decodeBase64(viewOf(btoa("the quick fox")), { minBytes: 8 });
  const text = latin(view);
  assert(text.startsWith("the quick fox\xff"), text);
  for (let prefix = 0; prefix < 4; prefix++) {
    const run = "x".repeat(prefix) + btoa("the quick fox");
    const shifted = latin(decodeBase64(viewOf(run), { minBytes: 8 }));
    assert(shifted.includes("the quick fox"), run);
  }
});

Deno.test("decodeBase64() takes both alphabets and line ends", () => {
  const bytes = Uint8Array.from({ length: 60 }, (_, n) => 0xf8 + n % 7);
  for (const alphabet of ["base64", "base64url"] as const) {
    const letters = bytes.toBase64({ alphabet });
    const lines = letters.replace(/.{19}/g, "$&\r\n");
    for (const text of [letters, lines]) {
      const view = decodeBase64(viewOf(`: ${text} :`), { minBytes: 8 });
      assertExists(view);
      assertEquals(view.bytes.slice(0, 60), bytes);
    }
  }
});

Deno.test("decodeBase64Tail() decodes the letters that bytes end in", () => {
  const tail = btoa("what the quick fox says").slice(0, -3);
  const options = { minBytes: 4 };
  const texts = decodeBase64Tail(viewOf(`abcdefghi ${tail}`), options)
    .map(latin);
  assertEquals(texts.length, 4);
  assertEquals(texts[0], "what the quick fox sa");
  assertEquals(decodeBase64Tail(viewOf(`${tail} abcde`), options), []);
  assertEquals(decodeBase64Tail(viewOf(`${tail} abcdef`), options).length, 4);
});

Deno.test("views of cut bytes leave out what is left of an escape", () => {
  const escapes = ["\\u00e9", "\\ud83d\\udd11", "\\n"];
  for (const escape of escapes) {
    for (let length = 1; length < escape.length; length++) {
      const text = String.raw`\\ab\t` + escape.slice(0, length);
      const view = unescapeJson(viewOf(text), { isCut: true });
      assertEquals(textOf(view), "\\ab\t", text);
    }
  }
  for (const text of ["%41b%", "%41b%2", "%41b%f"]) {
    assertEquals(textOf(unescapePercent(viewOf(text), { isCut: true })), "Ab");
  }
  const whole = String.raw`a\\`;
  assertEquals(textOf(unescapeJson(viewOf(whole), { isCut: true })), "a\\");
  assertEquals(
    textOf(unescapePercent(viewOf("%41%zz"), { isCut: true })),
    "A%zz",
  );
});

Deno.test("each byte of a view knows where it comes from", () => {
  const json = unescapeJson(viewOf(String.raw`a\nbé\u00e9c`));
  assertEquals(spansOf(json), [
    "0-1",
    "1-3",
    "3-4",
    "4-5",
    "5-6",
    "6-12",
    "6-12",
    "12-13",
  ]);
  const percent = unescapePercent(viewOf("a%41b"));
  assertEquals(spansOf(percent), ["0-1", "1-4", "4-5"]);
  assertExists(json);
  // A view of a view knows the first source.
  const both = unescapePercent(
    unescapeJson(viewOf(String.raw`\n%41\u0025\u0034\u0031`))!,
  );
  assertEquals(textOf(both), "\nAA");
  assertEquals(spansOf(both), ["0-2", "2-5", "5-23"]);
  const base64 = decodeBase64(viewOf("--YWJjZGVmZ2g="), { minBytes: 8 });
  assertExists(base64);
  const at = latin(base64).indexOf("abcdefgh");
  assertEquals(startOf(base64, at), 2);
  // The padding belongs to the last byte.
  assertEquals(endOf(base64, at + 7), 14);
});

function textOf(view: ByteView | undefined): string {
  assertExists(view);
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
    .decode(view.bytes);
}

function latin(view: ByteView | undefined): string {
  assertExists(view);
  return String.fromCharCode(...view.bytes);
}

function spansOf(view: ByteView | undefined): string[] {
  assertExists(view);
  return Array.from(
    view.bytes,
    (_, index) => `${startOf(view, index)}-${endOf(view, index)}`,
  );
}
