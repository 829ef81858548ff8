import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { KeyLocks } from "./key_locks.ts";

const STAYING = { onGone: () => () => {} };

Deno.test("KeyLocks.acquire() lets all go in the order of asking, one of a name at a time", async () => {
  const random = new SeededRandom(51);
  for (let round = 0; round < 200; round++) {
    const locks = new KeyLocks({ clock: new FakeClock() });
    const begun = new Map<string, number[]>();
    const under = new Set<string>();
    let most = 0;
    await Promise.all(
      Array.from({ length: 30 }, async (_, index) => {
        const names = random.list(4, () => random.pick([..."abcde"]));
        const lock = await locks.acquire(names, STAYING);
        assert(lock.kind === "ok");
        const own = new Set(names);
        for (const name of own) {
          assert(!under.has(name), `two of ${name}`);
          under.add(name);
          begun.set(name, [...begun.get(name) ?? [], index]);
        }
        most = Math.max(most, under.size);
        for (let left = random.below(4); left > 0; left--) await undefined;
        for (const name of own) under.delete(name);
        lock.release();
      }),
    );
    for (const [name, order] of begun) {
      assertEquals(order, order.toSorted((a, b) => a - b), name);
    }
    assert(most > 1, "others do not wait");
    assertEquals(locks.size, 0);
  }
});

Deno.test("KeyLocks.acquire() ends with a refusal when it takes too long, too many wait or the client has gone", async () => {
  const clock = new FakeClock();
  const locks = new KeyLocks({ clock });
  const first = await locks.acquire(["a", "b"], STAYING);
  assert(first.kind === "ok");
  const gone = Promise.withResolvers<void>();
  const waiting = [
    locks.acquire(["a"], STAYING),
    locks.acquire(["b", "a"], {
      onGone(listener) {
        gone.promise.then(listener);
        return () => {};
      },
    }),
  ];
  const others = Array.from(
    { length: 998 },
    () => locks.acquire(["a"], STAYING),
  );
  assertEquals((await locks.acquire(["a"], STAYING)).kind, "busy");
  gone.resolve();
  assertEquals((await waiting[1]!).kind, "gone");
  await clock.advance(10_000);
  assertEquals((await waiting[0]!).kind, "busy");
  for (const other of others) assertEquals((await other).kind, "busy");
  first.release();
  assertEquals(locks.size, 0);
});

Deno.test("KeyLocks.acquire() gives the turn to the next when one that waits leaves", async () => {
  const locks = new KeyLocks({ clock: new FakeClock() });
  const first = await locks.acquire(["a"], STAYING);
  let leave = (): void => {};
  const second = locks.acquire(["a", "b"], {
    onGone(listener) {
      leave = listener;
      return () => {};
    },
  });
  const third: Awaited<ReturnType<KeyLocks["acquire"]>>[] = [];
  void locks.acquire(["b"], STAYING).then((lock) => third.push(lock));
  await undefined;
  assertEquals(third, []);
  leave();
  assertEquals((await second).kind, "gone");
  await undefined;
  assertEquals(third.map(({ kind }) => kind), ["ok"]);
  assert(first.kind === "ok");
  first.release();
});
