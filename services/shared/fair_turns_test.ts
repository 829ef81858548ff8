import { assert, assertEquals } from "@std/assert";
import { FairTurns, type Turn } from "./fair_turns.ts";

/**
 * An event loop whose rounds a test ends by hand, and a clock that work
 * advances.
 */
class Loop {
  nowMs = 0;
  /** How often the sockets were polled while there was work. */
  looks = 0;
  readonly turns: FairTurns;
  /** What has run, in order. */
  readonly log: string[] = [];
  readonly usedMs = new Map<string, number>();
  #callbacks: (() => void)[] = [];

  constructor(options: ConstructorParameters<typeof FairTurns>[0] = {}) {
    this.turns = new FairTurns({
      monotonicMs: () => this.nowMs,
      later: (callback) => void this.#callbacks.push(callback),
      afterLook: (callback) => {
        this.looks++;
        this.#callbacks.push(callback);
      },
      ...options,
    });
  }

  get callbacks(): number {
    return this.#callbacks.length;
  }

  get text(): string {
    return this.log.join("");
  }

  /** Holds the thread. */
  work(key: string, ms: number): void {
    this.nowMs += ms;
    this.log.push(key);
    this.usedMs.set(key, (this.usedMs.get(key) ?? 0) + ms);
  }

  /** Asks for a turn and works; tells what became of it. */
  async ask(key: string, ms = 0.1, pieces = 1): Promise<Turn | undefined> {
    const soon = this.turns.begin(key);
    const outcome = soon instanceof Promise ? await soon : soon;
    if (outcome.kind !== "ok") return undefined;
    this.work(key, ms);
    for (let piece = 1; piece < pieces; piece++) {
      await outcome.turn.pause();
      this.work(key, ms);
    }
    return outcome.turn;
  }

  /** Asks for several turns, each letter a key. */
  askAll(keys: string, ms?: number): void {
    for (const key of keys) void this.ask(key, ms);
  }

  /**
   * Runs what is to be called back; what that leads to waits for the next
   * round.
   */
  async round(): Promise<void> {
    const callbacks = this.#callbacks;
    this.#callbacks = [];
    for (const callback of callbacks) {
      callback();
      await settled();
    }
  }

  /** Runs until nothing is left to do. */
  async end(): Promise<void> {
    for (let round = 0; this.#callbacks.length > 0; round++) {
      assert(round < 100_000, "the rounds never end");
      await this.round();
    }
  }
}

async function settled(): Promise<void> {
  for (let step = 0; step < 5; step++) await Promise.resolve();
}

Deno.test("FairTurns.begin() begins at once when nothing runs", () => {
  const loop = new Loop();
  assert(!(loop.turns.begin("a") instanceof Promise));
  assertEquals([loop.callbacks, loop.turns.keys], [1, 0]);
});

Deno.test("FairTurns.begin() begins work of one key in a callback", async () => {
  const loop = new Loop();
  loop.askAll("abc");
  assertEquals([loop.text, loop.callbacks], ["a", 2]);
  await loop.round();
  assertEquals(loop.text, "abc");
  await loop.end();
  assertEquals(loop.turns.keys, 0);
});

Deno.test("FairTurns.begin() begins short work of a key together, and long work alone", async () => {
  for (
    const [ms, least, most] of [[0.05, 60, 63], [0.5, 10, 20], [
      4,
      1,
      3,
    ]] as const
  ) {
    const loop = new Loop({ roundMs: 8, maxBegun: 64 });
    // Until it is known how long the work usually takes.
    loop.askAll("a".repeat(500), ms);
    await loop.end();
    loop.askAll("a".repeat(101), ms);
    const first = loop.log.length;
    await loop.round();
    const begun = loop.log.length - first;
    assert(begun >= least && begun <= most, `${begun} of ${ms} ms`);
    await loop.end();
  }
});

