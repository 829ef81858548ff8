import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { assertGrowth } from "../../../tests/support/growth.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { listWords, MAX_VECTOR_CHARS, vectorTextSteps } from "./words.ts";
import { finish } from "../concurrency/testing/finish.ts";

/** The shortened text that a vector is made of. */
function vectorText(text: string): string {
  return finish(vectorTextSteps(text));
}

Deno.test("listWords() folds case, accents and widths", () => {
  assertEquals(texts("Ａda's CAFÉ, don’t—stop! 3.5"), [
    "ada",
    "cafe",
    "dont",
    "stop",
    "3",
    "5",
  ]);
});

Deno.test("listWords() takes characters and their pairs where there are no spaces", () => {
  assertEquals(texts("东京塔"), ["东", "东京", "京", "京塔", "塔"]);
  assertEquals(texts("iPhone用"), ["iphone", "用"]);
  assertEquals(texts("コーヒー"), [
    "コ",
    "コー",
    "ー",
    "ーヒ",
    "ヒ",
    "ヒー",
    "ー",
  ]);
});

Deno.test("listWords() keeps marks that are part of letters", () => {
  assertEquals(texts("हिन्दी भाषा"), ["हिन्दी", "भाषा"]);
});

Deno.test("listWords() finds nothing where there is nothing", () => {
  assertEquals(texts(" …!? \n\ufe0f \u200d \u0301 ©"), []);
});

Deno.test("listWords() takes an emoji for a word, whatever it is made of and looks like", () => {
  assertEquals(texts("go🚀🚀 now"), ["go", "🚀", "🚀", "now"]);
  assertEquals(texts("🇩🇪🇫🇷 👨‍👩‍👧 🏴󠁧󠁢󠁳󠁣󠁴󠁿"), ["🇩🇪", "🇫🇷", "👨‍👩‍👧", "🏴󠁧󠁢󠁳󠁣󠁴󠁿"]);
  assertEquals(texts("❤️ ✂️ 👍🏽"), ["❤", "✂", "👍"]);
});

Deno.test("listWords() takes words alike with and without joiners and soft hyphens", () => {
  assertEquals(texts("co\u00adoperate"), ["cooperate"]);
  assertEquals(texts("ශ්\u200dරී"), texts("ශ්රී"));
  assertEquals(texts("کتاب\u200cها"), ["کتاب", "ها"]);
});

Deno.test("listWords() takes pairs of syllables in Korean, without particles and endings", () => {
  assertEquals(texts("서울에서"), texts("서울"));
  assertEquals(texts("고양이는 도서관으로 갔어요"), [
    "고양",
    "도서",
    "서관",
    "가",
  ]);
  for (const form of ["마셨어요", "마십니다", "마셔요"]) {
    assertEquals(texts(form), texts("마시다"), form);
  }
  assertEquals(texts("집에서"), texts("집"));
  assertEquals(texts("이"), ["이"]);
});

Deno.test("listWords() tells capitals in a text that has other letters", () => {
  const capitals = (text: string) =>
    listWords(text).flatMap((word) => word.isCapital ? [word.text] : []);
  assertEquals(capitals("The IT department asks WHO and US offices"), [
    "it",
    "who",
    "us",
  ]);
  assertEquals(capitals("I do not know if it is A or B"), []);
  assertEquals(capitals("WHO IS IT, asks she"), []);
});

Deno.test("listWords() takes no longer for marks without end", async () => {
  // Normalization has to move each mark before all marks of the other class.
  for (const pair of ["\u0301\u0316", "\u0316\uff9e"]) {
    const read = (count: number) => {
      const text = `a${pair.repeat(count)} tea`;
      return () => void listWords(text);
    };
    await assertGrowth({ small: read(5_000), large: read(20_000), atMost: 8 });
  }
});

Deno.test("listWords() keeps 30 combining marks of a letter, and ends the word at the next", () => {
  const letter = `\u0939${"\u093c".repeat(30)}`;
  assertEquals(texts(letter), [letter]);
  assertEquals(texts(`${letter}\u093c tea`), [letter, "tea"]);
});

Deno.test("listWords() keeps single characters that stand for many, and few of them", () => {
  assertEquals(texts("\ufdfa").length, 4);
  const words = texts("\ufdfa ".repeat(1_000));
  assert(words.length < 2_000, `${words.length} words`);
});

function texts(text: string): readonly string[] {
  return listWords(text).map((word) => word.text);
}

Deno.test("vectorText() leaves short texts as they are", () => {
  assertEquals(vectorText("Ada likes tea."), "Ada likes tea.");
  const full = "x".repeat(MAX_VECTOR_CHARS);
  assertEquals(vectorText(full), full);
});

