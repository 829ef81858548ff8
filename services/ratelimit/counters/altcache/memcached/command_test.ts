import { assertEquals, assertThrows } from "@std/assert";
import {
  addCommand,
  decrCommand,
  getCommand,
  incrCommand,
  versionCommand,
} from "./command.ts";

Deno.test("commands are written as the text protocol has them", () => {
  assertEquals(getCommand(["a", "b"]).text, "get a b\r\n");
  assertEquals(
    incrCommand("a", 2 ** 53 - 1).text,
    "incr a 9007199254740991\r\n",
  );
  assertEquals(decrCommand("a", 0).text, "decr a 0\r\n");
  assertEquals(
    addCommand("a", { value: "12", expiry: 60 }).text,
    "add a 0 60 2\r\n12\r\n",
  );
  assertEquals(versionCommand().text, "version\r\n");
});

Deno.test("commands refuse keys that would be taken for more than a key", () => {
  const keys = [
    "",
    "a b",
    "a\r\nflush_all",
    "a\n",
    "é",
    "\x7f",
    "k".repeat(251),
  ];
  for (const key of keys) {
    assertThrows(() => getCommand(["good", key]), RangeError);
    assertThrows(() => incrCommand(key, 1), RangeError);
    assertThrows(() => decrCommand(key, 1), RangeError);
    assertThrows(() => addCommand(key, { value: "1", expiry: 0 }), RangeError);
  }
  getCommand(["k".repeat(250)]);
});

Deno.test("commands refuse numbers and values that can't be written", () => {
  for (const number of [-1, 1.5, 2 ** 53, NaN, Infinity]) {
    assertThrows(() => incrCommand("a", number), RangeError);
    assertThrows(
      () => addCommand("a", { value: "1", expiry: number }),
      RangeError,
    );
  }
  for (const value of ["1\r\n", "é", "1".repeat(1_001)]) {
    assertThrows(() => addCommand("a", { value, expiry: 0 }), RangeError);
  }
});