Deno.test("FairTurns has shorter rounds and looks for a second after the key has changed", async () => {
  const looksOf = async (keys: string): Promise<number> => {
    const loop = new Loop({ roundMs: 4, lookMs: 4 });
    loop.askAll(keys, 0.5);
    await loop.end();
    return loop.looks;
  };
  const alone = await looksOf("a".repeat(100));
  const shared = await looksOf("b" + "a".repeat(100));
  assert(shared >= 2 * alone, `${shared} and ${alone}`);
});

Deno.test("FairTurns charges each of those that begin together its part of the time", async () => {
  const loop = new Loop();
  loop.askAll("a".repeat(500), 0.05);
  await loop.end();
  loop.askAll("a", 0.05);
  const turns = Promise.all([loop.ask("a", 0.1), loop.ask("a", 0.3)]);
  await loop.end();
  assertEquals(
    (await turns).map((turn) => turn?.usedMs.toFixed(2)),
    ["0.20", "0.20"],
  );
});

Deno.test("FairTurns.begin() keeps others back until two rounds are over", async () => {
  const loop = new Loop({ maxBegun: 2 });
  loop.askAll("aaaaa");
  const seen: string[] = [];
  for (let round = 0; round < 6; round++) {
    await loop.round();
    seen.push(loop.text);
  }
  assertEquals(seen, ["aa", "aa", "aaaa", "aaaa", "aaaaa", "aaaaa"]);
  assertEquals(loop.callbacks, 0);
});

Deno.test("FairTurns.begin() begins nothing more in a round that took its time", async () => {
  const loop = new Loop({ roundMs: 1, maxBegun: 100 });
  loop.askAll("abcde", 0.5);
  await loop.round();
  assertEquals(loop.text, "ab");
  await loop.end();
  assertEquals(loop.text, "abcde");
});

Deno.test("FairTurns.begin() begins at once again when nothing waits", async () => {
  const loop = new Loop({ maxBegun: 2 });
  loop.askAll("aaa");
  await loop.end();
  loop.askAll("b");
  assertEquals(loop.text, "aaab");
  await loop.end();
  assertEquals(loop.turns.keys, 0);
});

Deno.test("FairTurns.begin() lets a key that asks little go before one that asks much", async () => {
  const loop = new Loop({ maxBegun: 1 });
  loop.askAll("aaaaaaaaaa", 1);
  await loop.round();
  loop.askAll("b");
  await loop.round();
  await loop.round();
  assertEquals(loop.text, "ab");
});

Deno.test("FairTurns.begin() refuses what is more than may wait, of that key alone", async () => {
  const loop = new Loop({ maxWaitingPerKey: 3 });
  loop.askAll("aaaa");
  const refused = await loop.turns.begin("a");
  assertEquals(refused, { kind: "refused", retryAfterMs: 1_000 });
  loop.askAll("b");
  await loop.end();
  assertEquals([...loop.text].sort().join(""), "aaaab");
});

Deno.test("FairTurns.begin() lets work go whose client went away", async () => {
  const loop = new Loop({ maxWaitingPerKey: 1 });
  const listeners: (() => void)[] = [];
  let ended = 0;
  const client = {
    onGone(listener: () => void) {
      listeners.push(listener);
      return () => void ended++;
    },
  };
  loop.askAll("a");
  const waiting = loop.turns.begin("a", client);
  assert(waiting instanceof Promise);
  listeners.forEach((listener) => listener());
  assertEquals(await waiting, { kind: "gone" });
  // Its place is free.
  const next = loop.turns.begin("a", client);
  await loop.end();
  const outcome = await next;
  assertEquals([outcome.kind, ended], ["ok", 1]);
  // The client leaves after its work has begun.
  listeners.forEach((listener) => listener());
  await loop.end();
});

Deno.test("FairTurns.begin() lets work go whose client had gone before", async () => {
  const loop = new Loop();
  loop.askAll("a");
  const gone = {
    onGone(listener: () => void) {
      listener();
      return () => {};
    },
  };
  assertEquals(await loop.turns.begin("a", gone), { kind: "gone" });
  await loop.end();
  assertEquals([loop.text, loop.turns.keys], ["a", 0]);
});

