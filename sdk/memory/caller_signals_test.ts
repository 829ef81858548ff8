import { assertEquals, assertThrows } from "@std/assert";
import { CallerSignals } from "./caller_signals.ts";
import { throwIfEnded } from "./life.ts";

Deno.test("CallerSignals.of() adds one listener for any number of calls, and none without them", () => {
  const { signal } = new AbortController();
  let listeners = 0;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    listeners++;
    add(...args);
  };
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    listeners--;
    remove(...args);
  };
  const callers = new CallerSignals();
  const calls = Array.from({ length: 1_000 }, () => () => {});
  for (const call of calls) callers.of(signal).addEventListener("abort", call);
  assertEquals(listeners, 1);
  for (const call of calls) {
    callers.of(signal).removeEventListener("abort", call);
  }
  assertEquals(listeners, 0);
  callers.of(signal).addEventListener("abort", () => {});
  assertEquals(listeners, 1);
});

Deno.test("CallerSignals.of() tells all calls once, with the caller's reason", () => {
  const ending = new AbortController();
  const callers = new CallerSignals();
  const [one] = callers.toList(ending.signal);
  let ends = 0;
  for (let at = 0; at < 3; at++) {
    one?.addEventListener("abort", () => ends++);
  }
  ending.abort(new Error("enough"));
  assertEquals([ends, one?.aborted], [3, true]);
  const given = callers.of(ending.signal);
  assertThrows(() => throwIfEnded(given), Error, "enough");
  given.addEventListener("abort", () => ends++);
  assertEquals([ends, callers.toList(undefined)], [3, []]);
});

Deno.test("CallerSignals.of() has a reason where the runtime's signal has none", () => {
  const old = { aborted: true, reason: undefined } as AbortSignal;
  const error = assertThrows(() => throwIfEnded(new CallerSignals().of(old)));
  assertEquals(Object(error).name, "AbortError");
});
