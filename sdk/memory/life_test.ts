import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { partsUntil } from "./client_parts.ts";
import { combineSignals, Life, throwIfEnded } from "./life.ts";
import { recall } from "./recall.ts";
import { rememberAndWait } from "./remember.ts";
import { stubParts } from "./testing/stub_parts.ts";

Deno.test("Life tells all who listen once, and nobody who has stopped", () => {
  const life = new Life();
  const told: number[] = [];
  const listeners = Array.from({ length: 100 }, (_, at) => () => {
    told.push(at);
  });
  for (const listener of listeners) life.addEventListener("abort", listener);
  life.removeEventListener("abort", listeners[7]!);
  throwIfEnded(life);
  life.abort("over");
  life.abort("again");
  assertEquals([told.length, told.includes(7)], [99, false]);
  assertEquals([life.aborted, life.reason], [true, "over"]);
  let thrown: unknown;
  try {
    throwIfEnded(life);
  } catch (error) {
    thrown = error;
  }
  assertEquals(thrown, "over");
});

Deno.test("combineSignals() ends with the first of two and forgets its listeners in both", () => {
  for (const first of [true, false]) {
    const life = new Life();
    const caller = new AbortController();
    const either = combineSignals(life, caller.signal);
    let ends = 0;
    const listener = (): void => void ends++;
    const gone = (): void => void (ends += 10);
    either.addEventListener("abort", listener);
    either.addEventListener("abort", gone);
    either.removeEventListener("abort", gone);
    if (first) life.abort(new Error("destroyed"));
    else caller.abort(new Error("enough"));
    assertEquals([ends, either.aborted], [1, true]);
    assertThrows(
      () => throwIfEnded(either),
      Error,
      first ? "destroyed" : "enough",
    );
  }
});

Deno.test("partsUntil() ends requests and waits of a call with its caller's signal", async () => {
  const ending = new AbortController();
  const parts = stubParts();
  parts.exchange.on("POST /api/remember", {
    status: 202,
    json: { job_id: "j1", status: "running" },
  });
  parts.exchange.on("GET /api/remember/j1", () => {
    ending.abort(new Error("enough"));
    return { json: { job_id: "j1", status: "running" } };
  });
  await assertRejects(
    () => rememberAndWait(partsUntil(parts, ending.signal), "tea"),
    Error,
    "enough",
  );
  // Other calls of the client go on.
  parts.exchange.on("POST /api/recall", { json: { results: [], total: 0 } });
  const { total } = await recall(parts, ["tea", undefined, undefined]);
  assertEquals(total, 0);
  assertThrows(() => partsUntil(parts, AbortSignal.abort(new Error("late"))));
  assert(!parts.signal.aborted);
});
