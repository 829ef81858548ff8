import { assert, assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import type { WorkOptions } from "../concurrency/bounded_work.ts";
import type { Embedder, EmbedOutcome } from "./embedder.ts";
import { QuestionVectors } from "./question_vectors.ts";

Deno.test("QuestionVectors.embed() asks only for what is new, and answers in order", async () => {
  const { inner, questions } = open();
  assertEquals(await lengths(questions, ["a", "bb"]), [1, 2]);
  assertEquals(
    await lengths(questions, ["bb", "ccc", "a", "ccc"]),
    [2, 3, 1, 3],
  );
  assertEquals(await lengths(questions, ["a"]), [1]);
  assertEquals(inner.asked, [["a", "bb"], ["ccc"]]);
  assertEquals([questions.width, questions.model], [1, "counting"]);
  assertEquals(questions.counts, { kept: 3, shared: 1, asked: 3 });
});

Deno.test("QuestionVectors.embed() forgets after a while, whatever the time of day is", async () => {
  const { inner, questions, clock } = open({ ttlMs: 100 });
  await lengths(questions, ["a"]);
  clock.advance(99);
  await lengths(questions, ["a"]);
  assertEquals(inner.asked.length, 1);
  clock.advance(1);
  await lengths(questions, ["a"]);
  assertEquals(inner.asked.length, 2);
});

Deno.test("QuestionVectors.embed() keeps no more than it may, the last used ones", async () => {
  const { inner, questions } = open({ maxKept: 2, maxChars: 3 });
  for (const text of ["a", "b", "a", "c", "a"]) {
    await lengths(questions, [text]);
  }
  assertEquals(inner.asked.flat(), ["a", "b", "c"]);
  await lengths(questions, ["b"]);
  assertEquals(inner.asked.flat(), ["a", "b", "c", "b"]);
  await lengths(questions, ["long"]);
  await lengths(questions, ["long"]);
  assertEquals(inner.asked.flat().filter((text) => text === "long").length, 2);
});

Deno.test("QuestionVectors.embed() keeps none when it may keep none", async () => {
  const { inner, questions } = open({ maxKept: 0 });
  assertEquals(await lengths(questions, ["a"]), [1]);
  assertEquals(await lengths(questions, ["a"]), [1]);
  assertEquals(inner.asked, [["a"], ["a"]]);
});

Deno.test("QuestionVectors.embed() keeps no failures", async () => {
  const { inner, questions } = open();
  inner.refuses = () => ({ isPassing: true });
  assertEquals((await questions.embed(["a"])).kind, "unavailable");
  inner.refuses = () => undefined;
  assertEquals(await lengths(questions, ["a"]), [1]);
});

Deno.test("QuestionVectors.embed() shares a call among equal questions", async () => {
  const { inner, questions } = open();
  inner.hold();
  const asked = [1, 2, 3].map(() => lengths(questions, ["same"]));
  await turns();
  inner.release();
  assertEquals(await Promise.all(asked), [[4], [4], [4]]);
  assertEquals(inner.asked, [["same"]]);
  assertEquals(questions.counts, { kept: 0, shared: 2, asked: 1 });
});

Deno.test("QuestionVectors.embed() sends together what comes while enough calls are under way", async () => {
  const { inner, questions } = open({ parallelCalls: 2 });
  inner.hold();
  const asked: Promise<readonly number[]>[] = [];
  for (let number = 0; number < 250; number++) {
    asked.push(lengths(questions, [`question ${number}`]));
    await turns();
  }
  assertEquals(inner.asked.map(({ length }) => length), [1, 1]);
  inner.release();
  const all = await Promise.all(asked);
  assertEquals(all[249], ["question 249".length]);
  assertEquals(inner.asked.map(({ length }) => length), [1, 1, 100, 100, 48]);
  assert(inner.mostAtOnce <= 2);
});

Deno.test("QuestionVectors.embed() fails only the question that is refused", async () => {
  const { inner, questions } = open({ parallelCalls: 1 });
  inner.refuses = (texts) =>
    texts.includes("bad") ? { isPassing: false } : undefined;
  const [good, bad, other] = await Promise.all(
    ["good", "bad", "other"].map((text) => questions.embed([text])),
  );
  assertEquals([good?.kind, bad?.kind, other?.kind], [
    "ok",
    "unavailable",
    "ok",
  ]);
  assertEquals(inner.asked, [
    ["good", "bad", "other"],
    ["good"],
    ["bad"],
    ["other"],
  ]);
});

Deno.test("QuestionVectors.embed() ends a call that all have left, and no other", async () => {
  const { inner, questions } = open();
  inner.hold();
  const leaving = [new AbortController(), new AbortController()];
  const left = leaving.map(({ signal }) =>
    questions.embed(["left"], { signal })
  );
  const stays = lengths(questions, ["stays"]);
  await turns();
  const late = questions.embed(["late"], { signal: leaving[0]?.signal });
  await turns();
  leaving[0]?.abort();
  assertEquals((await left[0])?.kind, "unavailable");
  assertEquals((await late).kind, "unavailable");
  assertEquals(inner.ended, [["late"]]);
  leaving[1]?.abort();
  assertEquals((await left[1])?.kind, "unavailable");
  // The other call goes on: a question in it is still waited for.
  assertEquals(inner.ended, [["late"]]);
  inner.release();
  assertEquals(await stays, [5]);
  assertEquals(await lengths(questions, ["late"]), [4]);
  const gone = AbortSignal.abort();
  assertEquals(
    (await questions.embed(["x"], { signal: gone })).kind,
    "unavailable",
  );
  assertEquals(inner.asked.flat().includes("x"), false);
});

Deno.test("QuestionVectors.embed() never asks for what was left while it waited", async () => {
  const { inner, questions } = open({ parallelCalls: 1 });
  inner.hold();
  const first = lengths(questions, ["first"]);
  await turns();
  const leaving = new AbortController();
  const left = questions.embed(["left"], { signal: leaving.signal });
  await turns();
  leaving.abort();
  assertEquals((await left).kind, "unavailable");
  inner.release();
  await first;
  await turns();
  assertEquals(inner.asked, [["first"]]);
});

Deno.test("QuestionVectors.embed() throws what the embedder throws, to all who wait", async () => {
  const { inner, questions } = open();
  inner.refuses = () => {
    throw new TypeError("a fault");
  };
  const asked = ["a", "a", "b"].map((text) => questions.embed([text]));
  for (const one of asked) await assertRejects(() => one, TypeError, "a fault");
  inner.refuses = () => undefined;
  assertEquals(await lengths(questions, ["a"]), [1]);
});

Deno.test("QuestionVectors.embed() tells of a vector that is missing", async () => {
  const { inner, questions } = open();
  inner.isShort = true;
  const [first, second] = await Promise.all(
    ["a", "b"].map((text) => questions.embed([text])),
  );
  assertEquals([first?.kind, second?.kind], ["ok", "unavailable"]);
});

function open(
  options: Partial<ConstructorParameters<typeof QuestionVectors>[0]> = {},
): {
  readonly inner: HeldEmbedder;
  readonly clock: FakeClock;
  readonly questions: QuestionVectors;
} {
  const inner = new HeldEmbedder();
  const clock = new FakeClock();
  return {
    inner,
    clock,
    questions: new QuestionVectors({ embedder: inner, clock, ...options }),
  };
}

/**
 * An embedder whose vectors are the texts' lengths, held back until released.
 */
class HeldEmbedder implements Embedder {
  readonly width = 1;
  readonly model = "counting";
  readonly asked: (readonly string[])[] = [];
  readonly ended: (readonly string[])[] = [];
  mostAtOnce = 0;
  isShort = false;
  refuses: (
    texts: readonly string[],
  ) => { readonly isPassing: boolean } | undefined = () => undefined;
  #underWay = 0;
  #held = Promise.withResolvers<void>();

  constructor() {
    this.release();
  }

  hold(): void {
    this.#held = Promise.withResolvers();
  }

  release(): void {
    this.#held.resolve();
  }

  async embed(
    texts: readonly string[],
    { signal }: WorkOptions = {},
  ): Promise<EmbedOutcome> {
    this.asked.push([...texts]);
    signal?.addEventListener("abort", () => this.ended.push([...texts]));
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.#underWay);
    await this.#held.promise;
    this.#underWay--;
    const refused = this.refuses(texts);
    if (refused !== undefined) {
      return { kind: "unavailable", reason: "refused", ...refused };
    }
    const vectors = texts.map(({ length }) => Float32Array.of(length));
    return {
      kind: "ok",
      vectors: this.isShort ? vectors.slice(0, -1) : vectors,
    };
  }
}

async function lengths(
  embedder: Embedder,
  texts: readonly string[],
): Promise<readonly number[]> {
  const outcome = await embedder.embed(texts);
  assert(outcome.kind === "ok");
  return outcome.vectors.map(([only = NaN]) => only);
}

/** Waits until microtasks that are ready have run. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}
