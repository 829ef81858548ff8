import { assert, assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { Expiries } from "./expiries.ts";

function hashOf(expiries: Expiries, name: string): number {
  const bytes = Buffer.from(`x${name}x`);
  return expiries.hash(bytes, 1, bytes.length - 1);
}

Deno.test("Expiries.isKnown() holds for learned counters alone, until they are forgotten", () => {
  const expiries = new Expiries();
  const [first, second] = [hashOf(expiries, "a"), hashOf(expiries, "b")];
  assertEquals(expiries.isKnown(first), false);
  expiries.learn(first, expiries.epoch);
  assertEquals(expiries.isKnown(hashOf(expiries, "a")), true);
  assertEquals(expiries.isKnown(second), false);
  expiries.forget();
  assertEquals(expiries.isKnown(first), false);
});

Deno.test("Expiries.learn() does not learn what was written before counters were forgotten", () => {
  const expiries = new Expiries();
  const hash = hashOf(expiries, "a");
  const before = expiries.epoch;
  expiries.forget();
  expiries.learn(hash, before);
  assertEquals(expiries.isKnown(hash), false);
  expiries.learn(hash, expiries.epoch);
  assertEquals(expiries.isKnown(hash), true);
});

Deno.test("Expiries.age() forgets after ten seconds", () => {
  const expiries = new Expiries();
  expiries.age(5_000);
  const hash = hashOf(expiries, "a");
  expiries.learn(hash, expiries.epoch);
  expiries.age(14_999);
  assertEquals(expiries.isKnown(hash), true);
  expiries.age(15_000);
  assertEquals(expiries.isKnown(hash), false);
});

Deno.test("Expiries.learn() keeps many counters in their places, the latest of each", () => {
  const expiries = new Expiries();
  const hashs = Array.from({ length: 200_000 }, (_, i) => {
    const hash = hashOf(expiries, `key ${i}`);
    expiries.learn(hash, expiries.epoch);
    assert(expiries.isKnown(hash), `key ${i}`);
    return hash;
  });
  const known = hashs.filter((hash) => expiries.isKnown(hash)).length;
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
