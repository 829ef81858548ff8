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
  assertEquals(numbersOf("Ada likes green tea."), GOLDEN_ENGLISH);
  assertEquals(numbersOf("東京に住む"), GOLDEN_JAPANESE);
  assertEquals(
    numbersOf("8 May, Ada: When did you move to 서울? 🚀"),
    GOLDEN_TURN,
  );
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
  same("don't stop", "Dont stop!");
});

Deno.test("hashedVector() keeps short turns and questions of a conversation at a distance", () => {
  const question = hashedVector("Which tea does Ada like?", WIDTH);
  const near = (text: string) =>
    similarity(question, hashedVector(text, WIDTH));
  const told = near("Ada: I like green tea, and I drink it every morning.");
  assert(told > near("Ada: Tea!"), `${told}`);
  assert(told > near("Ada: Which tea do you like?"), `${told}`);
  assert(told > near("Ben: I like green tea, and I drink it every morning."));
});

Deno.test("hashedVector() knows emoji, Korean words and names in capitals", () => {
  const near = (one: string, other: string) =>
    similarity(hashedVector(one, WIDTH), hashedVector(other, WIDTH));
  assert(Math.abs(near("❤️", "✂️")) < 0.1);
  assert(near("🚀", "the launch 🚀") > 0.3);
  assert(near("서울에서", "서울") > 0.9);
  assert(near("who works in IT", "Ada works in the IT department") > 0.4);
});

Deno.test("hashedVector() lets stop words count for little", () => {
  const text = hashedVector("The cat is on the mat", WIDTH);
  const content = similarity(text, hashedVector("cat mat", WIDTH));
  const stops = similarity(text, hashedVector("the is on the", WIDTH));
  assert(content > 0.9, `${content}`);
  assert(stops < 0.3, `${stops}`);
});

Deno.test("HashedEmbedder.embed() asks for a pause between texts and within long ones", async () => {
  const embedder = new HashedEmbedder(64);
  const asksOf = async (texts: readonly string[]): Promise<number> => {
    let asks = 0;
    await embedder.embed(texts, { pausing: { pause: () => void asks++ } });
    return asks;
  };
  const long = "Ada met Bo in Rome. ".repeat(400);
  const ofLong = await asksOf([long]);
  // The text has 2,000 words, and at most 32 are hashed in one step.
  assert(ofLong >= 2_000 / 32, `${ofLong}`);
  assert(await asksOf(["tea"]) < 10);
  assertEquals(await asksOf([long, long, long]), 3 * ofLong);
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
function numbersOf(text: string): string {
  return Array.from(
    hashedVector(text, WIDTH),
    (value, place) => value === 0 ? "" : `${place}:${value.toFixed(5)}`,
  ).filter((number) => number !== "").join(" ");
}

const GOLDEN_ENGLISH =
  "248:-0.16958 357:0.34268 489:0.09791 675:0.14539 833:0.09791 " +
  "904:-0.14686 990:-0.14686 992:0.14686 1038:0.14686 1117:-0.34268 " +
  "1178:0.09791 1259:0.14539 1338:0.14539 1347:0.16958 1351:0.16958 " +
  "1356:-0.48954 1408:0.48954 1514:0.14539";

const GOLDEN_JAPANESE =
  "242:-0.21822 280:-0.21822 669:-0.21822 930:-0.43644 996:0.43644 " +
  "1075:0.43644 1096:0.21822 1143:0.43644 1424:0.21822";

const GOLDEN_TURN =
  "35:-0.00536 58:-0.00536 97:0.14287 180:-0.10715 214:-0.03572 " +
  "225:0.04949 243:0.35718 288:0.00536 422:-0.04949 441:-0.26788 " +
  "462:-0.26788 769:0.17859 812:-0.35718 933:-0.26788 1089:-0.35718 " +
  "1090:0.04949 1106:-0.35718 1117:-0.35718 1326:-0.26788 " +
  "1429:0.03572 1519:-0.03572 1531:0.00536";
