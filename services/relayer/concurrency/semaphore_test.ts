import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { BlobLocks, KeyedSemaphore, Semaphore } from "./semaphore.ts";

/** Work that ends when it is told to. */
function held() {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  return { work: () => promise, resolve, reject };
}

function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

Deno.test("Semaphore.run() lets in so many, the others in the order they came", async () => {
  const gate = new Semaphore(2);
  const begun: number[] = [];
  const jobs = [0, 1, 2, 3].map(() => held());
  const runs = jobs.map(({ work }, at) =>
    gate.run(() => {
      begun.push(at);
      return work();
    })
  );
  await turn();
  assertEquals(begun, [0, 1]);
  jobs[1]?.resolve("b");
  await turn();
  assertEquals(begun, [0, 1, 2]);
  jobs[2]?.resolve("c");
  await turn();
  assertEquals(begun, [0, 1, 2, 3]);
  jobs[0]?.resolve("a");
  jobs[3]?.resolve("d");
  assertEquals(await Promise.all(runs), ["a", "b", "c", "d"]);
});

Deno.test("Semaphore.run() lets keys in by turns", async () => {
  const gate = new Semaphore(1);
  const log: string[] = [];
  const enter = (key: string) =>
    gate.run(() => {
      log.push(key);
      return turn();
    }, { key });
  await Promise.all([..."aaaaab", ..."bc"].map(enter));
  // The first call was let in before any other waited, so key "a" leads by one.
  assertEquals(log.join(""), "aabcabaa");
});

Deno.test("Semaphore.run() gives the place on when work fails", async () => {
  const gate = new Semaphore(1);
  const failing = gate.run(() => Promise.reject(new TypeError("no")));
  const throwing = gate.run(() => {
    throw new TypeError("not even begun");
  });
  const next = gate.run(() => Promise.resolve("in"));
  await assertRejects(() => failing, TypeError, "no");
  await assertRejects(() => throwing, TypeError, "not even begun");
  assertEquals(await next, "in");
  assertEquals(await gate.run(() => Promise.resolve("again")), "again");
});

Deno.test("Semaphore.run() lets those go who wait no more, and loses no place by it", async () => {
  const gate = new Semaphore(1);
  const first = held();
  const running = gate.run(first.work);
  const controller = new AbortController();
  const reason = new TypeError("gone");
  let hasBegun = false;
  const leaving = gate.run(() => {
    hasBegun = true;
    return Promise.resolve();
  }, { signal: controller.signal });
  const patient = gate.run(() => Promise.resolve("in"), {
    signal: new AbortController().signal,
  });
  controller.abort(reason);
  await assertRejects(() => leaving, TypeError, "gone");
  first.resolve("done");
  assertEquals(await running, "done");
  assertEquals(await patient, "in");
  assertEquals(hasBegun, false);
  // The place is free again, and exactly one is.
  const [second, third] = [held(), held()];
  let begun = 0;
  const runs = [second, third].map(({ work }) =>
    gate.run(() => {
      begun++;
      return work();
    })
  );
  await turn();
  assertEquals(begun, 1);
  second.resolve("2");
  third.resolve("3");
  assertEquals(await Promise.all(runs), ["2", "3"]);
});

Deno.test("Semaphore.run() lets nobody in whose signal was aborted before", async () => {
  const gate = new Semaphore(1);
  const signal = AbortSignal.abort(new TypeError("gone"));
  await assertRejects(
    () => gate.run(() => Promise.resolve(), { signal }),
    TypeError,
    "gone",
  );
  assertEquals(await gate.run(() => Promise.resolve(1)), 1);
});

Deno.test("Semaphore has a place at least", () => {
  for (const places of [0, -1, NaN]) {
    assertThrows(() => new Semaphore(places), RangeError, `"${places}"`);
  }
});

Deno.test("KeyedSemaphore.run() leaves places for other keys", async () => {
  const gate = new KeyedSemaphore(3, 2);
  const begun: string[] = [];
  const works = Array.from("aaaabc", (key) => ({ key, ...held() }));
  const runs = works.map(({ key, work }) =>
    gate.run(() => {
      begun.push(key);
      return work();
    }, { key })
  );
  await turn();
  assertEquals(begun.join(""), "aab");
  works[4]?.resolve("b");
  await turn();
  assertEquals(begun.join(""), "aabc");
  for (const { resolve, key } of works) resolve(key);
  assertEquals((await Promise.all(runs)).join(""), "aaaabc");
  assertEquals(begun.join(""), "aabcaa");
});

Deno.test("KeyedSemaphore.run() passes failures on and ends waits", async () => {
  const gate = new KeyedSemaphore(1, 1);
  const first = held();
  const running = gate.run(first.work, { key: "a" });
  const ending = new AbortController();
  const { signal } = ending;
  const waits = ["a", "b"].map((key) =>
    gate.run(() => Promise.resolve("in"), { key, signal })
  );
  ending.abort(new RangeError("over"));
  for (const wait of waits) await assertRejects(() => wait, RangeError, "over");
  first.reject(new TypeError("no"));
  await assertRejects(() => running, TypeError, "no");
  const last = gate.run(() => Promise.resolve("in"), { key: "a" });
  assertEquals(await last, "in");
});

Deno.test("BlobLocks.run() does one after the other for a blob, in their order", async () => {
  const locks = new BlobLocks();
  const log: string[] = [];
  const work = (name: string) => async () => {
    log.push(`${name} begins`);
    await Promise.resolve();
    log.push(`${name} ends`);
  };
  await Promise.all([
    locks.run("x", work("a")),
    locks.run("x", work("b")),
    locks.run("y", work("c")),
  ]);
  assertEquals(log.filter((line) => !line.startsWith("c")), [
    "a begins",
    "a ends",
    "b begins",
    "b ends",
  ]);
  assertEquals(log.indexOf("c begins") < log.indexOf("a ends"), true);
});

Deno.test("BlobLocks.run() lets the next one in when one fails", async () => {
  const locks = new BlobLocks();
  const failing = locks.run("x", () => Promise.reject(new Error("no disk")));
  const next = locks.run("x", () => Promise.resolve(7));
  await assertRejects(() => failing, Error, "no disk");
  assertEquals(await next, 7);
});
