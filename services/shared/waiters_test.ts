import { assertEquals } from "@std/assert";
import { FakeClock } from "../../tests/support/fake_clock.ts";
import { Waiters } from "./waiters.ts";

const REQUEST = {
  owner: "ada",
  key: "k",
  waitMs: 1_000,
  onGone: () => () => {},
};

/** Whether a wait is over, once promises had their turn. */
async function isOver(over: Promise<void>): Promise<boolean> {
  const pending = Promise.resolve().then(() => Promise.resolve(false));
  return await Promise.race([over.then(() => true), pending]);
}

Deno.test("Waiters.enter() begins a wait that ends when it is told, when the time is over or when the client has gone", async () => {
  const clock = new FakeClock();
  const waiters = new Waiters({ clock });
  let leaves = (): void => {};
  let listeners = 0;
  const onGone = (listener: () => void) => {
    leaves = listener;
    listeners++;
    return () => listeners--;
  };
  const ends: (() => void)[] = [
    () => waiters.tell("k"),
    () => clock.advance(1_000),
    () => leaves(),
    () => waiters.stop(),
  ];
  for (const end of ends) {
    const wait = waiters.enter({ ...REQUEST, onGone })!;
    waiters.tell("other");
    assertEquals(await isOver(wait.over), false);
    end();
    assertEquals(await isOver(wait.over), true);
    assertEquals([waiters.count, listeners], [1, 1]);
    wait.leave();
    assertEquals([waiters.count, listeners, clock.pendingTimers], [0, 0, 0]);
  }
  assertEquals(waiters.enter(REQUEST), undefined, "they were stopped");
});

Deno.test("Waiters.enter() begins no more waits than an owner, and all of them, may have", () => {
  const clock = new FakeClock();
  const waiters = new Waiters({ clock, maxOfOwner: 2, maxWaiters: 3 });
  const enter = (owner: string, waitMs = 1_000) =>
    waiters.enter({ ...REQUEST, owner, waitMs });
  const [first, second] = [enter("ada"), enter("ada")];
  assertEquals(enter("ada"), undefined);
  const third = enter("eve");
  assertEquals(enter("ben"), undefined);
  second?.leave();
  assertEquals(enter("ben", 0), undefined, "it does not wait");
  const fourth = enter("ada");
  for (const wait of [first, third, fourth]) wait?.leave();
  assertEquals([waiters.count, clock.pendingTimers], [0, 0]);
});
