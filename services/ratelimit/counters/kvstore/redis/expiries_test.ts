import { assert, assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { type CounterMark, Expiries } from "./expiries.ts";

function markOf(expiries: Expiries, name: string): CounterMark {
  const bytes = Buffer.from(`x${name}x`);
  return {
    hash: expiries.hash(bytes, 1, bytes.length - 1),
    tag: expiries.tag(bytes, 1, bytes.length - 1),
  };
}

Deno.test("Expiries.isKnown() holds for learned counters alone, until they are forgotten", () => {
  const expiries = new Expiries();
  const [first, second] = [markOf(expiries, "a"), markOf(expiries, "b")];
  assertEquals(expiries.isKnown(first), false);
  expiries.learn(first, expiries.epoch);
  assertEquals(expiries.isKnown(markOf(expiries, "a")), true);
  assertEquals(expiries.isKnown(second), false);
  assertEquals(expiries.isKnown({ ...first, tag: first.tag ^ 1 }), false);
  expiries.forget();
  assertEquals(expiries.isKnown(first), false);
});

Deno.test("Expiries.learn() does not learn what was written before counters were forgotten", () => {
  const expiries = new Expiries();
  const mark = markOf(expiries, "a");
  const before = expiries.epoch;
  expiries.forget();
  expiries.learn(mark, before);
  assertEquals(expiries.isKnown(mark), false);
  expiries.learn(mark, expiries.epoch);
  assertEquals(expiries.isKnown(mark), true);
});

Deno.test("Expiries.age() forgets after ten seconds", () => {
  const expiries = new Expiries();
  expiries.age(5_000);
  const mark = markOf(expiries, "a");
  expiries.learn(mark, expiries.epoch);
  expiries.age(14_999);
  assertEquals(expiries.isKnown(mark), true);
  expiries.age(15_000);
  assertEquals(expiries.isKnown(mark), false);
});

Deno.test("Expiries.learn() keeps many counters in their places, the latest of each", () => {
  const expiries = new Expiries();
  const marks = Array.from({ length: 200_000 }, (_, i) => {
    const mark = markOf(expiries, `key ${i}`);
    expiries.learn(mark, expiries.epoch);
    assert(expiries.isKnown(mark), `key ${i}`);
    return mark;
  });
  const known = marks.filter((mark) => expiries.isKnown(mark)).length;
  // Of three times as many counters as places, most places have one.
  assert(known > 60_000 && known <= 65_536, `${known} known`);
});

Deno.test("Expiries.owe() keeps the commands of 10,000 counters at most", () => {
  const expiries = new Expiries();
  assertEquals(expiries.owes, false);
  for (let i = 0; i < 12_000; i++) expiries.owe(Buffer.from(`c${i}`), 60);
  const owed = expiries.takeOwed();
  assertEquals(owed.length, 10_000);
  assertEquals(owed[0]!.map(String), ["EXPIRE", "c0", "60"]);
  assertEquals(expiries.owes, false);
  expiries.owe(Buffer.from("later"), 7);
  expiries.oweAgain(owed);
  const again = expiries.takeOwed();
  assertEquals(again.length, 10_000);
  assertEquals(again[0]!.map(String), ["EXPIRE", "later", "7"]);
});
