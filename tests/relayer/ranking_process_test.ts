import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { RecallMemory } from "../../mod.ts";
import { onStores } from "./on_stores.ts";
import { RelayerHome } from "./relayer_home.ts";
import { recallAll } from "./wire_client.ts";

const TEXTS = [
  "Nora is allergic to hazelnuts and carries an injector in her bag.",
  "The spare key hangs behind the blue flower pot on the balcony.",
  "Der Schlüssel zur Wohnung von Jonas liegt beim Nachbarn.",
  "Build v2.3.1 fails with ERR_FOO-12 since the upgrade.",
  "Build v2.3.2 works again.",
  "Pixel hides in the wardrobe during thunderstorms.",
] as const;

interface Recalled {
  readonly results: readonly {
    readonly text: string;
    readonly distance: number;
    readonly relevance?: number;
    readonly explanation?: { readonly matched?: readonly string[] };
  }[];
}

onStores({
  name: "relayer ranks by vectors, or by words as well",
  // The steps share a relayer, each with an account of its own.
  timeout: 240_000,
  fn: async (storage, t) => {
    await using home = await RelayerHome.open({ storage, accounts: 4 });
    await t.step(
      "relayer ranks by words and vectors where it is asked to, before and after a restart",
      async () => {
        const mem = home.mem();
        for (const text of TEXTS) await mem.rememberAndWait(text);
        const client = home.wire();
        const ask = async (
          query: string,
          more: object = {},
        ): Promise<Recalled> => {
          const body = { query, ...more };
          const { status, json } = await client.call(
            "POST",
            "/api/recall",
            body,
          );
          assertEquals(status, 200);
          return json as Recalled;
        };
        for (const round of ["before", "after"]) {
          const fused = { ranking: "fused", explain: true };
          const cases = [
            ["Where are the spare keys hanging?", 1, [
              "spare",
              "keys",
              "hanging",
            ]],
            ["Wo sind die Schlüssel der Wohnungen?", 2, [
              "schlüssel",
              "wohnungen",
            ]],
            ["err_foo-12", 3, ["err", "foo", "12", "err_foo-12"]],
            ["v2.3.2", 4, ["v2", "3", "2", "v2.3.2"]],
          ] as const;
          for (const [query, place, matched] of cases) {
            const { results: [first, second] } = await ask(query, fused);
            assertEquals(first?.text, TEXTS[place]);
            assert((first?.relevance ?? 0) > (second?.relevance ?? 1), query);
            const found = first?.explanation?.matched ?? [];
            assertEquals(found, matched, query);
          }
          const plain = await ask("spare keys");
          assertEquals(plain.results[0]?.relevance, undefined);
          const distances = plain.results.map(({ distance }) => distance);
          assertEquals(
            distances.toSorted((one, other) => one - other),
            distances,
          );
          if (round === "before") await home.restart();
        }
      },
    );

    await t.step(
      "Mem finds turns of a conversation by words, speakers and what came before them",
      async () => {
        const mem = home.mem({ ranking: "fused" }, home.account(1));
        await mem.rememberBulkAndWait(TALK.map((text) => ({ text })));
        const cases = [
          ["When did Ann move?", 0],
          ["When did Ben move?", 1],
          ["What became of order 4711?", 5],
          ["Who bakes bread?", 3],
          ["Which bicycle did Ann buy?", 8],
          ["Did Ben sell a bicycle?", 7],
        ] as const;
        for (const [query, place] of cases) {
          const { results } = await mem.recall({
            query,
            explain: true,
            limit: 3,
          });
          const [first] = results;
          assertEquals(first?.text, TALK[place], query);
          assertEquals(
            first?.relevance,
            Math.max(...results.map(getRelevance)),
          );
          assert(getRelevance(first) >= 0.3, `${query} ${first?.relevance}`);
          const { parts = {}, matched = [] } = first?.explanation ?? {};
          assert(matched.length > 0 && (parts["words"] ?? 0) > 0, query);
          const sums = results.map(({ explanation }) =>
            Object.values(explanation?.parts ?? {}).reduce((sum, part) =>
              sum + part
            )
          );
          assertEquals(sums, sums.toSorted((one, other) => other - one), query);
        }
        const asked = await mem.recall({
          query: "When did Ann move?",
          explain: true,
        });
        for (const { text, explanation } of asked.results) {
          const speaker = explanation?.parts["speaker"] ?? 0;
          assertEquals(speaker > 0, text.startsWith("Ann:"), text);
        }
        const nothing = await mem.recall("Does Zoe play the trumpet?");
        for (const hit of nothing.results) {
          assert(getRelevance(hit) < 0.3, hit.text);
        }
        const { memories } = await mem.ask("Who bakes bread?");
        assertEquals(memories[0]?.text, TALK[3]);
        assert(getRelevance(memories[0]) >= 0.3);
      },
    );

    await t.step(
      "relayer refuses a ranking that it does not know, by the field's name",
      async () => {
        const client = home.wire(home.account(2));
        const vector = await home.mem({}, home.account(2)).embed("tea");
        const wrong = [
          ["/api/recall", { query: "tea", ranking: "best" }, "ranking"],
          ["/api/recall", { query: "tea", ranking: true }, "ranking"],
          ["/api/recall", { query: "tea", explain: "yes" }, "explain"],
          ["/api/ask", { question: "tea?", ranking: "" }, "ranking"],
          ["/api/ask", { question: "tea?", explain: 1 }, "explain"],
          ["/api/recall/manual", { vector, ranking: "fused" }, "no words"],
        ] as const;
        for (const [path, body, said] of wrong) {
          const { status, text } = await client.call("POST", path, body);
          assertEquals(status, 400, path);
          assertStringIncludes(text, said);
        }
        const absent = { query: "tea", ranking: null, explain: null };
        const { status } = await client.call("POST", "/api/recall", absent);
        assertEquals(status, 200);
      },
    );

    await t.step(
      "relayer explains the rank of a hundred memories for the longest question within bounds",
      async () => {
        const mem = home.mem({}, home.account(3));
        const words = Array.from(
          { length: 8_000 },
          (_, at) => `w${at.toString(36)}`,
        );
        const texts = Array.from(
          { length: 100 },
          (_, at) => words.slice(at * 10, at * 10 + 600).join(" "),
        );
        for (let at = 0; at < texts.length; at += 20) {
          const items = texts.slice(at, at + 20).map((text) => ({ text }));
          await mem.rememberBulkAndWait(items);
        }
        const query = words.join(" ").slice(0, 60_000);
        const { results } = await recallAll(() =>
          mem.recall({ query, limit: 100, ranking: "fused", explain: true })
        );
        assertEquals(results.length, 100);
        for (const { explanation, relevance = NaN } of results) {
          assert((explanation?.matched.length ?? 99) <= 64);
          assert(relevance >= 0 && relevance <= 1);
        }
      },
    );
  },
});

