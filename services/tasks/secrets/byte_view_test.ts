import { assert, assertEquals, assertExists } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { ByteView, unescapeJson, unescapePercent } from "./byte_view.ts";
import { BASE64, decodeRuns, decodeTail, HEX } from "./decoded_runs.ts";

Deno.test("unescapeJson() undoes all escapes", () => {
  const text = String.raw`a\"\\\/\b\f\n\r\t\u00e9\u20AC\uD83D\uDD11\x7a`;
  assertEquals(
    decodeText(unescapeJson(ByteView.ofText(text))),
    '"a"'.slice(1, 2) +
      '"\\/\b\f\n\r\té€🔑z',
  );
});

Deno.test("unescapeJson() leaves what is no escape", () => {
  const text = String.raw`\q C:\users \x1g \u12 \u12g4 \ud83d\u0041 é\n` + "\\";
  assertEquals(
    decodeText(unescapeJson(ByteView.ofText(text))),
    String.raw`\q C:\users \x1g \u12 \u12g4 ` + "\ufffdA é\n\\",
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
    const view = unescapeJson(ByteView.ofText(escaped)) ??
      ByteView.ofText(escaped);
    assertEquals(decodeText(view), `"${text}"`);
  }
});

Deno.test("unescapePercent() undoes any spelling", () => {
  const text = "a%2fb%2Fc%C3%A9%61%zz%4%";
  assertEquals(
    decodeText(unescapePercent(ByteView.ofText(text))),
    "a/b/céa%zz%4%",
  );
  assertEquals(
    decodeText(
      unescapePercent(ByteView.ofText("a+b%2Bc"), { plusIsSpace: true }),
    ),
    "a b+c",
  );
  assertEquals(
    decodeText(unescapePercent(ByteView.ofText("a+b%20c"))),
    "a+b c",
  );
});

Deno.test("views are absent when nothing is encoded", () => {
  assertEquals(unescapeJson(ByteView.ofText("plain %41 text+")), undefined);
  assertEquals(unescapePercent(ByteView.ofText("plain \\n text+")), undefined);
  assertEquals(
    decodeRuns(ByteView.ofText("some short words"), {
      alphabet: BASE64,
      minBytes: 8,
    }),
    undefined,
  );
});

Deno.test("decodeRuns() of base64 decodes from each of the first four letters", () => {
  const view = decodeRuns(ByteView.ofText(btoa("the quick fox")), {
    alphabet: BASE64,
    minBytes: 8,
  });
  const text = latin(view);
  assert(text.startsWith("the quick fox\xff"), text);
  for (let prefix = 0; prefix < 4; prefix++) {
    const run = "x".repeat(prefix) + btoa("the quick fox");
    const shifted = latin(
      decodeRuns(ByteView.ofText(run), { alphabet: BASE64, minBytes: 8 }),
    );
    assert(shifted.includes("the quick fox"), run);
  }
});

Deno.test("decodeRuns() of base64 accepts both alphabets and line ends", () => {
  const bytes = Uint8Array.from({ length: 60 }, (_, n) => 0xf8 + n % 7);
  for (const alphabet of ["base64", "base64url"] as const) {
    const letters = bytes.toBase64({ alphabet });
    const lines = letters.replace(/.{19}/g, "$&\r\n");
    for (const text of [letters, lines]) {
      const view = decodeRuns(ByteView.ofText(`: ${text} :`), {
        alphabet: BASE64,
        minBytes: 8,
      });
      assertExists(view);
      assertEquals(view.bytes.slice(0, 60), bytes);
    }
  }
});

