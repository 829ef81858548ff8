import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { soon } from "./soon.ts";

Deno.test("soon() goes on in the same turn with a value that is at hand", () => {
  let seen: number | undefined;
  const value = soon(2, (number) => {
    seen = number;
    return number * 3;
  });
  assertEquals([seen, value], [2, 6]);
});

Deno.test("soon() takes values that are nothing for values", () => {
  for (const nothing of [undefined, null, 0, "", false]) {
    assertEquals(soon(nothing, (value) => ({ value })), { value: nothing });
  }
});

Deno.test("soon() goes on with a promise when it has its value", async () => {
  const later = Promise.withResolvers<number>();
  const seen: number[] = [];
  const value = soon(later.promise, (number) => {
    seen.push(number);
    return `${number}`;
  });
  assertEquals([value instanceof Promise, seen], [true, []]);
  later.resolve(7);
  assertEquals([await value, seen], ["7", [7]]);
});

Deno.test("soon() gives one promise when what comes next has to be waited for", async () => {
  const next = (number: number): Promise<number> => Promise.resolve(number + 1);
  assertEquals(await soon(1, next), 2);
  assertEquals(await soon(Promise.resolve(1), next), 2);
});

Deno.test("soon() throws at once what the next step throws of a value at hand", () => {
  assertThrows(() => soon(1, fail), RangeError, "no 1");
});

Deno.test("soon() rejects with what the next step throws of a promise", async () => {
  let value: unknown;
  try {
    value = soon(Promise.resolve(1), fail);
  } catch (error) {
    throw new Error("It was thrown at once", { cause: error });
  }
  await assertRejects(() => Promise.resolve(value), RangeError, "no 1");
});

Deno.test("soon() does not go on with a promise that rejects", async () => {
  let isCalled = false;
  const value = soon(Promise.reject(new TypeError("gone")), () => {
    isCalled = true;
  });
  await assertRejects(() => Promise.resolve(value), TypeError, "gone");
  assertEquals(isCalled, false);
});

function fail(number: number): never {
  throw new RangeError(`no ${number}`);
}
