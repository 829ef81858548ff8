import { assertEquals, assertRejects } from "@std/assert";
import { StoreFailedError } from "../../../shared/store_failed.ts";
import { inOnePiece, type PiecewiseRead, ReadTurns } from "./read_turns.ts";

/** Opens turns with a clock and an event loop that the test controls. */
function open() {
  const loop: (() => void)[] = [];
  const world = { nowMs: 0, done: [] as string[] };
  const turns = new ReadTurns({
    monotonicMs: () => world.nowMs,
    inNextTurn(callback) {
      loop.push(callback);
      return () => void loop.splice(loop.indexOf(callback), 1);
    },
    turnMs: 3,
  });
  return Object.assign(world, {
    turns,
    /** A read of several pieces that take one millisecond each. */
    *read(name: string, pieces: number): PiecewiseRead<string> {
      for (let piece = 1; piece <= pieces; piece++) {
        if (piece > 1) yield;
        world.nowMs += 1;
        world.done.push(`${name}${piece}`);
      }
      return name;
    },
    /** Runs one turn of the event loop; returns what was done in it. */
    turn(): string {
      world.done = [];
      for (const callback of loop.splice(0)) callback();
      return world.done.join(" ");
    },
  });
}

Deno.test("ReadTurns.run() answers at once what takes no time", async () => {
  const { turns, read, done, turn } = open();
  const answer = turns.run("a", read("x", 2));
  assertEquals(done, ["x1", "x2"]);
  assertEquals(await answer, "x");
  assertEquals(turn(), "");
});

Deno.test("ReadTurns.run() lets the event loop go on after some milliseconds", async () => {
  const world = open();
  const answer = world.turns.run("a", world.read("x", 8));
  assertEquals(world.done, ["x1", "x2", "x3"]);
  assertEquals(world.turn(), "x4 x5 x6");
  assertEquals(world.turn(), "x7 x8");
  assertEquals(await answer, "x");
});

Deno.test("ReadTurns.run() lets many short reads wait, too, when their time is spent", async () => {
  const world = open();
  const answers = Array.from(
    { length: 7 },
    (_, index) => world.turns.run("a", world.read(`${index}.`, 1)),
  );
  assertEquals(world.done, ["0.1", "1.1", "2.1"]);
  assertEquals(world.turn(), "3.1 4.1 5.1");
  assertEquals(world.turn(), "6.1");
  assertEquals((await Promise.all(answers)).length, 7);
});

Deno.test("ReadTurns.run() gives tenants turns, and the reads of each", async () => {
  const world = open();
  const answers = [
    world.turns.run("a", world.read("x", 6)),
    world.turns.run("a", world.read("y", 2)),
    world.turns.run("b", world.read("z", 2)),
  ];
  assertEquals(world.turn(), "x4 z1 y1");
  assertEquals(world.turn(), "z2 x5 y2");
  assertEquals(world.turn(), "x6");
  assertEquals(await Promise.all(answers), ["x", "y", "z"]);
});

Deno.test("ReadTurns.run() rejects what throws and goes on with the others", async () => {
  const world = open();
  const { turns } = world;
  const long = turns.run("a", world.read("x", 4));
  const bad = turns.run(
    "a",
    inOnePiece(() => {
      throw new RangeError("nonsense");
    }),
  );
  const good = turns.run("a", world.read("y", 1));
  assertEquals(world.turn(), "x4 y1");
  await assertRejects(() => bad, RangeError, "nonsense");
  assertEquals(await Promise.all([long, good]), ["x", "y"]);
});

Deno.test("ReadTurns.close() ends what waits, which closes what it has opened", async () => {
  const world = open();
  let isOpen = false;
  function* holding(): PiecewiseRead<void> {
    isOpen = true;
    try {
      yield* world.read("x", 9);
    } finally {
      isOpen = false;
    }
  }
  const read = world.turns.run("a", holding());
  assertEquals(isOpen, true);
  world.turns.close();
  assertEquals(isOpen, false);
  await assertRejects(() => read, StoreFailedError, "the store is closed");
  await assertRejects(
    () => world.turns.run("a", world.read("y", 1)),
    StoreFailedError,
  );
  assertEquals(world.turn(), "");
});
