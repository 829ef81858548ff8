import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { BodyRoom } from "./read_body.ts";

const OPTIONS = { maxBytes: 100, maxWaitingBytes: 300, shortBytes: 10 };
const staying = () => () => {};

Deno.test("BodyRoom.take() lets no more be worked on at once than there is room for, however many ask", async () => {
  const random = new SeededRandom(71);
  for (let round = 0; round < 100; round++) {
    const room = new BodyRoom({
      ...OPTIONS,
      maxWaitingBytes: 1e9,
      clock: new FakeClock(),
    });
    let under = 0;
    await Promise.all(Array.from({ length: 40 }, async () => {
      const bytes = 11 + random.below(130);
      const key = random.pick(["a", "b", "c"]);
      const taken = await room.take({ key, bytes, onGone: staying });
      assert(taken.kind === "ok");
      assert(under === 0 || room.heldBytes <= 100, `${room.heldBytes}`);
      under++;
      for (let left = random.below(5); left > 0; left--) await undefined;
      under--;
      taken.release();
      taken.release();
    }));
    assertEquals([room.heldBytes, room.waitingBytes], [0, 0]);
  }
});

Deno.test("BodyRoom.take() leaves half of the room to other keys", async () => {
  const room = new BodyRoom({ ...OPTIONS, clock: new FakeClock() });
  const take = (key: string) =>
    Promise.resolve(room.take({ key, bytes: 50, onGone: staying }));
  const order: string[] = [];
  const first = await take("a");
  const [second, third, other, last] = ["a", "a", "b", "b"].map((key) =>
    take(key).then((taken) => {
      order.push(key);
      return taken;
    })
  );
  release((await other)!);
  await last;
  assertEquals(order, ["b", "b"], "they do not wait behind the first one");
  release(first);
  release((await second)!);
  await third;
  assertEquals(order, ["b", "b", "a", "a"]);
});

Deno.test("BodyRoom.take() refuses what would wait beyond the bound, waits too long or is not waited for", async () => {
  const clock = new FakeClock();
  const room = new BodyRoom({ ...OPTIONS, maxWaitMs: 100, clock });
  const held = await room.take({ key: "a", bytes: 100, onGone: staying });
  let leave = (): void => {};
  const gone = room.take({
    key: "a",
    bytes: 200,
    onGone(listener) {
      leave = listener;
      return () => {};
    },
  });
  const late = room.take({ key: "b", bytes: 90, onGone: staying });
  assertEquals(room.take({ key: "c", bytes: 11, onGone: staying }), {
    kind: "busy",
  });
  const short = await room.take({ key: "c", bytes: 10, onGone: staying });
  assertEquals(short.kind, "ok");
  leave();
  assertEquals((await gone).kind, "gone");
  await clock.advance(100);
  assertEquals((await late).kind, "busy");
  assertEquals([room.heldBytes, room.waitingBytes], [100, 0]);
  release(held);
  assertEquals(room.heldBytes, 0);
});

function release(
  outcome: Awaited<ReturnType<BodyRoom["take"]>>,
): void {
  assert(outcome.kind === "ok");
  outcome.release();
}
