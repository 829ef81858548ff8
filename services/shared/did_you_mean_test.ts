import { assertEquals } from "@std/assert";
import { nearest } from "./did_you_mean.ts";

const WORDS = ["domain", "descriptors", "rate_limit", "unit", "key"];

Deno.test("nearest() finds a word with one letter wrong, missing or added", () => {
  assertEquals(nearest("domein", WORDS), "domain");
  assertEquals(nearest("domin", WORDS), "domain");
  assertEquals(nearest("domaine", WORDS), "domain");
});

Deno.test("nearest() counts two swapped letters as one step", () => {
  assertEquals(nearest("kye", WORDS), "key");
  assertEquals(nearest("untis", ["units", "until"]), "units");
});

Deno.test("nearest() takes upper and lower case as the same", () => {
  assertEquals(nearest("DOMAIN", WORDS), "domain");
});

Deno.test("nearest() takes the closest, and the first of equals", () => {
  assertEquals(nearest("cart", ["card", "cart_id", "carts"]), "card");
  assertEquals(nearest("carts", ["cards", "carts"]), "carts");
});

Deno.test("nearest() gives undefined when nothing is close", () => {
  assertEquals(nearest("banana", WORDS), undefined);
  assertEquals(nearest("ab", ["cd", "a"]), undefined);
  assertEquals(nearest("", WORDS), undefined);
  assertEquals(nearest("domain", []), undefined);
});

Deno.test("nearest() does not compare words longer than 64 characters", () => {
  assertEquals(nearest("a".repeat(64), ["a".repeat(63)]), "a".repeat(63));
  assertEquals(nearest("a".repeat(65), ["a".repeat(64)]), undefined);
});
