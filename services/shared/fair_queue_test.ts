import { assert, assertEquals, assertThrows } from "@std/assert";
import { FairQueue } from "./fair_queue.ts";

/** Takes and charges the next item, which is its own cost. */
function take(queue: FairQueue<number>): string | undefined {
  const next = queue.shift();
  if (next === undefined) return undefined;
  const { key, item } = next;
  queue.charge(key, item);
  return typeof key === "string" ? key : key.member;
}

function takeAll(queue: FairQueue<number>): string {
  let taken = "";
  for (let key = take(queue); key !== undefined; key = take(queue)) {
    taken += key;
  }
  return taken;
}

Deno.test("FairQueue.shift() gives the items of one key in the order they came", () => {
  const queue = new FairQueue<number>({ quantum: 1 });
  for (const item of [3, 1, 2]) queue.add("a", item);
  assertEquals([1, 2, 3].map(() => queue.shift()?.item), [3, 1, 2]);
  assertEquals(queue.shift(), undefined);
});

Deno.test("FairQueue.shift() alternates between keys whose items cost a quantum", () => {
  const queue = new FairQueue<number>({ quantum: 1 });
  for (const key of "aaaabbcc") queue.add(key, 1);
  assertEquals(takeAll(queue), "abcabcaa");
});

Deno.test("FairQueue.shift() passes over a key until what it owes is paid", () => {
  const queue = new FairQueue<number>({ quantum: 1 });
  for (const item of [4, 1, 1]) queue.add("a", item);
  for (let count = 0; count < 6; count++) queue.add("b", 1);
  assertEquals(takeAll(queue), "abbbbabab");
});

Deno.test("FairQueue.shift() lets a key that comes new go first, and only once", () => {
  const queue = new FairQueue<number>({ quantum: 1 });
  for (const key of "aabb") queue.add(key, 1);
  assertEquals([take(queue), take(queue)], ["a", "b"]);
  queue.add("c", 1);
  assertEquals(take(queue), "c");
  // The key gets another item before its round, so it is not new.
  queue.add("c", 1);
  assertEquals(takeAll(queue), "abc");
});

Deno.test("FairQueue.isAlone() tells whether another key waits or owes", () => {
  const queue = new FairQueue<string>({ quantum: 1 });
  assertEquals([queue.isAlone("a"), queue.isAlone("b")], [true, true]);
  queue.add("a", "1");
  assertEquals([queue.isAlone("a"), queue.isAlone("b")], [true, false]);
  queue.charge("b", 2);
  assertEquals(queue.isAlone("a"), false);
  queue.shift();
  assertEquals(queue.isAlone("a"), true);
});

Deno.test("FairQueue.add() puts an item ahead of those of its key that are not", () => {
  const queue = new FairQueue<string>({ quantum: 10 });
  queue.add("a", "first");
  queue.add("a", "ahead 1", true);
  queue.add("a", "ahead 2", true);
  assertEquals(queue.countWaiting("a"), 1);
  assertEquals([1, 2, 3].map(() => queue.shift()?.item), [
    "ahead 1",
    "ahead 2",
    "first",
  ]);
});

Deno.test("FairQueue.remove() takes an item out once, whether or not it was taken", () => {
  const queue = new FairQueue<number>({ quantum: 1 });
  const places = [1, 2, 3].map((item) => queue.add("a", item));
  const [first, second] = places;
  assert(first !== undefined && second !== undefined);
  assertEquals([queue.remove(second), queue.remove(second)], [true, false]);
  assertEquals([queue.peek()?.item, queue.shift()?.item], [1, 1]);
  assertEquals(queue.remove(first), false);
  assertEquals([queue.length, queue.shift()?.item, queue.length], [1, 3, 0]);
});

Deno.test("FairQueue.charge() leaves no trace of a key while nothing waits", () => {
  const queue = new FairQueue<number>({ quantum: 1 });
  queue.charge("a", 100);
  assertEquals([queue.keys, queue.owes("a")], [0, false]);
  queue.add("b", 1);
  queue.charge("a", 100);
  assertEquals([queue.keys, queue.owes("a")], [2, true]);
  queue.forgetDebts();
  assertEquals(queue.owes("a"), true);
  queue.shift();
  queue.forgetDebts();
  assertEquals([queue.keys, queue.owes("a")], [0, false]);
});

