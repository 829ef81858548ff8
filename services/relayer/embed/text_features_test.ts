import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { finish } from "../concurrency/testing/finish.ts";
import { textFeatures } from "./text_features.ts";

function extractFeatures(text: string): ReadonlyMap<string, number> {
  return finish(textFeatures(text));
}

function getWeight(text: string, feature: string): number {
  return extractFeatures(text).get(feature) ?? 0;
}

Deno.test("textFeatures() weighs a word by how common it is in its language", () => {
  const text = "the good lovely kettle";
  const weights = ["the", "good", "kettle"].map((word) =>
    getWeight(text, word === "kettle" ? "w kettl" : `w ${word}`)
  );
  assertEquals(weights, [0.3, 0.5, 1]);
  for (const little of ["nicht", "avec", "porque", "della", "muito", "niet"]) {
    assertEquals(getWeight(`${little} zebra`, `w ${little}`), 0.3, little);
  }
});

Deno.test("textFeatures() gives a common word's forms its weight", () => {
  for (const form of ["start", "starts", "started", "starting"]) {
    assertEquals(getWeight(form, "w start"), 0.5, form);
  }
});

Deno.test("textFeatures() lets texts that tell a time share it with questions for one", () => {
  const asking = ["When did Ann swim?", "Since when?", "What year?", "Wann?"];
  const telling = ["Ann swam yesterday.", "Samedi", "en enero", "im März"];
  for (const text of [...asking, ...telling]) {
    assertEquals(getWeight(text, "time"), 0.7, text);
  }
  for (const text of ["Who swims?", "Ann swims.", "8 May, Ann: I swim."]) {
    assertEquals(getWeight(text, "time"), 0, text);
  }
});

Deno.test("textFeatures() counts words in brackets at the end half", () => {
  const text = "[8 May] Ann: My kettle (picture: a zebra)";
  assertEquals(getWeight(text, "w zebra"), 0.5);
  assertEquals(getWeight(text, "w kettl"), 1);
  assertEquals(getWeight("(a zebra) barks", "w zebra"), 1);
});

Deno.test("textFeatures() counts a name less where a speaker calls it than where it stands for the speaker", () => {
  for (
    const said of ["Hey Melissa! Soup?", "Thanks, Melissa.", "Melissa, soup?"]
  ) {
    assertAlmostEquals(getWeight(`Ann: ${said}`, "w melissa"), 0.5, 1e-9, said);
  }
  assertEquals(getWeight("Melissa: Soup?", "w melissa"), 0.9);
  assertEquals(getWeight("Ann: I met Melissa there", "w melissa"), 1);
  assertEquals(getWeight("Hey Melissa! Soup?", "w melissa"), 1);
});

Deno.test("textFeatures() gives a turn a length of its own, and a question none", () => {
  const own = (text: string) =>
    new Map(
      [...extractFeatures(text)].filter(([name]) => name.startsWith("o ")),
    );
  const turn = own("Ann: I swim.");
  const length = Math.hypot(...turn.values());
  assertAlmostEquals(length, 2, 1e-9);
  assertEquals(own("Ben: I swim!"), turn);
  assert([...own("Ann: I run.").keys()].every((name) => !turn.has(name)));
  assertEquals(own("Who swims?").size, 0);
});
