import { assertEquals, assertRejects } from "@std/assert";
import { GatheredCalls } from "./gathered_calls.ts";
import { StoreFailedError } from "../../shared/store_failed.ts";

type Options = Partial<
  ConstructorParameters<typeof GatheredCalls<string, string>>[0]
>;

/** Calls that are answered in capitals; `groups` says how they were run. */
function createCalls(options: Options = {}) {
  const groups: string[] = [];
  const calls = new GatheredCalls<string, string>({
    run(items) {
      groups.push(items.join(""));
      return Promise.resolve(items.map((item) => item.toUpperCase()));
    },
    busy: () => new RangeError("busy"),
    ...options,
  });
  return { calls, groups };
}

function callAll(
  calls: GatheredCalls<string, string>,
  items: string,
): Promise<string[]> {
  return Promise.all([...items].map((item) => calls.call(item)));
}

Deno.test("GatheredCalls runs the calls of a turn together, and answers each", async () => {
  const { calls, groups } = createCalls();
  const first = calls.call("a");
  await Promise.resolve();
  const rest = callAll(calls, "bc");
  assertEquals([await first, ...await rest], ["A", "B", "C"]);
  assertEquals(await calls.call("d"), "D");
  assertEquals(groups, ["abc", "d"]);
});

Deno.test("GatheredCalls bounds a group by its calls and by their weight", async () => {
  const few = createCalls({ maxGroup: 2 });
  await callAll(few.calls, "abcde");
  assertEquals(few.groups, ["ab", "cd", "e"]);
  const light = createCalls({
    weigh: (item) => item === "x" ? 9 : 2,
    maxGroupWeight: 5,
  });
  await callAll(light.calls, "abcxd");
  assertEquals(light.groups, ["ab", "c", "x", "d"]);
});

Deno.test("GatheredCalls runs at most so many groups at a time", async () => {
  for (const maxParallel of [1, 2]) {
    let underWay = 0;
    let most = 0;
    const { calls } = createCalls({
      maxParallel,
      maxGroup: 1,
      async run(items) {
        most = Math.max(most, ++underWay);
        await new Promise((resolve) => setTimeout(resolve, 0));
        underWay--;
        return items;
      },
    });
    assertEquals(await callAll(calls, "abcdef"), [..."abcdef"]);
    assertEquals(most, maxParallel);
  }
});

Deno.test("GatheredCalls refuses what is too much, but for one call by itself", async () => {
  const { calls } = createCalls({
    maxWaiting: 3,
    weigh: (item) => item === "x" ? 100 : 1,
    maxWaitingWeight: 50,
  });
  const heavy = calls.call("x");
  await assertRejects(() => calls.call("a"), RangeError, "busy");
  assertEquals(await heavy, "X");
  const three = callAll(calls, "abc");
  await assertRejects(() => calls.call("d"), RangeError, "busy");
  assertEquals(await three, ["A", "B", "C"]);
});

Deno.test("GatheredCalls runs a group that is refused call by call, and not one whose store failed", async () => {
  const groups: string[] = [];
  const { calls } = createCalls({
    run(items) {
      groups.push(items.join(""));
      if (items.includes("b")) throw new TypeError("b is refused");
      return Promise.resolve(items);
    },
  });
  const answers = await Promise.allSettled(
    [..."abc"].map((item) => calls.call(item)),
  );
  assertEquals(answers.map(({ status }) => status), [
    "fulfilled",
    "rejected",
    "fulfilled",
  ]);
  assertEquals(groups, ["abc", "a", "b", "c"]);
  let tries = 0;
  const failing = createCalls({
    run() {
      tries++;
      return Promise.reject(new StoreFailedError("gone"));
    },
  });
  await assertRejects(() => callAll(failing.calls, "ab"), StoreFailedError);
  assertEquals(tries, 1);
});

Deno.test("GatheredCalls.idle() waits for what waits and for what is under way", async () => {
  const { calls, groups } = createCalls({ maxGroup: 1 });
  await calls.idle();
  const all = callAll(calls, "abc");
  await calls.idle();
  assertEquals(groups, ["a", "b", "c"]);
  await all;
});
