import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../tests/support/fake_clock.ts";
import { LeaseFailures } from "./lease_failures.ts";
import { TasksError, type TasksErrorCode } from "./tasks_error.ts";

function failed(code: TasksErrorCode, retryAfterMs?: number): TasksError {
  return new TasksError("Cannot take tasks", { code, retryAfterMs });
}

function failures(): { clock: FakeClock; failures: LeaseFailures } {
  const clock = new FakeClock();
  const options = { clock, refusedForMs: 60_000 };
  return { clock, failures: new LeaseFailures(options) };
}

Deno.test("LeaseFailures.add() tries no more when the request is wrong in itself", () => {
  for (const code of ["invalid", "malformed_json", "bad_header"] as const) {
    assertEquals(failures().failures.add(failed(code)), undefined, code);
  }
});

Deno.test("LeaseFailures.add() pauses longer each time, at most half a minute, and from the beginning after a success", () => {
  const { failures: seen } = failures();
  let longestMs = 500;
  for (let times = 0; times < 12; times++) {
    const delayMs = seen.add(new Error("a fault of the program")) ?? NaN;
    assert(delayMs >= longestMs / 2 && delayMs <= longestMs, String(delayMs));
    longestMs = Math.min(longestMs * 2, 30_000);
  }
  seen.clear();
  assertEquals(seen.hasFailed, false);
  assert(seen.add(failed("unreachable"))! <= 500);
  assertEquals(seen.hasFailed, true);
});

Deno.test("LeaseFailures.add() pauses as long as the service asks for, a minute at most", () => {
  const { failures: seen } = failures();
  assertEquals(seen.add(failed("overloaded", 9_000)), 9_000);
  assertEquals(seen.add(failed("unexpected_answer", 3_600_000)), 60_000);
});

Deno.test("LeaseFailures.add() counts the minute of refusals from the first one in a row", () => {
  const { clock, failures: seen } = failures();
  const refuse = (): number | undefined => seen.add(failed("not_found"));
  assert(refuse() !== undefined);
  clock.advance(59_999);
  assert(refuse() !== undefined);
  assert(seen.add(failed("unreachable")) !== undefined);
  clock.advance(1);
  assert(refuse() !== undefined);
  clock.advance(60_000);
  assertEquals(refuse(), undefined);
});
