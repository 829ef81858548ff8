import { assertEquals } from "@std/assert";
import { eachRound } from "../../../../tests/support/rounds.ts";
import { nearTerms } from "./near_terms.ts";

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