Deno.test("vectorText() keeps the first sentence of each line of a long text", () => {
  const line = (index: number) =>
    `Chapter ${index} is about whales. ${"They swim. ".repeat(60)}`;
  const text = Array.from({ length: 40 }, (_, index) => line(index)).join("\n");
  const short = vectorText(text);
  assert(short.length <= MAX_VECTOR_CHARS);
  for (const index of [0, 20, 39]) {
    assertStringIncludes(short, `Chapter ${index} is about whales.`);
  }
});

Deno.test("vectorText() shortens a text that is one endless line", () => {
  const short = vectorText("ä".repeat(100_000));
  assertEquals(short.length, MAX_VECTOR_CHARS);
});

Deno.test("vectorText() parts no character", () => {
  for (const offset of [0, 1]) {
    const short = vectorText("a".repeat(offset) + "🐋".repeat(20_000));
    assert(short.isWellFormed());
    assert(short.length <= MAX_VECTOR_CHARS);
  }
});

Deno.test("vectorText() knows where sentences end that no blank follows", () => {
  const line = (at: number) => `第${at}章讲鲸鱼。${"它们游泳。".repeat(500)}`;
  const text = Array.from({ length: 20 }, (_, at) => line(at)).join("\n");
  const short = vectorText(text);
  for (const at of [0, 10, 19]) {
    assertStringIncludes(short, `第${at}章讲鲸鱼。`);
  }
});

Deno.test("vectorText() keeps what comes after a line without an end", () => {
  const text = `${"x".repeat(20_000)}\n\n \t\r\nThe whale is old.\n`;
  const short = vectorText(text);
  assertStringIncludes(short, "The whale is old.");
  assertStringIncludes(short, "xxx");
  assert(short.length <= MAX_VECTOR_CHARS);
});

Deno.test("vectorText() takes odd texts in its stride", () => {
  const odd = [
    "\n".repeat(20_000),
    " \n".repeat(20_000) + "end",
    ".".repeat(20_000),
    "a.\n".repeat(400_000),
    "\u0000".repeat(9_000),
    "\u{e0001}".repeat(9_000),
  ];
  for (const text of odd) {
    const short = vectorText(text);
    assert(short.length <= MAX_VECTOR_CHARS && short.length > 0);
    assert(short.isWellFormed());
  }
});

Deno.test("vectorTextSteps() looks at a few lines in a step, and at none when nothing more fits", () => {
  // Room for one more character, which no line has.
  const full = `${"x".repeat(MAX_VECTOR_CHARS - 3)}\n`;
  assert(countSteps(full + "ab\n".repeat(100_000)) >= 100_000 / 256);
  assert(countSteps(full + "a\n" + "ab\n".repeat(100_000)) <= 2);
  assert(countSteps("ab.\n".repeat(100_000)) <= MAX_VECTOR_CHARS / 4 / 256 + 2);
});

Deno.test("vectorText() gives what looking at all lines at once gives", () => {
  const random = new SeededRandom(7);
  const pieces = [
    "a",
    "b. ",
    "ö! ",
    " ",
    "\n",
    "\r\n",
    "。",
    "x".repeat(4_000),
  ];
  for (let round = 0; round < 200; round++) {
    let text = "";
    while (text.length <= MAX_VECTOR_CHARS * 2) {
      const piece = pieces[random.below(pieces.length)] ?? "";
      text += piece.repeat(1 + random.below(round % 7 === 0 ? 900 : 9));
    }
    assertEquals(vectorText(text), plainVectorText(text));
  }
});

function countSteps(text: string): number {
  const steps = vectorTextSteps(text);
  let count = 1;
  while (steps.next().done !== true) count++;
  return count;
}

/** The first version of the code: vectors made by it still have to fit. */
function plainVectorText(text: string): string {
  const firsts = (text.match(/[^\n]+/g) ?? [])
    .map((line) => {
      const end = /[.!?](?=\s|$)|[。！？]/.exec(line);
      return (end === null ? line : line.slice(0, end.index + 1)).trim();
    })
    .filter((first) => first !== "");
  const parts: string[] = [];
  let chars = 0;
  for (const first of firsts) {
    if (chars + first.length + 1 > MAX_VECTOR_CHARS) continue;
    parts.push(first);
    chars += first.length + 1;
  }
  const head = parts.join("\n");
  const left = MAX_VECTOR_CHARS - head.length - 1;
  if (head === "") return text.slice(0, MAX_VECTOR_CHARS).toWellFormed();
  return left <= 0 ? head : `${head}\n${text.slice(0, left)}`.toWellFormed();
}
