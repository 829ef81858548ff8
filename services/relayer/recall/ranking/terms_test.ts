import { assert, assertEquals } from "@std/assert";
import { eachRound } from "../../../../tests/support/rounds.ts";
import { finish } from "../../concurrency/testing/finish.ts";
import {
  MAX_TERM_TEXT_CHARS,
  nearTerms,
  questionTerms,
  termSteps,
} from "./terms.ts";

function listTerms(text: string): readonly string[] {
  return [...finish(termSteps(text)).counts.keys()];
}

/** Terms of a question that a memory has. */
function shared(
  question: string,
  memory: string,
): readonly string[] {
  const { counts, language } = finish(termSteps(memory));
  return questionTerms(question, [language ?? "en"])
    .filter(({ terms }) => terms.some((term) => counts.has(term)))
    .map(({ word }) => word);
}

Deno.test("termSteps() gives forms of an English word one term", () => {
  const { counts, length } = finish(termSteps("moved, moving and Moves"));
  assertEquals([...counts], [["move", 3]]);
  assertEquals(length, 3);
});

Deno.test("termSteps() gives forms of a word one term in the language of the text", () => {
  const cases = [
    ["Wo sind die Schlüssel der Wohnung?", "Der Wohnungen und des Schlüssels"],
    ["Quand ont-ils habité cette maison ?", "Les maisons où nous habitons"],
    ["¿Cuándo hablaron los niños?", "El niño está hablando con la madre"],
  ] as const;
  const found = cases.map(([question, memory]) => shared(question, memory));
  assertEquals(found.map(({ length }) => length), [2, 1, 2]);
  assertEquals(
    cases.map(([, memory]) => finish(termSteps(memory)).language),
    ["de", "fr", "es"],
  );
});

Deno.test("termSteps() finds a word behind what French leaves of another", () => {
  const cases = [
    ["Que sait-on d'Élodie ?", "Élodie prépare le concours"],
    ["Où est l’école ?", "L'école est fermée"],
    ["infirmière", "Le concours d'infirmière de la ville de Nantes"],
    ["assurance", "jusqu'à ce qu'assurance soit donnée"],
  ] as const;
  for (const [question, memory] of cases) {
    assertEquals(shared(question, memory).length, 1, question);
  }
  assertEquals(listTerms("O'Brien's rock'n'roll"), ["obrien", "rock", "roll"]);
});

Deno.test("termSteps() finds a word without its accents, and one in another language's text", () => {
  assertEquals(shared("schlussel", "Die Schlüssel sind weg"), ["schlussel"]);
  assertEquals(shared("café", "we met in a cafe"), ["café"]);
  assertEquals(
    questionTerms("Wohnungen", ["de", "en"]).flatMap(({ terms }) => terms),
    ["wohnung", "wohnungen"],
  );
});

Deno.test("termSteps() keeps names whole as well as in parts", () => {
  for (const name of ["v2.3.1", "snake_case", "ERR_FOO-12", "ada@site.org"]) {
    const terms = listTerms(`it says ${name} there`);
    assert(terms.includes(name.toLowerCase()), name);
  }
  assert(listTerms("userName").includes("usernam"));
  assertEquals(shared("the user", "userName is set"), ["user"]);
  assertEquals(shared("error 12", "ERR_FOO-12"), ["12"]);
});

Deno.test("termSteps() finds texts without spaces by a part of them", () => {
  assert(shared("東京", "私は東京に住んでいます").includes("東京"));
});

Deno.test("termSteps() keeps a text of little words findable", () => {
  assertEquals(listTerms("who are you").length, 3);
  assertEquals(questionTerms("who are you", []).length, 3);
});

Deno.test("termSteps() takes little words in capitals for names", () => {
  const memory = "Ada moved to IT and writes for the WHO in the US";
  assertEquals(shared("Who writes for the WHO?", memory), ["writes", "who"]);
  assertEquals(shared("Who moved to IT?", memory), ["moved", "it"]);
  assertEquals(shared("Who told us where it is now", memory), []);
  assertEquals(listTerms("it rains on us"), ["rain"]);
});

