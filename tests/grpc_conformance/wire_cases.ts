/**
 * gRPC conformance cases on the wire: requests that no gRPC client would send,
 * and the deadline as the server receives it.
 *
 * @module
 */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { GRPC_STATUS } from "../../services/shared/grpc/method.ts";
import type { UnaryMethod } from "../../services/shared/grpc/method.ts";
import { getPort, LONG_MS, type Suite, withServer } from "./harness.ts";
import {
  closed,
  frame,
  openSocket,
  openStream,
  send,
  withHttp2,
} from "./http2_client.ts";
import { aborted, Tally, within } from "./waiting.ts";

const PATH = "/conformance.Test/Echo";
const MESSAGE = new Uint8Array([7, 8, 9]);

/** Registers the cases on the wire. */
export function wireCases(suite: Suite): void {
  const title = (text: string): string => `${suite.name} ${text}`;

  Deno.test(title("sends answer, status and content type"), async () => {
    await withEcho(suite, async ({ target }) => {
      await withHttp2(target, async (session) => {
        const stream = openStream(session, PATH);
        const type = new Promise<unknown>((resolve) =>
          stream.once("response", (headers) => resolve(headers["content-type"]))
        );
        const answer = await send(stream, [frame(MESSAGE)]);
        assertEquals(answer.httpStatus, 200);
        assertEquals(answer.grpcStatus, GRPC_STATUS.OK);
        assertEquals(answer.body, frame(MESSAGE));
        assertMatch(String(await type), /^application\/grpc(\+proto)?$/);
      });
    });
  });

  Deno.test(title("puts a message together from single bytes"), async () => {
    await withEcho(suite, async ({ target }) => {
      await withHttp2(target, async (session) => {
        const bytes = Array.from(frame(MESSAGE), (byte) => Uint8Array.of(byte));
        const answer = await send(openStream(session, PATH), bytes);
        assertEquals(answer.grpcStatus, GRPC_STATUS.OK);
        assertEquals(answer.body, frame(MESSAGE));
      });
    });
  });

  Deno.test(title("refuses what is not one whole message"), async () => {
    const answered = new Tally();
    await withEcho(suite, async ({ target }) => {
      await withHttp2(target, async (session) => {
        const bodies: readonly (readonly Uint8Array[])[] = [
          [],
          [frame(MESSAGE).subarray(0, 3)],
          [frame(MESSAGE).subarray(0, 6)],
          [frame(MESSAGE), frame(MESSAGE)],
        ];
        for (const body of bodies) {
          const answer = await send(openStream(session, PATH), body);
          assert(answer.grpcStatus !== GRPC_STATUS.OK, String(body));
          assert(answer.grpcStatus !== undefined, String(body));
          assertEquals(answer.body.length, 0);
        }
        const encoding = { "grpc-encoding": "unheard-of" };
        const packed = await send(openStream(session, PATH, encoding), [
          frame(MESSAGE, 1),
        ]);
        assertEquals(packed.grpcStatus, GRPC_STATUS.UNIMPLEMENTED);
        assertEquals(answered.count, 0);
      });
    }, (request) => {
      answered.add();
      return request;
    });
  });

  Deno.test(title("does not answer what is not gRPC"), async () => {
    const answered = new Tally();
    await withEcho(suite, async ({ target }) => {
      await withHttp2(target, async (session) => {
        for (const type of ["text/plain", "application/json"]) {
          const stream = openStream(session, PATH, { "content-type": type });
          const answer = await send(stream, [frame(MESSAGE)]);
          // HTTP status 415 is not required, since the protocol recommends it
          // only with "should".
          assert(answer.grpcStatus !== GRPC_STATUS.OK);
          assertEquals(answer.body.length, 0);
        }
        assertEquals(answered.count, 0);
      });
    }, (request) => {
      answered.add();
      return request;
    });
  });

  Deno.test(title("lives on when bytes are not HTTP/2"), async () => {
    await withEcho(suite, async ({ address, client }) => {
      const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
      for (
        const text of [
          "GET / HTTP/1.1\r\n\r\n",
          "\0\0\0",
          preface.slice(0, 10),
          preface + "\xff".repeat(40),
        ]
      ) {
        const socket = await openSocket(getPort(address));
        const bytes = Uint8Array.from(text, (char) => char.charCodeAt(0));
        socket.end(bytes);
        await closed(socket);
      }
      const call = { deadlineMs: LONG_MS };
      assertEquals(await client.unary(PATH, MESSAGE, call), MESSAGE);
    });
  });

  Deno.test(
    title("ends a call at its deadline and aborts its signal"),
    async () => {
      const ended = Promise.withResolvers<void>();
      await withEcho(suite, async ({ target }) => {
        await withHttp2(target, async (session) => {
          const stream = openStream(session, PATH, { "grpc-timeout": "20m" });
          const answer = await send(stream, [frame(MESSAGE)]);
          assertEquals(answer.grpcStatus, GRPC_STATUS.DEADLINE_EXCEEDED);
          await within(ended.promise, "the abort");
        });
      }, async (request, { signal }) => {
        await aborted(signal);
        ended.resolve();
        return request;
      });
    },
  );

  Deno.test(title("aborts the signal when the connection breaks"), async () => {
    const entered = new Tally();
    const ended = Promise.withResolvers<void>();
    await withEcho(suite, async ({ target }) => {
      await withHttp2(target, async (session) => {
        const stream = openStream(session, PATH);
        stream.on("error", () => {});
        stream.end(frame(MESSAGE));
        await entered.reaches(1);
      });
      await within(ended.promise, "the abort");
    }, async (request, { signal }) => {
      entered.add();
      await aborted(signal);
      ended.resolve();
      return request;
    });
  });
}

type Body = Parameters<typeof withServer>[2];

function withEcho(
  suite: Suite,
  body: Body,
  handle: UnaryMethod = (request) => request,
): Promise<void> {
  return withServer(
    suite,
    { methods: { [PATH]: { kind: "unary", handle } } },
    body,
  );
}