Deno.test("FairQueue forgets keys that have nothing waiting and owe nothing", () => {
  const queue = new FairQueue<number>({ quantum: 1 });
  for (let index = 0; index < 1_000; index++) queue.add(`key ${index}`, 0.5);
  for (let index = 0; index < 1_000; index++) take(queue);
  for (let count = 0; count < 5; count++) queue.add("a", 1);
  takeAll(queue);
  assertEquals(queue.keys, 1);
});

Deno.test("FairQueue forgives a key what it owes above the most", () => {
  const queue = new FairQueue<number>({ quantum: 1 });
  queue.add("a", 1_000_000);
  queue.add("a", 1);
  for (let count = 0; count < 1_010; count++) queue.add("b", 1);
  assertEquals(takeAll(queue), `a${"b".repeat(1_001)}a${"b".repeat(9)}`);
});

Deno.test("FairQueue gives all members of a group together what it gives one key", () => {
  const queue = new FairQueue<number>({ quantum: 1 });
  for (const member of "uvwxyz") {
    for (let count = 0; count < 3; count++) {
      queue.add({ group: "strangers", member }, 1);
    }
  }
  for (let count = 0; count < 9; count++) queue.add("A", 1);
  assertEquals(takeAll(queue), "uAvAwAxAyAzAuAvAwAxyzuvwxyz");
});

Deno.test("FairQueue makes members of a group pay one by one", () => {
  const queue = new FairQueue<number>({ quantum: 1 });
  const greedy = { group: "strangers", member: "g" };
  const modest = { group: "strangers", member: "m" };
  for (const item of [4, 4]) queue.add(greedy, item);
  const places = [1, 1, 1, 1, 1].map((item) => queue.add(modest, item));
  assertEquals([queue.countWaiting(greedy), queue.countWaiting(modest)], [
    2,
    5,
  ]);
  const [, , , , last] = places;
  assert(last !== undefined && queue.remove(last));
  assertEquals(takeAll(queue), "gmmmmg");
  queue.forgetDebts();
  assertEquals(queue.keys, 0);
});

Deno.test("FairQueue refuses a quantum that pays for nothing", () => {
  for (const quantum of [0, -1, NaN]) {
    assertThrows(() => new FairQueue({ quantum }), RangeError);
  }
});

/** A seeded source of numbers from 0 to 1. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}

Deno.test("FairQueue gives keys that always wait the same to within a quantum and an item", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const random = seeded(seed);
    const quantum = 1 + Math.floor(random() * 5);
    const queue = new FairQueue<number>({ quantum });
    const keys = Array.from({ length: 5 }, (_, index) => ({
      name: `key ${index}`,
      maxCost: 1 + Math.floor(random() * 20),
      used: 0,
    }));
    const addFor = (key: typeof keys[number]): void =>
      void queue.add(key.name, 1 + Math.floor(random() * key.maxCost));
    for (const key of keys) [1, 2].forEach(() => addFor(key));
    const maxCost = Math.max(...keys.map((key) => key.maxCost));
    for (let step = 0; step < 2_000; step++) {
      const next = queue.shift();
      const key = keys.find(({ name }) => name === next?.key);
      assert(next !== undefined && key !== undefined);
      queue.charge(next.key, next.item);
      key.used += next.item;
      addFor(key);
      const used = keys.map((one) => one.used);
      const spread = Math.max(...used) - Math.min(...used);
      assert(
        spread <= 2 * quantum + maxCost,
        `seed ${seed}, step ${step}: ${used} with a quantum of ${quantum}`,
      );
    }
  }
});

Deno.test("FairQueue lets no key wait longer than the others take for a round", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const random = seeded(seed);
    const queue = new FairQueue<number>({ quantum: 1 });
    let costSinceAdded = 0;
    let isWaiting = false;
    for (let step = 0; step < 5_000; step++) {
      for (const key of ["a", "b", "c"]) {
        if (queue.countWaiting(key) < 3) queue.add(key, random() * 10);
      }
      if (!isWaiting && random() < 0.05) {
        queue.add("little", 0.01);
        [isWaiting, costSinceAdded] = [true, 0];
      }
      const next = queue.shift();
      assert(next !== undefined);
      queue.charge(next.key, next.item);
      if (next.key === "little") isWaiting = false;
      else costSinceAdded += next.item;
      // An item of each of the others, which may be new keys as well.
      if (isWaiting) assert(costSinceAdded <= 3 * (10 + 1));
    }
  }
});
