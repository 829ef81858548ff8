import { assertEquals } from "@std/assert";
import { englishStem } from "./english_stem.ts";

// As other implementations of the algorithm stem them.
const SAMPLES: readonly (readonly [string, string])[] = [
  ["consign", "consign"],
  ["consigned", "consign"],
  ["consistency", "consist"],
  ["consolation", "consol"],
  ["consolatory", "consolatori"],
  ["consolidating", "consolid"],
  ["conspicuously", "conspicu"],
  ["conspiracy", "conspiraci"],
  ["knackeries", "knackeri"],
  ["knavish", "knavish"],
  ["kneaded", "knead"],
  ["knees", "knee"],
  ["knightly", "knight"],
  ["knitting", "knit"],
];

Deno.test("englishStem() gives the stems that Snowball publishes", () => {
  assertEquals(SAMPLES.map(([word]) => englishStem(word)), [
    ...SAMPLES.map(([, stem]) => stem),
  ]);
});

Deno.test("englishStem() follows the rules for short, doubled and whole words", () => {
  const stems = "hoping hopping luxuriated ties cries gas this kiwis skies " +
    "generate general national happy say enjoying cat's agreed news";
  assertEquals(
    stems.split(" ").map(englishStem).join(" "),
    "hope hop luxuri tie cri gas this kiwi sky " +
      "generat general nation happi say enjoy cat agre news",
  );
});

Deno.test("englishStem() gives forms that no ending tells the stem of their word", () => {
  for (
    const [form, word] of [
      ["woke", "wake"],
      ["bought", "buying"],
      ["taught", "teaches"],
      ["went", "going"],
      ["children", "child"],
      ["thieves", "thieves"],
    ] as const
  ) {
    assertEquals(englishStem(form), englishStem(word));
  }
});

Deno.test("englishStem() leaves words of other letters as they are", () => {
  for (const word of ["häuser", "12th", "東京", "ab", "a".repeat(100)]) {
    assertEquals(englishStem(word), word);
  }
});

Deno.test("englishStem() gives irregular forms the stem of their word", () => {
  const families = ["wake woke woken waking", "go went gone", "child children"];
  for (const family of families) {
    const stems = new Set(family.split(" ").map(englishStem));
    assertEquals(stems.size, 1, family);
  }
});