Deno.test("FairTurns.release() begins all that waits, and later work at once", async () => {
  const loop = new Loop({ maxBegun: 1 });
  loop.askAll("abc");
  loop.turns.release();
  await settled();
  loop.askAll("de");
  assertEquals(loop.text, "abcde");
  await loop.end();
});

Deno.test("Turn.waitedMs tells how long work waited for all its turns", async () => {
  const loop = new Loop({ maxBegun: 1 });
  const begun = await loop.turns.begin("a");
  const waiting = loop.ask("b", 2, 2);
  loop.askAll("aa", 4);
  loop.work("a", 0.5);
  await loop.end();
  assert(begun.kind === "ok");
  const later = await waiting;
  assertEquals([begun.turn.waitedMs, later?.waitedMs], [0, 0.5 + 4]);
  assertEquals([begun.turn.usedMs, later?.usedMs], [0.5, 2 * 2]);
  assertEquals(loop.text, "ababa");
});

Deno.test("Turn.pause() lets work that is alone go on, but for looks at the sockets", async () => {
  const loop = new Loop({ roundMs: 2 });
  void loop.ask("a", 0.5, 9);
  await settled();
  assertEquals(loop.text, "aaaa");
  await loop.end();
  assertEquals(loop.text, "aaaaaaaaa");
});

Deno.test("Turn.pause() lets others go first after a piece, and then goes before its own kind", async () => {
  const loop = new Loop({ roundMs: 100 });
  void loop.ask("a", 0.5, 4);
  const begins = ["A", "B"].map((name) => loop.turns.begin(name.toLowerCase()));
  void begins.map(async (begin, index) => {
    await begin;
    loop.work("AB"[index] ?? "", 0.1);
  });
  await settled();
  await loop.end();
  assertEquals(loop.text, "aaBaaA");
});

Deno.test("Turn.pause() lets work go on within its piece though others wait", async () => {
  const loop = new Loop();
  void loop.ask("a", 0.1, 5);
  loop.askAll("b");
  await settled();
  assertEquals(loop.text, "aaaaa");
  await loop.end();
  assertEquals(loop.text, "aaaaab");
});

Deno.test("Turn.pause() asks for a turn again after a wait", async () => {
  const loop = new Loop();
  const turn = await loop.ask("a");
  await loop.end();
  loop.askAll("b");
  const wait = turn?.pause();
  assert(wait instanceof Promise);
  let hasGoneOn = false;
  void wait.then(() => hasGoneOn = true);
  await loop.end();
  assert(hasGoneOn);
});

Deno.test("Turn.pause() may be called again while the work waits", async () => {
  const loop = new Loop();
  const turn = await loop.ask("a");
  await loop.end();
  loop.askAll("b");
  await Promise.all([turn?.pause(), turn?.pause(), loop.end()]);
  assertEquals(loop.turns.keys, 0);
});

Deno.test("Turn.moveTo() charges what follows to another key", async () => {
  const loop = new Loop({ maxBegun: 1 });
  const begun = await loop.turns.begin("stranger");
  assert(begun.kind === "ok");
  loop.askAll("sab");
  loop.nowMs += 0.2;
  begun.turn.moveTo("a");
  assertEquals(begun.turn.key, "a");
  loop.nowMs += 50;
  await loop.end();
  // The key "a" owes more than any other.
  assertEquals(loop.text, "sba");
});

Deno.test("Turn.measure() charges what follows a wait to the key, and not to what runs", async () => {
  const loop = new Loop({ maxBegun: 1 });
  const turn = await loop.ask("a");
  await loop.end();
  const begun = await loop.turns.begin("b");
  assert(begun.kind === "ok");
  loop.askAll("ab");
  assertEquals(turn?.measure(() => loop.nowMs += 50), loop.nowMs);
  await loop.end();
  assertEquals(loop.text, "aba");
});

