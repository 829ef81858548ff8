import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { type ConnectionPlace, ConnectionTurns } from "./connection_turns.ts";

/** Turns with a clock that reading advances, and polls that a test triggers. */
class World {
  nowMs = 0;
  /** Reads that were done, by the reader's name. */
  readonly log: string[] = [];
  #looks: (() => void)[] = [];
  readonly turns = new ConnectionTurns({
    monotonicMs: () => this.nowMs,
    afterLook: (callback) => this.#looks.push(callback),
  });

  get isLooking(): boolean {
    return this.#looks.length > 0;
  }

  look(): void {
    const looks = this.#looks;
    this.#looks = [];
    for (const callback of looks) callback();
  }

  /** A connection whose bytes each take so many frames of so long. */
  connection(name: string, frameMs: number): Connection {
    return new Connection(this, name, frameMs);
  }
}

class Connection {
  readonly place: ConnectionPlace;
  readonly #world: World;
  readonly #name: string;
  readonly #frameMs: number;
  #left = 0;

  constructor(world: World, name: string, frameMs: number) {
    this.#world = world;
    this.#name = name;
    this.#frameMs = frameMs;
    this.place = world.turns.place(this);
  }

  /** Whether all that came was read. */
  get isPaused(): boolean {
    return this.#left > 0;
  }

  receive(bytes: Uint8Array): void {
    this.#left += bytes.length;
    this.resume();
  }

  resume(): void {
    while (this.#left > 0) {
      this.#left--;
      this.#world.nowMs += this.#frameMs;
      this.#world.log.push(this.#name);
      if (this.#world.turns.isOver) return;
    }
  }

  /** Bytes come; each is a frame. */
  come(frames: number, isAll = true): Promise<void> | undefined {
    return this.place.receive(new Uint8Array(frames), { isAll });
  }
}

Deno.test("ConnectionTurns reads at once what takes little time", () => {
  const world = new World();
  const one = world.connection("one", 0.01);
  for (let round = 0; round < 1_000; round++) {
    assertEquals(one.come(10), undefined);
  }
  assertEquals([world.log.length, world.isLooking], [10_000, false]);
});

Deno.test("ConnectionTurns looks at the sockets after four milliseconds of reading", async () => {
  const world = new World();
  const greedy = world.connection("greedy", 0.5);
  const wait = greedy.come(20);
  assert(wait !== undefined);
  assertEquals([world.log.length, world.isLooking], [8, true]);
  world.look();
  assertEquals([world.log.length, world.isLooking], [16, true]);
  world.look();
  await wait;
  assertEquals([world.log.length, world.isLooking], [20, false]);
});

Deno.test("ConnectionTurns reads an honest connection before a greedy one goes on for long", async () => {
  const world = new World();
  const greedy = Array.from(
    { length: 20 },
    (_, at) => world.connection(`greedy ${at}`, 0.1),
  );
  const waits = greedy.map((connection) => connection.come(300));
  for (let round = 0; round < 3; round++) world.look();
  const honest = world.connection("honest", 0.1);
  const comeMs = world.nowMs;
  const wait = honest.come(1);
  while (!world.log.includes("honest")) world.look();
  await wait;
  assert(world.nowMs - comeMs < 20, `${world.nowMs - comeMs} ms`);
  while (world.isLooking) world.look();
  await Promise.all(waits);
  assertEquals(world.log.length, 20 * 300 + 1);
});

Deno.test("ConnectionTurns reads everything, in order, however connections compete", async () => {
  for (const seed of [1, 2, 3]) {
    const random = new SeededRandom(seed);
    const world = new World();
    const connections = Array.from(
      { length: 8 },
      (_, at) => world.connection(`${at}`, 0.01 + random.next()),
    );
    let frames = 0;
    const feed = async (connection: Connection): Promise<void> => {
      for (let round = 0; round < 20; round++) {
        const count = random.below(30);
        frames += count;
        await connection.come(count, random.chance(0.5));
      }
    };
    const fed = Promise.all(connections.map(feed));
    let isDone = false;
    void fed.then(() => isDone = true);
    while (!isDone) {
      world.look();
      await Promise.resolve();
    }
    assertEquals(world.log.length, frames);
    assertEquals(world.isLooking, false);
  }
});

Deno.test("ConnectionTurns gives connections that compete the same time", () => {
  const world = new World();
  const slow = world.connection("slow", 0.3);
  const quick = world.connection("quick", 0.02);
  void slow.come(1_000);
  void quick.come(15_000);
  for (let round = 0; round < 40; round++) world.look();
  const slowMs = world.log.filter((name) => name === "slow").length * 0.3;
  const quickMs = world.log.filter((name) => name === "quick").length * 0.02;
  assert(Math.abs(slowMs - quickMs) < 10, `${slowMs} and ${quickMs} ms`);
});
