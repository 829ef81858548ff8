import { assert, assertEquals, assertThrows } from "@std/assert";
import { assertGrowth } from "../../tests/support/growth.ts";
import { eachRound } from "../../tests/support/rounds.ts";
import { BoundedMap } from "./bounded_map.ts";

/** A list, the entry used last at its end; each step walks over all of it. */
class Model {
  readonly #maxEntries: number;
  readonly #maxWeight: number;
  entries: readonly (readonly [key: number, value: string])[] = [];
  /** All values that left. */
  readonly left: string[] = [];

  constructor(maxEntries: number, maxWeight: number) {
    this.#maxEntries = maxEntries;
    this.#maxWeight = maxWeight;
  }

  get weight(): number {
    return this.entries.reduce((sum, [, value]) => sum + value.length, 0);
  }

  get(key: number): string | undefined {
    const entry = this.entries.find(([one]) => one === key);
    if (entry === undefined) return undefined;
    this.entries = [...this.entries.filter((one) => one !== entry), entry];
    return entry[1];
  }

  set(key: number, value: string): void {
    this.delete(key);
    this.entries = [...this.entries, [key, value]];
    if (value.length > this.#maxWeight) return void this.delete(key);
    while (
      this.entries.length > this.#maxEntries || this.weight > this.#maxWeight
    ) this.deleteOldest();
  }

  delete(key: number): boolean {
    const [entry] = this.entries.filter(([one]) => one === key);
    if (entry === undefined) return false;
    this.entries = this.entries.filter((one) => one !== entry);
    this.left.push(entry[1]);
    return true;
  }

  deleteOldest(): number | undefined {
    const key = this.entries[0]?.[0];
    if (key !== undefined) this.delete(key);
    return key;
  }
}

Deno.test("BoundedMap does what a list does, whatever happens", async () => {
  await eachRound({ rounds: 12 }, ({ random }) => {
    const maxEntries = 1 + random.below(12);
    const maxWeight = random.chance(0.5) ? 4 + random.below(40) : Infinity;
    const model = new Model(maxEntries, maxWeight);
    const left: string[] = [];
    const map = new BoundedMap<number, string>({
      maxEntries,
      maxWeight,
      weigh: (value) => value.length,
      onLeave: (value) => left.push(value),
    });
    for (let step = 0; step < 400; step++) {
      const key = random.below(20);
      const kind = random.below(20);
      if (kind < 9) {
        // No value comes twice, so that each can be found among those that
        // left.
        const value = `${step}${"x".repeat(random.below(6))}`;
        map.set(key, value);
        model.set(key, value);
      } else if (kind < 15) assertEquals(map.get(key), model.get(key));
      else if (kind < 17) {
        assertEquals(map.delete(key), model.delete(key));
      } else if (kind < 19) {
        const known = model.entries.find(([one]) => one === key)?.[1];
        assertEquals([map.peek(key), map.has(key)], [known, !!known]);
      } else if (random.chance(0.05)) {
        map.clear();
        while (model.deleteOldest() !== undefined);
      }
      assertEquals([...map], model.entries.map(([k, v]) => [k, v]));
      assertEquals(map.size, model.entries.length);
      assertEquals(map.weight, model.weight);
      assert(map.size <= maxEntries && map.weight <= maxWeight);
      assertEquals(left.toSorted(), model.left.toSorted());
    }
  });
});

Deno.test("BoundedMap.set() takes no other one's place when the key is there", () => {
  const map = new BoundedMap<string, number>({ maxEntries: 2 });
  map.set("a", 1);
  map.set("b", 2);
  map.set("b", 3);
  map.set("b", 4);
  assertEquals([...map], [["a", 1], ["b", 4]]);
});

Deno.test("BoundedMap lets entries be dropped while they are listed", () => {
  const map = new BoundedMap<number, number>({ maxEntries: 10 });
  for (let key = 0; key < 10; key++) map.set(key, key);
  const seen: number[] = [];
  for (const [key] of map) {
    seen.push(key);
    if (key % 2 === 0) map.delete(key);
  }
  assertEquals(seen, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assertEquals([...map].map(([key]) => key), [1, 3, 5, 7, 9]);
});

Deno.test("BoundedMap hands a value on when it leaves, and not while it stays", () => {
  const left: Uint8Array[] = [];
  const map = new BoundedMap<string, Uint8Array>({
    maxEntries: 2,
    onLeave: (value) => left.push(value.fill(0)),
  });
  const [a, b, c] = [1, 2, 3].map((byte) => Uint8Array.of(byte));
  map.set("a", a!);
  map.set("a", a!);
  map.set("b", b!);
  assertEquals(left, []);
  map.set("c", c!);
  assertEquals([map.get("a"), a], [undefined, Uint8Array.of(0)]);
  map.clear();
  assertEquals([b, c], [Uint8Array.of(0), Uint8Array.of(0)]);
  assertEquals(left.length, 3);
});

Deno.test("BoundedMap refuses a bound that is not a positive whole number", () => {
  for (const maxEntries of [0, -1, 1.5, NaN]) {
    assertThrows(() => new BoundedMap({ maxEntries }), RangeError, "whole");
  }
});

Deno.test("BoundedMap.set() takes no longer when 100,000 entries are kept", async () => {
  const inserts = (maxEntries: number): () => void => {
    const map = new BoundedMap<string, number>({ maxEntries });
    let next = 0;
    // A name as the caches of services have them, new each time.
    const insert = (): void => {
      const id = String(next++).padStart(24, "0");
      map.set(`credential\n01KAAAAAAAAAAAAAAAAAAAAAAA\ndk_${id}`, next);
    };
    while (next < 2 * maxEntries) insert();
    return () => {
      for (let count = 0; count < 1_000; count++) insert();
    };
  };
  await assertGrowth({
    small: inserts(1_000),
    large: inserts(100_000),
    atMost: 2,
    runs: 101,
  });
});
