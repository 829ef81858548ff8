import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertThrows,
} from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { finish } from "../concurrency/testing/finish.ts";
import { HashedEmbedder, hashingSteps } from "./hashed_embedder.ts";

/** The vector of a text. */
function hashedVector(text: string, width: number): Float32Array {
  return finish(hashingSteps(text, width));
}

const WIDTH = 1_536;

Deno.test("hashedVector() gives the same numbers for ever", () => {
  // Vectors are stored: other numbers here need another model name, and all
  // indexes have to be rebuilt.
  assertEquals(formatNumbers("Ada likes green tea."), GOLDEN_ENGLISH);
  assertEquals(formatNumbers("東京に住む"), GOLDEN_JAPANESE);
  const turn = "8 May, Ann: Thanks, Bo. Seit gestern (picture: a tree)";
  assertEquals(formatNumbers(turn), GOLDEN_TURN);
});

Deno.test("hashedVector() has length 1 for any text", () => {
  const random = new SeededRandom(5);
  const texts = ["", " \n\t", "!!!", "😀", "a", "the the the", "\ud800", "\0"];
  for (let round = 0; round < 200; round++) {
    const length = random.below(60);
    texts.push(String.fromCharCode(
      ...Array.from({ length }, () => random.below(65_536)),
    ));
  }
  for (const text of texts) {
    for (const width of [1, 7, WIDTH]) {
      const vector = hashedVector(text, width);
      assertEquals(vector.length, width);
      assertAlmostEquals(similarity(vector, vector), 1, 1e-5);
    }
  }
});

Deno.test("hashedVector() is closest to what shares words, endings aside", () => {
  const texts = [
    "She moved to Berlin with two dogs",
    "The meeting with Carlo is on Monday morning",
    "My favourite drink is green tea",
    "Ihre Großmutter wohnt in München",
    "我喜欢喝咖啡",
    "東京に住んでいます",
    "Мне нравится зелёный чай",
  ];
  const closest = (query: string): string | undefined => {
    const vector = hashedVector(query, WIDTH);
    return texts
      .map((text) => ({
        text,
        score: similarity(vector, hashedVector(text, WIDTH)),
      }))
      .sort((left, right) => right.score - left.score)[0]?.text;
  };
  assertEquals(closest("Who is moving with a dog?"), texts[0]);
  assertEquals(closest("when do we meet carlo, monday mornings?"), texts[1]);
  assertEquals(closest("favorite drinks"), texts[2]);
  assertEquals(closest("grossmutter MUNCHEN"), texts[3]);
  assertEquals(closest("你喝咖啡吗"), texts[4]);
  assertEquals(closest("東京"), texts[5]);
  assertEquals(closest("зеленый чай"), texts[6]);
});

Deno.test("hashedVector() is the same for spellings of the same", () => {
  const same = (left: string, right: string) =>
    assertEquals(hashedVector(left, WIDTH), hashedVector(right, WIDTH));
  same("Café Zürich", "cafe\u0301 zurich");
  same("ＡＢＣ１２", "abc12");
  same("Ada’s tea", "ada tea");
  same("don't stop", "DONT stop!");
});

Deno.test("hashedVector() lets stop words count for little", () => {
  const text = hashedVector("The cat is on the mat", WIDTH);
  const content = similarity(text, hashedVector("cat mat", WIDTH));
  const stops = similarity(text, hashedVector("the is on the", WIDTH));
  assert(content > 0.9, `${content}`);
  assert(stops < 0.4, `${stops}`);
});

Deno.test("HashedEmbedder.embed() asks for a pause between texts and within long ones", async () => {
  const embedder = new HashedEmbedder(64);
  const countAsks = async (texts: readonly string[]): Promise<number> => {
    let asks = 0;
    await embedder.embed(texts, { pausing: { pause: () => void asks++ } });
    return asks;
  };
  const long = "Ada met Bo in Rome. ".repeat(400);
  const ofLong = await countAsks([long]);
  // The text has 2,000 words, and at most 32 are hashed in one step.
  assert(ofLong >= 2_000 / 32, `${ofLong}`);
  assert(await countAsks(["tea"]) < 10);
  assertEquals(await countAsks([long, long, long]), 3 * ofLong);
});

Deno.test("hashedVector() counts a repeated word less each time", () => {
  const single = hashedVector("tea coffee", WIDTH);
  const many = hashedVector(`${"tea ".repeat(1_000)} coffee`, WIDTH);
  assert(similarity(many, hashedVector("coffee", WIDTH)) > 0.05);
  assert(
    similarity(many, hashedVector("coffee", WIDTH)) <
      similarity(single, hashedVector("coffee", WIDTH)),
  );
});

Deno.test("HashedEmbedder.embed() answers in the order of the texts", async () => {
  const embedder = new HashedEmbedder();
  const texts = ["one", "two", "one"];
  const outcome = await embedder.embed(texts);
  assertEquals(outcome, {
    kind: "ok",
    vectors: texts.map((text) => hashedVector(text, WIDTH)),
  });
  assertEquals(await embedder.embed([]), { kind: "ok", vectors: [] });
});

Deno.test("HashedEmbedder.embed() ends early when told", async () => {
  const signal = AbortSignal.abort();
  const outcome = await new HashedEmbedder().embed(["one"], { signal });
  assertEquals(outcome.kind, "unavailable");
});

Deno.test("HashedEmbedder refuses widths that are none", () => {
  for (const width of [0, -3, 1.5, NaN]) {
    assertThrows(() => new HashedEmbedder(width), RangeError, `"${width}"`);
  }
});

function similarity(left: Float32Array, right: Float32Array): number {
  return left.reduce((sum, value, at) => sum + value * (right[at] ?? 0), 0);
}

/** The values of a vector that are not 0, to five digits, with their places. */
function formatNumbers(text: string): string {
  return Array.from(
    hashedVector(text, WIDTH),
    (value, place) => value === 0 ? "" : `${place}:${value.toFixed(5)}`,
  ).filter((number) => number !== "").join(" ");
}

const GOLDEN_ENGLISH =
  "248:-0.09929 357:0.42993 489:0.06080 675:0.24321 833:0.08599 " +
  "904:-0.17197 990:-0.17197 992:0.17197 1038:0.17197 1117:-0.42993 " +
  "1178:0.06080 1259:0.24321 1338:0.24321 1347:0.09929 1351:0.09929 " +
  "1356:-0.21497 1408:0.42993 1514:0.24321";

const GOLDEN_JAPANESE =
  "242:-0.21822 280:-0.21822 669:-0.21822 930:-0.43644 996:0.43644 " +
  "1075:0.43644 1096:0.21822 1143:0.43644 1424:0.21822";

const GOLDEN_TURN =
  "120:0.05540 130:-0.03942 150:-0.10115 164:0.10115 189:0.05540 " +
  "195:-0.15485 214:-0.27874 239:-0.07884 312:0.10115 335:0.12388 " +
  "476:-0.15768 518:0.10115 535:-0.05540 542:0.05540 543:-0.03097 " +
  "546:0.04646 550:-0.05540 578:-0.30971 616:0.30971 727:0.06194 " +
  "757:0.06194 819:0.03097 921:0.30971 951:0.04380 999:-0.06194 " +
  "1023:0.07152 1038:0.10115 1044:-0.30971 1099:0.10115 1126:-0.15485 " +
  "1153:0.07152 1160:-0.03942 1186:0.06194 1192:0.07884 1199:0.27874 " +
  "1227:-0.15485 1278:-0.15485 1365:-0.21680 1366:0.09291 " +
  "1389:-0.15768 1415:-0.30971 1429:0.13937 1466:0.07152";
