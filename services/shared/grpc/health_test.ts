import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertThrows,
} from "@std/assert";
import { SERVING_STATUS, type ServingStatus } from "../../../proto/health.ts";
import {
  decodeHealthCheckResponse,
  decodeHealthListResponse,
  encodeHealthCheckRequest,
} from "../../../proto/testing/health_client.ts";
import { HealthBoard, healthMethods } from "./health.ts";
import { GRPC_STATUS, type GrpcAnswer, GrpcFailure } from "./method.ts";

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

Deno.test("HealthBoard.get() tells for the empty name whether all others serve", () => {
  const board = new HealthBoard();
  const wholes = ([
    ["a", SERVING],
    ["b", NOT_SERVING],
    ["a", NOT_SERVING],
    ["b", SERVING],
    ["a", UNKNOWN],
    ["a", SERVING],
  ] as const).map(([name, status]) => {
    board.set(name, status);
    return board.get("");
  });
  assertEquals(wholes, [
    SERVING,
    NOT_SERVING,
    NOT_SERVING,
    NOT_SERVING,
    NOT_SERVING,
    SERVING,
  ]);
});

Deno.test("Watch answers for the empty name what becomes of the whole", async () => {
  const board = new HealthBoard();
  const watch = watching(board, asking(""));
  assertEquals(await watch.next(), { status: SERVING });
  board.set("ratelimit", NOT_SERVING);
  assertEquals(await watch.next(), { status: NOT_SERVING });
  board.set("ratelimit", SERVING);
  assertEquals(await watch.next(), { status: SERVING });
  watch.abort();
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
  // A status that has changed back is not reported.
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

const CHECK = "/grpc.health.v1.Health/Check";
const WATCH = "/grpc.health.v1.Health/Watch";
const LIST = "/grpc.health.v1.Health/List";
const MALFORMED = Uint8Array.of(0x0a, 200);

Deno.test("healthMethods() has the three methods of the protocol", () => {
  const methods = healthMethods(new HealthBoard());
  assertEquals(Object.keys(methods).sort(), [CHECK, LIST, WATCH].sort());
  assertEquals(methods[WATCH]?.kind, "server_stream");
});

Deno.test("Check answers the status of a known name at once", () => {
  const board = new HealthBoard();
  board.set("ratelimit", NOT_SERVING);
  const answer = call(board, CHECK, asking("ratelimit"));
  assertInstanceOf(answer, Uint8Array);
  assertEquals(decodeHealthCheckResponse(answer), { status: NOT_SERVING });
});

Deno.test("Check answers NOT_FOUND when the name is unknown", () => {
  assertEquals(
    call(new HealthBoard(), CHECK, asking("other")),
    new GrpcFailure(GRPC_STATUS.NOT_FOUND, "unknown service"),
  );
});

Deno.test("List answers all names", () => {
  const board = new HealthBoard();
  board.set("ratelimit", NOT_SERVING);
  const answer = call(board, LIST, new Uint8Array());
  assertInstanceOf(answer, Uint8Array);
  assertEquals(decodeHealthListResponse(answer), {
    statuses: new Map([["", NOT_SERVING], ["ratelimit", NOT_SERVING]]),
  });
});

Deno.test("Check, List and Watch answer INVALID_ARGUMENT when the bytes are malformed", async () => {
  const board = new HealthBoard();
  const watch = watching(board, MALFORMED);
  const answers = [
    call(board, CHECK, MALFORMED),
    call(board, LIST, MALFORMED),
    await watch.next(),
  ];
  for (const answer of answers) {
    assertInstanceOf(answer, GrpcFailure);
    assertEquals(answer.code, GRPC_STATUS.INVALID_ARGUMENT);
    assert(answer.message.startsWith("Cannot decode"), answer.message);
  }
});

Deno.test("Watch answers SERVICE_UNKNOWN and then what the name becomes", async () => {
  const board = new HealthBoard();
  const watch = watching(board, asking("later"));
  assertEquals(await watch.next(), { status: SERVICE_UNKNOWN });
  board.set("later", SERVING);
  assertEquals(await watch.next(), { status: SERVING });
  watch.abort();
  assertEquals(await watch.next(), undefined);
  assertEquals(board.watcherCount, 0);
});

Deno.test("Watch answers RESOURCE_EXHAUSTED when as many watch as may", async () => {
  const board = new HealthBoard({ maxWatchers: 1 });
  const first = watching(board, asking(""));
  await first.next();
  const second = watching(board, asking(""));
  assertEquals(
    await second.next(),
    new GrpcFailure(
      GRPC_STATUS.RESOURCE_EXHAUSTED,
      "Cannot watch: 1 watches are open already",
    ),
  );
  first.abort();
  assertEquals(await watching(board, asking("")).next(), { status: SERVING });
});

Deno.test("Watch answers INVALID_ARGUMENT when its request is too large to be kept", async () => {
  const board = new HealthBoard();
  const name = "n".repeat(4_096);
  const answer = await watching(board, asking(name)).next();
  assertInstanceOf(answer, GrpcFailure);
  assertEquals(answer.code, GRPC_STATUS.INVALID_ARGUMENT);
  assertEquals(board.watcherCount, 0);
});

function asking(service: string): Uint8Array {
  return encodeHealthCheckRequest({ service });
}

function call(
  board: HealthBoard,
  path: string,
  request: Uint8Array,
): GrpcAnswer {
  const method = healthMethods(board)[path];
  assert(method?.kind === "unary");
  const answer = method.handle(request, { signal: AbortSignal.abort() });
  assert(!(answer instanceof Promise), "the answer must be there at once");
  return answer;
}

function watching(
  board: HealthBoard,
  request: Uint8Array,
): { next(): Promise<unknown>; abort(): void } {
  const method = healthMethods(board)[WATCH];
  assert(method?.kind === "server_stream");
  const controller = new AbortController();
  const answers = method.handle(request, { signal: controller.signal });
  const iterator = answers[Symbol.asyncIterator]();
  return {
    async next(): Promise<unknown> {
      const { value, done } = await iterator.next();
      if (done === true) return undefined;
      return value instanceof Uint8Array
        ? decodeHealthCheckResponse(value)
        : value;
    },
    abort: () => controller.abort(),
  };
}
