import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { Postings } from "./postings.ts";

function put(
  postings: Postings,
  id: string,
  { text, isSpeech = false }: { text: string; isSpeech?: boolean },
): void {
  postings.put(id, { terms: text.split(" "), isSpeech });
}

function idsOf(postings: Postings, text: string): readonly string[] {
  return postings.search(text.split(" "), { limit: 10 }).map(({ id }) => id);
}

Deno.test("Postings.search() puts the memory with the rarer word first", () => {
  const postings = new Postings();
  put(postings, "1", { text: "tea milk" });
  put(postings, "2", { text: "tea lemon" });
  put(postings, "3", { text: "tea sugar" });
  assertEquals(idsOf(postings, "tea lemon"), ["2", "3", "1"]);
  assertEquals(idsOf(postings, "coffee"), []);
  assertEquals(postings.search(["tea"], { limit: 1 }).length, 1);
});

Deno.test("Postings.search() gives the score of BM25 where there are no neighbours", () => {
  const postings = new Postings();
  put(postings, "1", { text: "tea tea milk" });
  put(postings, "2", { text: "lemon" });
  const [hit] = postings.search(["tea", "tea"], { limit: 10 });
  const rarity = Math.log(1 + 1.5 / 1.5);
  const fit = 2 * 1.9 / (2 + 0.9 * (0.6 + 0.4 * 3 / 2));
  assertAlmostEquals(hit?.score ?? 0, rarity * fit, 1e-6);
});

Deno.test("Postings.search() finds the neighbours of what was said, and of nothing else", () => {
  for (const isSpeech of [true, false]) {
    const postings = new Postings();
    put(postings, "1", { text: "where is home", isSpeech });
    put(postings, "2", { text: "in oslo", isSpeech });
    put(postings, "3", { text: "a note" });
    put(postings, "4", { text: "fine", isSpeech });
    assertEquals(idsOf(postings, "home"), isSpeech ? ["1", "2"] : ["1"]);
  }
});

Deno.test("Postings scores the same however it came to its memories", () => {
  let state = 7;
  const random = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor(state / 2 ** 32 * below);
  };
  const changed = new Postings();
  const kept = new Map<string, { text: string; isSpeech: boolean }>();
  for (let step = 0; step < 3_000; step++) {
    const id = `${random(200)}`;
    if (random(3) === 0) {
      assertEquals(changed.remove(id), kept.delete(id));
    } else {
      const words = Array.from(
        { length: 1 + random(6) },
        () => `w${random(30)}`,
      );
      const memory = { text: words.join(" "), isSpeech: random(4) > 0 };
      put(changed, id, memory);
      kept.set(id, memory);
    }
    if (step % 250 !== 0) continue;
    const fresh = new Postings();
    for (const [key, memory] of kept) put(fresh, key, memory);
    const scoresOf = (one: Postings) =>
      one.search(["w1", "w2", "w3"], { limit: 1_000 })
        .map(({ id, score }) => `${id} ${score.toFixed(4)}`).sort();
    assertEquals(changed.size, kept.size);
    assertEquals(scoresOf(changed), scoresOf(fresh));
  }
});

Deno.test("Postings has at most eight bytes a posting, and gives back what is removed", () => {
  const postings = new Postings();
  for (let at = 0; at < 2_000; at++) {
    const text = Array.from({ length: 16 }, (_, n) => `w${(at * n) % 500}`);
    put(postings, `${at}`, { text: [...new Set(text)].join(" ") });
  }
  const arrays = 2_048 * 17;
  assert(postings.bytes - arrays <= 8 * 16 * 2_000);
  for (let at = 0; at < 2_000; at++) postings.remove(`${at}`);
  assertEquals(postings.size, 0);
  assert(postings.bytes < 10_000);
});

Deno.test("Postings.search() gives the same first memories at each limit", () => {
  const postings = new Postings();
  for (let at = 0; at < 1_000; at++) {
    put(postings, `${at}`, { text: `tea ${"milk ".repeat(at * 7 % 13)}end` });
  }
  const all = postings.search(["tea", "milk"], { limit: 1_000 });
  assertEquals(all.length, 1_000);
  all.slice(1).forEach(({ score }, at) =>
    assert(score <= (all[at]?.score ?? 0))
  );
  for (const limit of [0, 1, 5, 20, 100]) {
    assertEquals(
      postings.search(["tea", "milk"], { limit }),
      all.slice(0, limit),
    );
  }
});
