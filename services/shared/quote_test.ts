import { assertEquals } from "@std/assert";
import { oneLine, quote } from "./quote.ts";

Deno.test("quote() leaves plain text as it is", () => {
  assertEquals(quote("Grüße, 世界 🎉"), '"Grüße, 世界 🎉"');
  assertEquals(quote(""), '""');
});

Deno.test("quote() escapes quotes, line ends and control characters", () => {
  assertEquals(quote('a"b\\c\r\nd\x1b[0m'), '"a\\"b\\\\c\\r\\nd\\u001b[0m"');
  assertEquals(
    quote("\x7f\x85\u2028\u202e\u{e0001}\ud800"),
    '"\\u007f\\u0085\\u2028\\u202e\\udb40\\udc01\\ud800"',
  );
});

Deno.test("quote() gives a JSON string of the same text", () => {
  let all = "";
  for (let code = 0; code < 0x3000; code++) all += String.fromCharCode(code);
  const quoted = quote(all, { maxChars: all.length });
  assertEquals(JSON.parse(quoted), all);
  assertEquals(/[\p{Cc}\p{Zl}\p{Zp}]/u.test(quoted), false);
});

Deno.test("quote() shortens what is longer than maxChars", () => {
  assertEquals(quote("abcdef", { maxChars: 6 }), '"abcdef"');
  assertEquals(quote("abcdef", { maxChars: 4 }), '"abcd… (2 more characters)"');
});

Deno.test("oneLine() escapes what acts on a terminal or ends the line, and leaves the rest", () => {
  assertEquals(
    oneLine('Cannot call "a": na\u00efve\r\n\u001b[2J\u2028\u202e'),
    'Cannot call "a": na\u00efve\\u000d\\u000a\\u001b[2J\\u2028\\u202e',
  );
  assertEquals(oneLine("abcdef", { maxChars: 2 }), "ab… (4 more characters)");
});