Deno.test("questionTerms() reads the beginning and the end of a long question", () => {
  const pasted = Array.from({ length: 9_000 }, (_, at) => `w${at}`).join(" ");
  const words = questionTerms(`Quince? ${pasted} medlar?`, ["en"])
    .map(({ word }) => word);
  assert(words.includes("quince") && words.includes("medlar"));
  assert(!words.includes("w4500"));
  assert(words.length < 2_000, String(words.length));
});

Deno.test("termSteps() reads a long text in steps, and its words whole", () => {
  const text = "wonderful ".repeat(20_000);
  let steps = 0;
  const all = termSteps(text);
  let step = all.next();
  for (; step.done !== true; step = all.next()) steps++;
  assert(steps > 20);
  assertEquals([...step.value.counts], [["wonder", 20_000]]);
});

Deno.test("termSteps() gives no more terms than the bound of hostile texts", () => {
  const hostile = ["a", "aB", "a.", "a\u0301", "東", "-"];
  for (const part of hostile) {
    const terms = listTerms(part.repeat(2 ** 20));
    assert(terms.length <= 4 * MAX_TERM_TEXT_CHARS, part);
    assert(terms.every((term) => term.length <= 256), part);
  }
});

const NAMES = ["teodora", "okonkwo", "nordbank", "yilmaz", "tea", "telescop"];

Deno.test("nearTerms() finds what a misspelt name stands for", () => {
  const cases = [
    ["tedora", "teodora"],
    ["okonkow", "okonkwo"],
    ["nordbnak", "nordbank"],
    ["yilmas", "yilmaz"],
    ["teelscopp", "telescop"],
  ] as const;
  for (const [term, name] of cases) {
    assertEquals(nearTerms(term, NAMES), [name], term);
  }
});

Deno.test("nearTerms() takes no short words, numbers or other words for misspelt ones", () => {
  for (const term of ["te", "toe", "1042", "e04", "theodorus", "marvel"]) {
    assertEquals(nearTerms(term, NAMES.concat("1041", "e05")), [], term);
  }
  assertEquals(nearTerms("tedora", NAMES, { areMisspelt: false }), []);
});

Deno.test("nearTerms() prefers one fault to two", () => {
  assertEquals(
    nearTerms("wonderfol", ["wanderful", "wonderful"]),
    ["wonderful"],
  );
});

Deno.test("nearTerms() finds joined words by their parts and parts by joined words", () => {
  const terms = ["wohnungsschlussel", "heizungsanlag", "haus"];
  const areJoined = true;
  assertEquals(nearTerms("schlussel", terms, { areJoined }), [
    "wohnungsschlussel",
  ]);
  assertEquals(nearTerms("schlussel", terms), []);
  assertEquals(
    nearTerms("wohnungsschlussel", ["wohnung", "schlussel", "schloss"], {
      areJoined,
    }),
    ["wohnung", "schlussel"],
  );
  assertEquals(nearTerms("haustur", terms, { areJoined }), ["haus"]);
  assertEquals(nearTerms("haustur", ["tur", "hau"], { areJoined }), []);
});

Deno.test("nearTerms() finds words of one family where it finds nothing closer", () => {
  const terms = ["allergisch", "versicherung", "conversion"];
  assertEquals(nearTerms("allergie", terms), ["allergisch"]);
  assertEquals(nearTerms("versichert", terms), ["versicherung"]);
  assertEquals(nearTerms("conference", terms), []);
});

Deno.test("nearTerms() finds a name by every word that is one fault away", async () => {
  const letters = "abcdefghij";
  await eachRound({ rounds: 300, seed: 3 }, ({ random }) => {
    const letter = () => letters[random.below(letters.length)] ?? "a";
    const name = Array.from({ length: 4 + random.below(8) }, letter);
    const odd = [...name];
    const at = 1 + random.below(name.length - 1);
    switch (random.below(4)) {
      case 0:
        odd.splice(at, 1);
        break;
      case 1:
        odd.splice(at, 0, "z");
        break;
      case 2:
        odd[at] = "z";
        break;
      default:
        odd.splice(at - 1, 2, odd[at] ?? "", odd[at - 1] ?? "");
    }
    const term = odd.join("");
    const found = term === name.join("") || term.length < 4 ||
        (term[0] !== name[0] && term[1] !== name[1])
      ? []
      : [name.join("")];
    assertEquals(nearTerms(term, [name.join("")]), found, `${term} ${name}`);
  });
});
