import { assert, assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { staggered } from "./staggered.ts";

const AFTER_MS = 150;

/** Targets that answer when a test has them answer. */
class Asked {
  readonly clock = new FakeClock();
  readonly ending = new AbortController();
  /** In the order of asking. */
  readonly names: string[] = [];
  readonly #answers = new Map<
    string,
    PromiseWithResolvers<string | undefined>
  >();
  readonly #signals = new Map<string, AbortSignal>();

  ask(targets: readonly string[]): Promise<string | undefined> {
    return staggered(targets, {
      ask: (target, signal) => {
        const answer = Promise.withResolvers<string | undefined>();
        this.names.push(target);
        this.#answers.set(target, answer);
        this.#signals.set(target, signal);
        return answer.promise;
      },
      afterMs: AFTER_MS,
      clock: this.clock,
      signal: this.ending.signal,
    });
  }

  /** Has a target answer, and whoever waits for it hear of it. */
  async answer(target: string, answer: string | undefined): Promise<void> {
    this.#answers.get(target)?.resolve(answer);
    await turn();
  }

  isEnded(target: string): boolean {
    return this.#signals.get(target)?.aborted === true;
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

Deno.test("staggered() takes the first answer without asking others", async () => {
  const asked = new Asked();
  const answer = asked.ask(["a", "b"]);
  asked.clock.advance(AFTER_MS - 1);
  await asked.answer("a", "from a");
  assertEquals(await answer, "from a");
  asked.clock.advance(AFTER_MS);
  assertEquals(asked.names, ["a"]);
  assertEquals(asked.clock.pendingTimers, 0);
});

Deno.test("staggered() asks the next at once when one is no good, and gives nothing when all are", async () => {
  const asked = new Asked();
  const answer = asked.ask(["a", "b", "c"]);
  await asked.answer("a", undefined);
  assertEquals(asked.names, ["a", "b"]);
  await asked.answer("b", undefined);
  assertEquals(asked.names, ["a", "b", "c"]);
  await asked.answer("c", undefined);
  assertEquals(await answer, undefined);
  assertEquals(asked.clock.pendingTimers, 0);
});

Deno.test("staggered() asks the next beside a slow one, which may still win", async () => {
  const asked = new Asked();
  const answer = asked.ask(["a", "b", "c"]);
  asked.clock.advance(AFTER_MS);
  assertEquals(asked.names, ["a", "b"]);
  // The time of the next one counts from here.
  asked.clock.advance(AFTER_MS - 1);
  assertEquals(asked.names, ["a", "b"]);
  await asked.answer("a", "late, but good");
  assertEquals(await answer, "late, but good");
  assert(asked.isEnded("b"));
  asked.clock.advance(AFTER_MS);
  assertEquals(asked.names, ["a", "b"]);
  await asked.answer("b", "too late");
});

Deno.test("staggered() waits for the slow ones when the last one is no good", async () => {
  const asked = new Asked();
  const answer = asked.ask(["a", "b"]);
  asked.clock.advance(AFTER_MS);
  await asked.answer("b", undefined);
  assertEquals(asked.clock.pendingTimers, 0);
  assertEquals(asked.isEnded("a"), false);
  await asked.answer("a", "from a");
  assertEquals(await answer, "from a");
});

Deno.test("staggered() tells the losers to end before it answers", async () => {
  const asked = new Asked();
  const endedAtAnswer = asked.ask(["a", "b"]).then(() => asked.isEnded("a"));
  asked.clock.advance(AFTER_MS);
  await asked.answer("b", "from b");
  assertEquals(await endedAtAnswer, true);
  await asked.answer("a", undefined);
  assertEquals(asked.names, ["a", "b"]);
});

Deno.test("staggered() ends with its signal, and so do those who were asked", async () => {
  const asked = new Asked();
  const answer = asked.ask(["a", "b"]);
  asked.ending.abort(new TypeError("stopped"));
  await assertRejects(() => answer, TypeError, "stopped");
  assert(asked.isEnded("a"));
  assertEquals(asked.clock.pendingTimers, 0);
  await asked.answer("a", "too late");
  assertEquals(asked.names, ["a"]);
});

Deno.test("staggered() asks nobody when its signal was aborted before, and nobody when there is none", async () => {
  const none = new Asked();
  assertEquals(await none.ask([]), undefined);
  const asked = new Asked();
  asked.ending.abort(new TypeError("stopped"));
  await assertRejects(() => asked.ask(["a"]), TypeError, "stopped");
  assertEquals(asked.names, []);
});
