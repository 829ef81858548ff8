import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import {
  decodeHealthCheckResponse,
  decodeHealthListResponse,
  encodeHealthCheckRequest,
  SERVING_STATUS,
} from "../../../proto/health.ts";
import { HealthBoard } from "./health_board.ts";
import { healthMethods, MAX_WATCH_REQUEST_BYTES } from "./health_methods.ts";
import { GRPC_STATUS, GrpcFailure } from "./method.ts";
import type { GrpcAnswer } from "./method.ts";

const CHECK = "/grpc.health.v1.Health/Check";
const WATCH = "/grpc.health.v1.Health/Watch";
const LIST = "/grpc.health.v1.Health/List";
const { SERVING, NOT_SERVING, SERVICE_UNKNOWN } = SERVING_STATUS;
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
    statuses: new Map([["", SERVING], ["ratelimit", NOT_SERVING]]),
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
  const name = "n".repeat(MAX_WATCH_REQUEST_BYTES);
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
