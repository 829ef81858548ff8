/**
 * gRPC conformance cases about server streams.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { GRPC_STATUS, GrpcFailure } from "../../services/shared/grpc/method.ts";
import type {
  GrpcMethods,
  ServerStreamMethod,
} from "../../services/shared/grpc/method.ts";
import { listErrors, LONG_MS, type Suite, withServer } from "./harness.ts";
import { frame, openStream, send, withHttp2 } from "./http2_client.ts";
import { aborted, Tally, within } from "./waiting.ts";

const PATH = "/conformance.Test/Stream";
const NOTHING = new Uint8Array();

/** Registers the cases about server streams. */
export function streamCases(suite: Suite): void {
  const title = (text: string): string => `${suite.name} ${text}`;

  Deno.test(title("sends a stream's answers in their order"), async () => {
    const methods = one(async function* (request) {
      for (let index = 0; index < 1_000; index++) {
        // Some messages are available at once, others only later.
        if (index % 3 === 0) await Promise.resolve();
        yield new Uint8Array([request[0] ?? 0, index >> 8, index & 255]);
      }
    });
    await withServer(suite, { methods }, async ({ calls }) => {
      const stream = calls.stream(PATH, new Uint8Array([42]));
      for (let index = 0; index < 1_000; index++) {
        assertEquals(
          await stream.next(),
          new Uint8Array([42, index >> 8, index & 255]),
        );
      }
      assertEquals(await stream.next(), undefined);
      assertEquals((await stream.ended).code, GRPC_STATUS.OK);
    });
  });

  Deno.test(title("ends a stream without an answer"), async () => {
    const methods = one(async function* () {});
    await withServer(suite, { methods }, async ({ calls }) => {
      const stream = calls.stream(PATH, NOTHING);
      assertEquals(await stream.next(), undefined);
      assertEquals((await stream.ended).code, GRPC_STATUS.OK);
    });
  });

  Deno.test(title("ends a stream at its failure"), async () => {
    const closed = Promise.withResolvers<void>();
    const methods = one(async function* () {
      try {
        yield new Uint8Array([1]);
        yield new GrpcFailure(GRPC_STATUS.ABORTED, "Größe 100%");
        yield new Uint8Array([2]);
      } finally {
        closed.resolve();
      }
    });
    await withServer(suite, { methods }, async ({ calls }) => {
      const stream = calls.stream(PATH, NOTHING);
      assertEquals(await stream.next(), new Uint8Array([1]));
      assertEquals(await stream.next(), undefined);
      const { code, details } = await stream.ended;
      assertEquals(code, GRPC_STATUS.ABORTED);
      assertEquals(details, "Größe 100%");
      await within(closed.promise, "the end of the iteration");
    });
  });

  Deno.test(title("ends a stream with INTERNAL when it throws"), async () => {
    const methods: GrpcMethods = {
      ...one(async function* () {
        yield new Uint8Array([1]);
        throw new Error("secret detail");
      }),
      "/conformance.Test/AtOnce": {
        kind: "server_stream",
        handle: () => {
          throw new Error("secret detail");
        },
      },
    };
    await withServer(suite, { methods }, async ({ calls, log }) => {
      for (const [index, path] of Object.keys(methods).entries()) {
        const { code, details } = await calls.stream(path, NOTHING).ended;
        assertEquals(code, GRPC_STATUS.INTERNAL);
        assertEquals(details, "Cannot answer: internal error");
        assertEquals(listErrors(log).length, index + 1);
        assert(JSON.stringify(listErrors(log)).includes("secret detail"));
      }
    });
  });

  Deno.test(
    title("aborts a stream's signal when its caller cancels"),
    async () => {
      const ended = Promise.withResolvers<void>();
      const methods = one(untilAborted(ended.resolve));
      await withServer(suite, { methods }, async ({ calls, log }) => {
        const stream = calls.stream(PATH, NOTHING);
        assertEquals(await stream.next(), new Uint8Array([1]));
        stream.cancel();
        assertEquals((await stream.ended).code, GRPC_STATUS.CANCELLED);
        await within(ended.promise, "the end of the iteration");
        assertEquals(listErrors(log), []);
      });
    },
  );

  Deno.test(title("ends a stream at its deadline"), async () => {
    const ended = Promise.withResolvers<void>();
    const methods = one(untilAborted(ended.resolve));
    await withServer(suite, { methods }, async ({ target }) => {
      await withHttp2(target, async (session) => {
        const stream = openStream(session, PATH, { "grpc-timeout": "50m" });
        const answer = await send(stream, [frame(NOTHING)]);
        assertEquals(answer.grpcStatus, GRPC_STATUS.DEADLINE_EXCEEDED);
        assertEquals(answer.body, frame(new Uint8Array([1])));
        await within(ended.promise, "the end of the iteration");
      });
    });
  });

  Deno.test(title("goes no further than a slow reader"), async () => {
    const taken = new Tally();
    const methods: GrpcMethods = {
      ...one(async function* (_request, { signal }) {
        // Limited, so that a server that never waits for its client fails the
        // case rather than running forever.
        while (!signal.aborted && taken.count < 2_000) {
          taken.add();
          yield new Uint8Array(16_384);
        }
      }),
      "/conformance.Test/Echo": { kind: "unary", handle: (request) => request },
    };
    await withServer(suite, { methods }, async ({ target, client }) => {
      await withHttp2(target, async (session) => {
        const stream = openStream(session, PATH);
        stream.on("error", () => {});
        stream.end(frame(NOTHING));
        // The client does not read the stream, so its window of 64 KiB fills
        // up.
        await taken.reaches(2);
        for (let round = 0; round < 200; round++) {
          await client.unary("/conformance.Test/Echo", NOTHING, {
            deadlineMs: LONG_MS,
          });
        }
        assert(taken.count < 50, `${taken.count} answers were taken`);
      });
    });
  });
}

function one(handle: ServerStreamMethod): GrpcMethods {
  return { [PATH]: { kind: "server_stream", handle } };
}

/** A method that yields one message and then waits until the call is over. */
function untilAborted(ended: () => void): ServerStreamMethod {
  return async function* (_request, { signal }) {
    try {
      yield new Uint8Array([1]);
      await aborted(signal);
    } finally {
      ended();
    }
  };
}
