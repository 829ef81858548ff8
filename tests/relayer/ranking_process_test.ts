import { assert, assertEquals } from "@std/assert";
import { RelayerHome } from "./relayer_home.ts";

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

Deno.test("relayer ranks by words and vectors where it is asked to, before and after a restart", async () => {
  await using home = await RelayerHome.open();
  const mem = home.mem();
  for (const text of TEXTS) await mem.rememberAndWait(text);
  const client = home.wire();
  const ask = async (query: string, more: object = {}): Promise<Recalled> => {
    const body = { query, ...more };
    const { status, json } = await client.call("POST", "/api/recall", body);
    assertEquals(status, 200);
    return json as Recalled;
  };
  for (const _ of ["before", "after"]) {
    const fused = { ranking: "fused", explain: true };
    const cases = [
      ["Where are the spare keys hanging?", 1, ["spare", "keys", "hanging"]],
      ["Wo sind die Schlüssel der Wohnungen?", 2, ["schlüssel", "wohnungen"]],
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
    assertEquals(distances.toSorted((one, other) => one - other), distances);
    await home.restart();
  }
});

Deno.test("relayer ranks as RANKING says where a request does not", async () => {
  await using home = await RelayerHome.open({ env: { RANKING: "fused" } });
  await home.mem().rememberAndWait(TEXTS[0]);
  const client = home.wire();
  const ask = async (more: object): Promise<Recalled> =>
    (await client.call("POST", "/api/recall", { query: "hazelnut", ...more }))
      .json as Recalled;
  assert(((await ask({})).results[0]?.relevance ?? 0) > 0.3);
  const plain = await ask({ ranking: "semantic" });
  assertEquals(plain.results[0]?.relevance, undefined);
});