Deno.test("decodeRuns() of hexadecimal accepts all cases and what stands between bytes", () => {
  const options = { alphabet: HEX, minBytes: 8 };
  const plain = new TextEncoder().encode("the quick föx").toHex();
  const mixed = plain.replace(/.[a-f]/g, (pair) => pair.toUpperCase());
  for (
    const text of [
      plain,
      plain.toUpperCase(),
      mixed,
      plain.replace(/..(?=.)/g, "$&:"),
      plain.replace(/..(?=.)/g, "$& "),
      plain.replace(/.{8}/g, "$&\r\n"),
      `0x${plain}`,
      `a${plain}`,
    ]
  ) {
    const found = decodeRuns(ByteView.ofText(`<${text}>`), options);
    assert(
      latin(found).includes(latin(ByteView.ofText("the quick föx"))),
      text,
    );
  }
  assertEquals(
    decodeRuns(ByteView.ofText("deadbeef 2026-01"), options),
    undefined,
  );
});

Deno.test("decodeTail() decodes the letters that bytes end in", () => {
  const tail = btoa("what the quick fox says").slice(0, -3);
  const options = { alphabet: BASE64, minBytes: 4 };
  const texts = decodeTail(ByteView.ofText(`abcdefghi ${tail}`), options)
    .map(latin);
  assertEquals(texts.length, 4);
  assertEquals(texts[0], "what the quick fox sa");
  assertEquals(decodeTail(ByteView.ofText(`${tail} abcde`), options), []);
  assertEquals(
    decodeTail(ByteView.ofText(`${tail} abcdef`), options).length,
    4,
  );
});

Deno.test("views of cut bytes leave out what is left of an escape", () => {
  const escapes = ["\\u00e9", "\\ud83d\\udd11", "\\n", "\\x41"];
  for (const escape of escapes) {
    for (let length = 1; length < escape.length; length++) {
      const text = String.raw`\\ab\t` + escape.slice(0, length);
      const view = unescapeJson(ByteView.ofText(text), { isCut: true });
      assertEquals(decodeText(view), "\\ab\t", text);
    }
  }
  for (const text of ["%41b%", "%41b%2", "%41b%f"]) {
    assertEquals(
      decodeText(unescapePercent(ByteView.ofText(text), { isCut: true })),
      "Ab",
    );
  }
  const whole = String.raw`a\\`;
  assertEquals(
    decodeText(unescapeJson(ByteView.ofText(whole), { isCut: true })),
    "a\\",
  );
  assertEquals(
    decodeText(unescapePercent(ByteView.ofText("%41%zz"), { isCut: true })),
    "A%zz",
  );
});

Deno.test("each byte of a view knows where it comes from", () => {
  const json = unescapeJson(ByteView.ofText(String.raw`a\nbé\u00e9c`));
  assertEquals(formatSpans(json), [
    "0-1",
    "1-3",
    "3-4",
    "4-5",
    "5-6",
    "6-12",
    "6-12",
    "12-13",
  ]);
  const percent = unescapePercent(ByteView.ofText("a%41b"));
  assertEquals(formatSpans(percent), ["0-1", "1-4", "4-5"]);
  assertExists(json);
  // A view of a view knows its places in the first source.
  const both = unescapePercent(
    unescapeJson(ByteView.ofText(String.raw`\n%41\u0025\u0034\u0031`))!,
  );
  assertEquals(decodeText(both), "\nAA");
  assertEquals(formatSpans(both), ["0-2", "2-5", "5-23"]);
  const base64 = decodeRuns(ByteView.ofText("--YWJjZGVmZ2g="), {
    alphabet: BASE64,
    minBytes: 8,
  });
  assertExists(base64);
  const at = latin(base64).indexOf("abcdefgh");
  assertEquals(base64.findStart(at), 2);
  // The padding belongs to the last byte.
  assertEquals(base64.findEnd(at + 7), 14);
});

function decodeText(view: ByteView | undefined): string {
  assertExists(view);
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
    .decode(view.bytes);
}

function latin(view: ByteView | undefined): string {
  assertExists(view);
  return String.fromCharCode(...view.bytes);
}

function formatSpans(view: ByteView | undefined): string[] {
  assertExists(view);
  return Array.from(
    view.bytes,
    (_, index) => `${view.findStart(index)}-${view.findEnd(index)}`,
  );
}
