import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { FakeClock } from "../../tests/support/fake_clock.ts";
import {
  andThen,
  describeError,
  settle,
  waitAtMost,
  withheldPermission,
} from "./settled.ts";

Deno.test("settle() turns throws and rejections into values", async () => {
  const error = new Error("no");
  const throws = (): never => {
    throw error;
  };
  assertEquals(await settle(() => 1), { kind: "ok", value: 1 });
  assertEquals(await settle(() => Promise.resolve(2)), {
    kind: "ok",
    value: 2,
  });
  assertEquals(await settle(throws), { kind: "failed", error });
  assertEquals(await settle(() => Promise.reject(error)), {
    kind: "failed",
    error,
  });
});

Deno.test("waitAtMost() gives what came in time and leaves no timer", async () => {
  const clock = new FakeClock();
  const options = { clock, timeoutMs: 10 };
  assertEquals(await waitAtMost(Promise.resolve("x"), options), "x");
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("waitAtMost() gives late after the time", async () => {
  const clock = new FakeClock();
  const waiting = waitAtMost(new Promise(() => {}), { clock, timeoutMs: 10 });
  clock.advance(10);
  assertEquals(await waiting, "late");
});

Deno.test("describeError() gives the message, or the value as text", () => {
  assertEquals(describeError(new RangeError("too far")), "too far");
  assertEquals(describeError(new RangeError()), "RangeError");
  assertEquals(describeError("plain"), "plain");
  assertEquals(describeError(undefined), "undefined");
});

Deno.test("andThen() goes on in the same turn with a value that is at hand", () => {
  let seen: number | undefined;
  const value = andThen(2, (number) => {
    seen = number;
    return number * 3;
  });
  assertEquals([seen, value], [2, 6]);
});

Deno.test("andThen() takes values that are nothing for values", () => {
  for (const nothing of [undefined, null, 0, "", false]) {
    assertEquals(andThen(nothing, (value) => ({ value })), { value: nothing });
  }
});

Deno.test("andThen() goes on with a promise when it has its value", async () => {
  const later = Promise.withResolvers<number>();
  const seen: number[] = [];
  const value = andThen(later.promise, (number) => {
    seen.push(number);
    return `${number}`;
  });
  assertEquals([value instanceof Promise, seen], [true, []]);
  later.resolve(7);
  assertEquals([await value, seen], ["7", [7]]);
});

Deno.test("andThen() gives one promise when what comes next has to be waited for", async () => {
  const next = (number: number): Promise<number> => Promise.resolve(number + 1);
  assertEquals(await andThen(1, next), 2);
  assertEquals(await andThen(Promise.resolve(1), next), 2);
});

Deno.test("andThen() throws at once what the next step throws of a value at hand", () => {
  assertThrows(() => andThen(1, fail), RangeError, "no 1");
});

Deno.test("andThen() rejects with what the next step throws of a promise", async () => {
  let value: unknown;
  try {
    value = andThen(Promise.resolve(1), fail);
  } catch (error) {
    throw new Error("It was thrown at once", { cause: error });
  }
  await assertRejects(() => Promise.resolve(value), RangeError, "no 1");
});

Deno.test("andThen() does not go on with a promise that rejects", async () => {
  let isCalled = false;
  const value = andThen(Promise.reject(new TypeError("gone")), () => {
    isCalled = true;
  });
  await assertRejects(() => Promise.resolve(value), TypeError, "gone");
  assertEquals(isCalled, false);
});

function fail(number: number): never {
  throw new RangeError(`no ${number}`);
}

const WITHOUT = "the program was started without the permission ";

Deno.test("withheldPermission() says what was not permitted, from source and in an executable", () => {
  const cases: readonly (readonly [string, string])[] = [
    [
      'Requires read access to "/a b", run again with the --allow-read flag',
      `${WITHOUT}to read "/a b"`,
    ],
    [
      'Requires write access to "/x", specify the required permissions during ' +
      "compilation using `deno compile --allow-write`",
      `${WITHOUT}to write to "/x"`,
    ],
    [
      'Requires net access to "[::1]:80", run again with the --allow-net flag',
      `${WITHOUT}to connect to or listen on "[::1]:80"`,
    ],
    [
      "Requires env access, run again with the --allow-env flag",
      `${WITHOUT}to read variables`,
    ],
    [
      'Requires all access to "/proc/1/environ", run again with the --allow-all flag',
      '"/proc/1/environ" is a special file, which the program may not open',
    ],
    [
      "Requires --allow-run permissions to spawn subprocess with LD_PRELOAD",
      "the program was started without a permission that this needs",
    ],
  ];
  for (const [message, said] of cases) {
    assertEquals(withheldPermission(message), said);
  }
});

Deno.test({
  name: "describeError() names no flag for whatever the runtime withholds",
  permissions: {
    read: false,
    write: false,
    env: false,
    net: false,
    run: false,
  },
  async fn() {
    const { DatabaseSync } = await import("node:sqlite");
    const { readFileSync } = await import("node:fs");
    const acts: Readonly<Record<string, () => unknown>> = {
      "to read": () => Deno.readTextFileSync("/a"),
      'to read "': () => readFileSync("/a"),
      'to write to "': () => Deno.mkdirSync("/a"),
      "to read the variable": () => Deno.env.get("A"),
      "to connect": () => Deno.listen({ hostname: "127.0.0.1", port: 1 }),
      "to run": () => new Deno.Command("/bin/sh").outputSync(),
      // Opening a database asks for both.
      "without the permission": () => new DatabaseSync("/a"),
    };
    for (const [part, act] of Object.entries(acts)) {
      let said = "";
      try {
        act();
      } catch (error) {
        said = describeError(error);
      }
      assertEquals([said.includes(part), said.includes("--allow")], [
        true,
        false,
      ], `${part}: ${said}`);
    }
  },
});