/** A seeded source of numbers from 0 to 1. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}

Deno.test("FairTurns shares the time equally whatever the keys ask for", async () => {
  for (let seed = 1; seed <= 10; seed++) {
    const random = seeded(seed);
    const loop = new Loop();
    let isOver = false;
    const clients = ["a", "b", "c"].flatMap((key) => {
      const ms = 0.05 + random() * 4;
      const pieces = 1 + Math.floor(random() * 5);
      // Enough of them that some always wait.
      return Array.from({ length: 5 + Math.floor(random() * 40) }, async () => {
        while (!isOver) await loop.ask(key, ms, pieces);
      });
    });
    for (let round = 0; round < 1_000; round++) await loop.round();
    const used = [...loop.usedMs.values()];
    isOver = true;
    await loop.end();
    await Promise.all(clients);
    const spread = Math.max(...used) - Math.min(...used);
    // A piece runs past its end by one slice, and rounds end between keys.
    assert(used.length === 3 && spread <= 2 * (1 + 4.05), `${seed}: ${used}`);
  }
});

Deno.test("FairTurns makes one that asks now and then wait for a piece of each other key", async () => {
  const loop = new Loop();
  let isOver = false;
  const flood = ["a", "b"].flatMap((key) =>
    Array.from({ length: 50 }, async () => {
      while (!isOver) await loop.ask(key, 0.5, 20);
    })
  );
  const waits: number[] = [];
  const quiet = (async () => {
    for (let count = 0; count < 200; count++) {
      const turn = await loop.ask("c", 0.1);
      waits.push(turn?.waitedMs ?? Infinity);
      await new Promise((resolve) => queueMicrotask(() => resolve(undefined)));
    }
    isOver = true;
  })();
  await loop.end();
  await Promise.all([...flood, quiet]);
  // A crowd of each other key, each a piece too long, and the end of a round.
  assert(Math.max(...waits) <= 2 * 1.5 + 4, `${Math.max(...waits)} ms`);
});

Deno.test("FairTurns leaves no time unused while anything waits", async () => {
  const loop = new Loop({ roundMs: 2, maxBegun: 16 });
  const asked = Array.from({ length: 400 }, () => loop.ask("a", 0.1));
  let rounds = 0;
  for (; loop.callbacks > 0; rounds++) await loop.round();
  await Promise.all(asked);
  // 16 begin in every third round: in two crowds, and then the round ends.
  assertEquals(loop.log.length, 400);
  assert(rounds <= 3 * 400 / 16 + 2, `${rounds}`);
});

Deno.test("FairTurns has the sockets looked at while there is work without end", async () => {
  const loop = new Loop({ roundMs: 2, lookMs: 4 });
  const ended = loop.ask("a", 0.5, 200);
  await loop.end();
  await ended;
  assertEquals([loop.nowMs, loop.looks], [100, 100 / 4 - 1]);
  // Work with idle time in between needs no further polls.
  for (let count = 0; count < 100; count++) {
    void loop.ask("a", 0.5);
    await loop.end();
  }
  assertEquals(loop.looks, 24);
});

Deno.test("FairTurns lets sockets be read while there is work without end", async () => {
  // Each slice is a round of its own, with a look behind it.
  const turns = new FairTurns({ roundMs: 0, lookMs: 0 });
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const client = await Deno.connect({ port: listener.addr.port });
  const server = await listener.accept();
  const begun = await turns.begin("a");
  assert(begun.kind === "ok");
  let isRead = false;
  const reading = server.read(new Uint8Array(1)).then(() => isRead = true);
  for (let slice = 0; slice < 10; slice++) await begun.turn.pause();
  await client.write(new Uint8Array(1));
  let slices = 0;
  for (; !isRead && slices < 1_000; slices++) await begun.turn.pause();
  await reading;
  server.close();
  client.close();
  listener.close();
  assert(slices <= 5, `it took ${slices} slices`);
});

Deno.test("FairTurns begins every one of a crowd by the event loop", async () => {
  const turns = new FairTurns({ maxBegun: 4 });
  const begun: number[] = [];
  await Promise.all(Array.from({ length: 50 }, async (_, index) => {
    await turns.begin("a");
    begun.push(index);
  }));
  assertEquals(begun, Array.from({ length: 50 }, (_, index) => index));
});