onStores({
  name: "relayer ranks as its settings say",
  // The steps share a relayer, each with an account of its own.
  timeout: 120_000,
  fn: async (storage, t) => {
    await using home = await RelayerHome.open({
      storage,
      accounts: 2,
      env: { RANKING: "fused" },
    });
    await t.step(
      "relayer ranks as RANKING says where a request does not",
      async () => {
        await home.mem().rememberAndWait(TEXTS[0]);
        const client = home.wire();
        const ask = async (more: object): Promise<Recalled> =>
          (await client.call("POST", "/api/recall", {
            query: "hazelnut",
            ...more,
          }))
            .json as Recalled;
        assert(((await ask({})).results[0]?.relevance ?? 0) > 0.3);
        const plain = await ask({ ranking: "semantic" });
        assertEquals(plain.results[0]?.relevance, undefined);
      },
    );

    await t.step(
      "Mem gets the ranking that the relayer has chosen unless it names one, and vectors rank by themselves",
      async () => {
        const mem = home.mem({}, home.account(1));
        await mem.rememberBulkAndWait(TALK.map((text) => ({ text })));
        const query = "Who bakes bread?";
        const chosen = await mem.recall({ query });
        assertEquals(chosen.results[0]?.text, TALK[3]);
        assert(getRelevance(chosen.results[0]) >= 0.3);
        const plain = home.mem({ ranking: "semantic" }, home.account(1));
        for (const client of [plain, mem]) {
          const { results } = await client.recall({
            query,
            ranking: "semantic",
          });
          const distances = results.map(({ distance }) => distance);
          assertEquals(
            distances,
            distances.toSorted((one, other) => one - other),
          );
          assertEquals(results.filter((hit) => "relevance" in hit), []);
        }
        assertEquals(
          (await plain.recall(query)).results.filter((hit) =>
            "relevance" in hit
          ),
          [],
        );
        const vector = await mem.embed(query);
        const { results } = await mem.recallManual({ vector });
        const distances = results.map(({ distance }) => distance);
        assertEquals(
          distances,
          distances.toSorted((one, other) => one - other),
        );
      },
    );
  },
});

/** A conversation. */
const TALK = [
  "Ann: I moved to Lisbon last March.",
  "Ben: I moved in with my brother yesterday.",
  "Ann: What do you do at weekends?",
  "Ben: I row on the lake, and I bake bread.",
  "Ann: My sister keeps bees on the roof.",
  "Ben: Our order 4711 from the bakery never came.",
  "Ann: Order 4712 came twice.",
  "Ben: I sold my bicycle to a neighbour.",
  "Ann: I bought a bicycle, a red one.",
  "Ben: Which colour did you want?",
  "Ann: Blue, but they had none.",
  "Ben: The lake freezes over in January.",
] as const;

function getRelevance(hit: RecallMemory | undefined): number {
  return hit?.relevance ?? NaN;
}
