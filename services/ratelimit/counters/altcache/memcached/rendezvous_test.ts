import { assert, assertEquals } from "@std/assert";
import { Rendezvous } from "./rendezvous.ts";

function named(count: number): { readonly name: string }[] {
  return Array.from(
    { length: count },
    (_, i) => ({ name: `10.0.0.${i}:11211` }),
  );
}

function keys(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `basic_key_${i}_1795219200`);
}

Deno.test("Rendezvous.choose() has no choice without candidates, and one with one", () => {
  assertEquals(new Rendezvous([]).choose("a"), undefined);
  assertEquals(new Rendezvous([{ name: "x" }]).choose("a"), { name: "x" });
});

Deno.test("Rendezvous.choose() does not depend on the order of the list", () => {
  const list = named(7);
  const there = new Rendezvous(list);
  const back = new Rendezvous([...list].reverse());
  for (const key of keys(2_000)) {
    assertEquals(there.choose(key)?.name, back.choose(key)?.name);
  }
});

Deno.test("Rendezvous.choose() gives every candidate about the same share", () => {
  for (const count of [2, 3, 5, 16]) {
    const all = keys(20_000);
    const shares = new Map<string, number>();
    const chosen = new Rendezvous(named(count));
    for (const key of all) {
      const { name } = chosen.choose(key)!;
      shares.set(name, (shares.get(name) ?? 0) + 1);
    }
    assertEquals(shares.size, count);
    const fair = all.length / count;
    for (const share of shares.values()) {
      assert(Math.abs(share - fair) < fair * 0.15, `${share} of ${fair}`);
    }
  }
});

Deno.test("Rendezvous.choose() moves about 1/n of the keys to a new candidate and no other", () => {
  for (const count of [2, 3, 9]) {
    const list = named(count);
    const before = new Rendezvous(list.slice(1));
    const after = new Rendezvous(list);
    const all = keys(20_000);
    let moved = 0;
    for (const key of all) {
      const now = after.choose(key)!.name;
      if (now === before.choose(key)!.name) continue;
      moved++;
      assertEquals(now, list[0]!.name);
    }
    const fair = all.length / count;
    assert(Math.abs(moved - fair) < fair * 0.15, `${moved} of ${fair}`);
  }
});

Deno.test("Rendezvous.choose() goes on choosing as it did", () => {
  const chosen = new Rendezvous(named(5));
  // Another choice in a later version would give every limit a second time.
  assertEquals(
    keys(8).map((key) => chosen.choose(key)!.name.slice(7, 8)).join(""),
    "00432344",
  );
});
