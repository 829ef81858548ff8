import { assertEquals } from "@std/assert";
import { helpEntry, wrapText } from "./help_text.ts";

Deno.test("wrapText() breaks between words and keeps long words whole", () => {
  assertEquals(wrapText("aa bb  cc\ndd", 5), ["aa bb", "cc dd"]);
  assertEquals(wrapText("a muchtoolong b", 4), ["a", "muchtoolong", "b"]);
  assertEquals(wrapText(" ", 4), []);
});

Deno.test("helpEntry() puts the meaning beside the term", () => {
  const options = { column: 10, width: 20 };
  assertEquals(helpEntry("--json", "as JSON lines", options), [
    "  --json  as JSON",
    "          lines",
  ]);
});

Deno.test("helpEntry() puts the meaning below a long term", () => {
  const options = { column: 8, width: 20 };
  assertEquals(helpEntry("--domain", "the domain", options), [
    "  --domain",
    "        the domain",
  ]);
  assertEquals(helpEntry("-x", "", options), ["  -x"]);
});
