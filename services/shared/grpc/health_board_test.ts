import { assert, assertEquals, assertThrows } from "@std/assert";
import { SERVING_STATUS } from "../../../proto/health.ts";
import type { ServingStatus } from "../../../proto/health.ts";
import { HealthBoard } from "./health_board.ts";

const { SERVING, NOT_SERVING, SERVICE_UNKNOWN, UNKNOWN } = SERVING_STATUS;

Deno.test("HealthBoard.get() is SERVING for the empty name and undefined for an unknown one", () => {
  const board = new HealthBoard();
  assertEquals(board.get(""), SERVING);
  assertEquals(board.get("ratelimit"), undefined);
});

Deno.test("HealthBoard.set() changes what get() and list() tell", () => {
  const board = new HealthBoard();
  board.set("ratelimit", NOT_SERVING);
  const before = board.list();
  board.set("ratelimit", SERVING);
  assertEquals(board.get("ratelimit"), SERVING);
  assertEquals(
    [...board.list()],
    [["", SERVING], ["ratelimit", SERVING]],
  );
  // What was handed out does not change under its holder.
  assertEquals(before.get("ratelimit"), NOT_SERVING);
});

Deno.test("HealthBoard.set() throws for the empty name", () => {
  const board = new HealthBoard();
  assertThrows(() => board.set("", NOT_SERVING), RangeError, "Cannot set");
  assertEquals(board.get(""), SERVING);
});

Deno.test("HealthBoard.watch() tells the status now and each change", async () => {
  const board = new HealthBoard();
  board.set("ratelimit", SERVING);
  const watching = open(board, "ratelimit");
  assertEquals(await watching.next(), SERVING);
  for (const status of [NOT_SERVING, UNKNOWN, SERVING]) {
    const next = watching.next();
    board.set("ratelimit", status);
    assertEquals(await next, status);
  }
  watching.abort();
  assertEquals(await watching.next(), undefined);
});

Deno.test("HealthBoard.watch() tells SERVICE_UNKNOWN until the name is set", async () => {
  const board = new HealthBoard();
  const watching = open(board, "later");
  assertEquals(await watching.next(), SERVICE_UNKNOWN);
  const next = watching.next();
  board.set("other", SERVING);
  board.set("later", NOT_SERVING);
  assertEquals(await next, NOT_SERVING);
  watching.abort();
});

Deno.test("HealthBoard.watch() keeps only the newest status for a slow reader", async () => {
  const board = new HealthBoard();
  board.set("ratelimit", SERVING);
  const watching = open(board, "ratelimit");
  assertEquals(await watching.next(), SERVING);
  for (let round = 0; round < 1_000; round++) {
    board.set("ratelimit", round % 2 === 0 ? NOT_SERVING : UNKNOWN);
  }
  assertEquals(await watching.next(), UNKNOWN);
  // There and back again is no change to tell.
  board.set("ratelimit", SERVING);
  board.set("ratelimit", UNKNOWN);
  watching.abort();
  assertEquals(await watching.next(), undefined);
});

Deno.test("HealthBoard.watch() tells a change made right before the abort", async () => {
  const board = new HealthBoard();
  board.set("ratelimit", SERVING);
  const idle = open(board, "ratelimit");
  assertEquals(await idle.next(), SERVING);
  const waiting = open(board, "ratelimit");
  assertEquals(await waiting.next(), SERVING);
  const waited = waiting.next();
  board.set("ratelimit", NOT_SERVING);
  idle.abort();
  waiting.abort();
  assertEquals(await idle.next(), NOT_SERVING);
  assertEquals(await waited, NOT_SERVING);
  assertEquals(await idle.next(), undefined);
  assertEquals(await waiting.next(), undefined);
});

Deno.test("HealthBoard.watch() counts a watcher until its end, whichever end it is", async () => {
  const board = new HealthBoard({ maxWatchers: 3 });
  const aborted = open(board, "a");
  const returned = open(board, "a");
  const never = new AbortController();
  assert(board.watch("b", never.signal) !== undefined);
  assertEquals(board.watcherCount, 3);
  assertEquals(board.watch("a", AbortSignal.abort()), undefined);
  aborted.abort();
  assertEquals(board.watcherCount, 2);
  await returned.next();
  await returned.leave();
  assertEquals(board.watcherCount, 1);
  returned.abort();
  never.abort();
  assertEquals(board.watcherCount, 0);
  assert(board.watch("a", AbortSignal.abort()) !== undefined);
  assertEquals(board.watcherCount, 0);
});

interface Watching {
  next(): Promise<ServingStatus | undefined>;
  leave(): Promise<unknown>;
  abort(): void;
}

function open(board: HealthBoard, service: string): Watching {
  const controller = new AbortController();
  const statuses = board.watch(service, controller.signal);
  assert(statuses !== undefined);
  const iterator = statuses[Symbol.asyncIterator]();
  return {
    async next(): Promise<ServingStatus | undefined> {
      const next = await iterator.next();
      return next.done === true ? undefined : next.value;
    },
    leave: () => Promise.resolve(iterator.return?.()),
    abort: () => controller.abort(),
  };
}
