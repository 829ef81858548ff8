import { assertEquals } from "@std/assert";

import { splitSentences } from "./sentences.ts";
import { finish } from "../concurrency/testing/finish.ts";

Deno.test("splitSentences() ends sentences where they end", () => {
  assertEquals(
    texts('Dr. Ada paid 3.50 for it, e.g. tea. "Really?" Yes!! Ok…'),
    [
      "Dr. Ada paid 3.50 for it, e.g. tea.",
      '"Really?"',
      "Yes!!",
      "Ok…",
    ],
  );
  assertEquals(texts("我住在柏林。我喜欢茶！\n  \nno end"), [
    "我住在柏林。",
    "我喜欢茶！",
    "no end",
  ]);
});

Deno.test("splitSentences() takes list marks off and tells who speaks", () => {
  assertEquals(
    finish(splitSentences("- one\n2) two\nUser: three\nAda Byron: four. Five")),
    [
      { text: "one" },
      { text: "two" },
      { text: "three" },
      { text: "four.", speaker: "Ada Byron" },
      { text: "Five", speaker: "Ada Byron" },
    ],
  );
});

function texts(text: string): readonly string[] {
  return finish(splitSentences(text)).map((sentence) => sentence.text);
}
