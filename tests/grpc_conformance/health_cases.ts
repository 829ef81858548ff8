/**
 * gRPC conformance cases about the health service of a server.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { SERVING_STATUS } from "../../proto/health.ts";
import {
  decodeHealthCheckResponse,
  decodeHealthListResponse,
  encodeHealthCheckRequest,
  encodeHealthListRequest,
} from "../../proto/testing/health_client.ts";
import type { ServingStatus } from "../../proto/health.ts";
import {
  HealthBoard,
  healthMethods,
} from "../../services/shared/grpc/health.ts";
import { GRPC_STATUS, GrpcFailure } from "../../services/shared/grpc/method.ts";
import {
  LONG_MS,
  type Running,
  type StreamCall,
  type Suite,
  withServer,
} from "./harness.ts";
import { within } from "./waiting.ts";

const CHECK = "/grpc.health.v1.Health/Check";
const WATCH = "/grpc.health.v1.Health/Watch";
const LIST = "/grpc.health.v1.Health/List";
const CALL = { deadlineMs: LONG_MS };
const { SERVING, NOT_SERVING, SERVICE_UNKNOWN } = SERVING_STATUS;

/** Registers the cases about the health service. */
export function healthCases(suite: Suite): void {
  const title = (text: string): string => `${suite.name} ${text}`;

  Deno.test(title("tells the health of its services"), async () => {
    await withBoard(suite, async ({ client }, board) => {
      const check = async (service: string): Promise<unknown> => {
        const request = encodeHealthCheckRequest({ service });
        const answer = await client.unary(CHECK, request, CALL);
        return answer instanceof GrpcFailure ? answer : decodeStatus(answer);
      };
      assertEquals(await check("ratelimit"), SERVING);
      assertEquals(await check(""), SERVING);
      assertEquals(
        await check("other"),
        new GrpcFailure(GRPC_STATUS.NOT_FOUND, "unknown service"),
      );
      board.set("ratelimit", NOT_SERVING);
      assertEquals(await check("ratelimit"), NOT_SERVING);
      assertEquals(await check(""), NOT_SERVING);
    });
  });

  Deno.test(title("lists the health of its services"), async () => {
    await withBoard(suite, async ({ client }) => {
      const request = encodeHealthListRequest();
      const answer = await client.unary(LIST, request, CALL);
      assert(answer instanceof Uint8Array);
      const response = decodeHealthListResponse(answer);
      assert(!("kind" in response));
      assertEquals(
        new Map(response.statuses),
        new Map([["", SERVING], ["ratelimit", SERVING]]),
      );
    });
  });

  Deno.test(title("refuses a health request it cannot read"), async () => {
    await withBoard(suite, async ({ client, calls }) => {
      const malformed = Uint8Array.of(0x0a, 5, 65);
      for (const path of [CHECK, LIST]) {
        const answer = await client.unary(path, malformed, CALL);
        assert(answer instanceof GrpcFailure);
        assertEquals(answer.code, GRPC_STATUS.INVALID_ARGUMENT);
      }
      const { code } = await calls.stream(WATCH, malformed).ended;
      assertEquals(code, GRPC_STATUS.INVALID_ARGUMENT);
    });
  });

  Deno.test(title("tells a watcher each change, and its own end"), async () => {
    await withBoard(suite, async ({ server, calls }, board) => {
      const known = watch(calls, "ratelimit");
      const unknown = watch(calls, "later");
      assertEquals(await nextStatus(known), SERVING);
      assertEquals(await nextStatus(unknown), SERVICE_UNKNOWN);
      board.set("later", SERVING);
      assertEquals(await nextStatus(unknown), SERVING);
      board.set("ratelimit", NOT_SERVING);
      assertEquals(await nextStatus(known), NOT_SERVING);
      board.set("ratelimit", SERVING);
      assertEquals(await nextStatus(known), SERVING);
      // As in the shutdown of a service: the status changes first, and the stop
      // follows at once.
      board.set("ratelimit", NOT_SERVING);
      await within(server.stop(LONG_MS), "the stop");
      assertEquals(await nextStatus(known), NOT_SERVING);
      assertEquals((await known.ended).code, GRPC_STATUS.UNAVAILABLE);
      assertEquals((await unknown.ended).code, GRPC_STATUS.UNAVAILABLE);
      assertEquals(board.watcherCount, 0);
    });
  });

  Deno.test(title("bounds the number of watchers"), async () => {
    const board = new HealthBoard({ maxWatchers: 2 });
    await withServer(
      suite,
      { methods: healthMethods(board) },
      async (running) => {
        const first = watch(running.calls, "");
        const second = watch(running.calls, "other");
        await nextStatus(first);
        await nextStatus(second);
        const { code } = await watch(running.calls, "").ended;
        assertEquals(code, GRPC_STATUS.RESOURCE_EXHAUSTED);
        first.cancel();
        await first.ended;
        // The cancellation reaches the server at some later time, so the case
        // waits for it.
        for (let round = 0; board.watcherCount > 1; round++) {
          assert(round < 1_000, "the watch was not given up");
          const request = encodeHealthCheckRequest({ service: "" });
          await running.client.unary(CHECK, request, CALL);
        }
        assertEquals(await nextStatus(watch(running.calls, "")), SERVING);
      },
    );
  });
}

async function withBoard(
  suite: Suite,
  body: (running: Running, board: HealthBoard) => Promise<void>,
): Promise<void> {
  const board = new HealthBoard();
  board.set("ratelimit", SERVING);
  const options = { methods: healthMethods(board) };
  await withServer(suite, options, (running) => body(running, board));
}

function watch(calls: Running["calls"], service: string): StreamCall {
  return calls.stream(WATCH, encodeHealthCheckRequest({ service }));
}

async function nextStatus(stream: StreamCall): Promise<ServingStatus> {
  const bytes = await stream.next();
  assert(bytes !== undefined, "the stream has ended");
  return decodeStatus(bytes);
}

function decodeStatus(bytes: Uint8Array): ServingStatus {
  const response = decodeHealthCheckResponse(bytes);
  assert(!("kind" in response));
  return response.status;
}
