import { assertEquals } from "@std/assert";
import { PublicTurns } from "./public_turns.ts";

/** Turns that a test ends by hand. */
class Bench {
  readonly begun: string[] = [];
  readonly turns: PublicTurns;
  #callbacks: (() => void)[] = [];

  constructor(maxBegun?: number) {
    this.turns = new PublicTurns({
      ...(maxBegun === undefined ? {} : { maxBegun }),
      inNextTurn: (callback) => void this.#callbacks.push(callback),
    });
  }

  get pendingCallbacks(): number {
    return this.#callbacks.length;
  }

  /** Requests, each a letter. */
  ask(names: string): void {
    for (const name of names) void this.#one(name);
  }

  /** Ends a turn of the event loop: what is called for later waits for the next one. */
  async endTurn(): Promise<void> {
    const callbacks = this.#callbacks;
    this.#callbacks = [];
    for (const callback of callbacks) callback();
    for (let step = 0; step < 3; step++) await Promise.resolve();
  }

  async #one(name: string): Promise<void> {
    const turn = this.turns.begin();
    if (turn !== undefined) await turn;
    this.begun.push(name);
  }

  /** All that have begun so far. */
  get text(): string {
    return this.begun.join("");
  }
}

Deno.test("PublicTurns.begin() lets a few begin at once and asks for no turn", () => {
  const bench = new Bench(3);
  bench.ask("ab");
  assertEquals([bench.text, bench.pendingCallbacks], ["ab", 0]);
});

Deno.test("PublicTurns.begin() lets 16 begin at once unless it is told otherwise", () => {
  const bench = new Bench();
  bench.ask("abcdefghijklmnopqrst");
  assertEquals(bench.text, "abcdefghijklmnop");
});

Deno.test("PublicTurns.begin() keeps others back until two turns are over", async () => {
  const bench = new Bench(2);
  bench.ask("abcd");
  assertEquals(bench.text, "ab");
  await bench.endTurn();
  assertEquals(bench.text, "ab");
  await bench.endTurn();
  assertEquals(bench.text, "abcd");
});

Deno.test("PublicTurns.begin() lets everybody begin in the order of asking", async () => {
  const bench = new Bench(2);
  bench.ask("abcdefg");
  const seen: string[] = [];
  for (let turn = 0; turn < 12 && bench.text.length < 9; turn++) {
    await bench.endTurn();
    // Who comes while others wait is behind them.
    if (turn === 0) bench.ask("h");
    if (turn === 2) bench.ask("i");
    if (seen.at(-1) !== bench.text) seen.push(bench.text);
  }
  assertEquals(seen, ["ab", "abcd", "abcdef", "abcdefgh", "abcdefghi"]);
});

Deno.test("PublicTurns.begin() lets nobody pass who came while a turn was full", async () => {
  const bench = new Bench(1);
  bench.ask("ab");
  await bench.endTurn();
  const callbackTurn = bench.endTurn();
  // The turn has been dealt to "b", but "b" has not gone on yet.
  bench.ask("c");
  await callbackTurn;
  assertEquals(bench.text, "ab");
  await bench.endTurn();
  await bench.endTurn();
  assertEquals(bench.text, "abc");
});

Deno.test("PublicTurns.begin() begins at once again when nobody waits", async () => {
  const bench = new Bench(2);
  bench.ask("abc");
  await bench.endTurn();
  await bench.endTurn();
  assertEquals(bench.text, "abc");
  // One of two places of the turn is left.
  bench.ask("d");
  assertEquals([bench.text, bench.pendingCallbacks], ["abcd", 1]);
  await bench.endTurn();
  await bench.endTurn();
  assertEquals(bench.pendingCallbacks, 0);
  bench.ask("ef");
  assertEquals(bench.text, "abcdef");
});

Deno.test("PublicTurns.begin() begins every one of a crowd by the event loop", async () => {
  const turns = new PublicTurns({ maxBegun: 4 });
  const begun: number[] = [];
  await Promise.all(Array.from({ length: 50 }, async (_, index) => {
    await turns.begin();
    begun.push(index);
  }));
  assertEquals(begun, Array.from({ length: 50 }, (_, index) => index));
});

Deno.test("PublicTurns.release() begins all that wait, and later ones at once", async () => {
  const bench = new Bench(1);
  bench.ask("abc");
  bench.turns.release();
  await bench.endTurn();
  assertEquals(bench.text, "abc");
  bench.ask("de");
  assertEquals(bench.text, "abcde");
});
