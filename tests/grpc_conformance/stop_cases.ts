/**
 * gRPC conformance cases about the start and stop of a server.
 *
 * @module
 */

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { GRPC_STATUS, GrpcFailure } from "../../services/shared/grpc/method.ts";
import type { GrpcMethods } from "../../services/shared/grpc/method.ts";
import { RecordingLogger } from "../support/recording_logger.ts";
import {
  ANY_PORT,
  getPort,
  listErrors,
  LONG_MS,
  type Suite,
  withServer,
} from "./harness.ts";
import {
  closed,
  frame,
  openSocket,
  openStream,
  refused,
  send,
  withHttp2,
} from "./http2_client.ts";
import { aborted, Tally, within } from "./waiting.ts";

const PATH = "/conformance.Test/Method";
const NOTHING = new Uint8Array();
const CALL = { deadlineMs: LONG_MS };

/** Registers the cases about start and stop. */
export function stopCases(suite: Suite): void {
  const title = (text: string): string => `${suite.name} ${text}`;

  Deno.test(title("loses none of 50 running calls at its stop"), async () => {
    const entered = new Tally();
    const gate = Promise.withResolvers<void>();
    const methods = unary(async (request) => {
      entered.add();
      await gate.promise;
      return request;
    });
    await withServer(
      suite,
      { methods },
      async ({ server, address, client }) => {
        const requests = Array.from({ length: 50 }, (_, i) => Uint8Array.of(i));
        const running = Promise.all(
          requests.map((request) => client.unary(PATH, request, CALL)),
        );
        await entered.reaches(50);
        let over = false;
        const stopped = server.stop(LONG_MS).then(() => over = true);
        await refused(getPort(address));
        assertEquals(over, false);
        gate.resolve();
        assertEquals(await within(running, "the running calls"), requests);
        await within(stopped, "the stop");
      },
    );
  });

  Deno.test(
    title(
      "answers calls that are on their way at its stop, and takes no other",
    ),
    async () => {
      const entered = new Tally();
      const gate = Promise.withResolvers<void>();
      const methods = unary(async (request) => {
        entered.add();
        await gate.promise;
        return request;
      });
      await withServer(suite, { methods }, async ({ server, target }) => {
        await withHttp2(target, async (session) => {
          const goaway = new Promise<number>((resolve) => {
            session.once("goaway", (code: number) => resolve(code));
          });
          const running = send(openStream(session, PATH), [frame(NOTHING)]);
          await entered.reaches(1);
          const stopped = server.stop(LONG_MS);
          // This request is under way when the client learns of the stop (RFC
          // 9113, section 6.8).
          const late = send(openStream(session, PATH), [frame(NOTHING)]);
          assertEquals(await within(goaway, "the GOAWAY"), 0);
          assertThrows(() => openStream(session, PATH));
          gate.resolve();
          assertEquals((await running).grpcStatus, GRPC_STATUS.OK);
          assertEquals((await late).grpcStatus, GRPC_STATUS.OK);
          assertEquals(entered.count, 2);
          await within(stopped, "the stop");
        });
      });
    },
  );

  Deno.test(title("ends a hanging call when the grace is over"), async () => {
    const entered = new Tally();
    const signalled = Promise.withResolvers<void>();
    const methods = unary(async (_request, { signal }) => {
      entered.add();
      await aborted(signal);
      signalled.resolve();
      return await new Promise<never>(() => {});
    });
    await withServer(suite, { methods }, async ({ server, client }) => {
      const hanging = client.unary(PATH, NOTHING, CALL);
      await entered.reaches(1);
      const began = performance.now();
      await within(server.stop(100), "the stop");
      assert(performance.now() - began >= 90, "the grace was not given");
      await within(signalled.promise, "the abort");
      const answer = await within(hanging, "the hanging call");
      assert(answer instanceof GrpcFailure);
      assert(
        answer.code === GRPC_STATUS.UNAVAILABLE ||
          answer.code === GRPC_STATUS.CANCELLED,
        `status ${answer.code}`,
      );
    });
  });

  Deno.test(
    title("stops at once when only idle connections are open"),
    async () => {
      const methods = unary((request) => request);
      await withServer(
        suite,
        { methods },
        async ({ server, address, client }) => {
          await client.unary(PATH, NOTHING, CALL);
          // One connection has made a call, the other has never sent anything.
          const silent = await openSocket(getPort(address));
          await within(server.stop(LONG_MS), "the stop");
          await closed(silent);
        },
      );
    },
  );

  Deno.test(title("ends open streams at its stop"), async () => {
    const entered = new Tally();
    const methods: GrpcMethods = {
      [PATH]: {
        kind: "server_stream",
        async *handle(_request, { signal }) {
          entered.add();
          yield Uint8Array.of(1);
          await aborted(signal);
          // Messages that a method yields after the abort are still sent.
          yield Uint8Array.of(2);
        },
      },
      "/conformance.Test/Throws": {
        kind: "server_stream",
        async *handle(_request, { signal }) {
          entered.add();
          await aborted(signal);
          signal.throwIfAborted();
          yield NOTHING;
        },
      },
    };
    await withServer(suite, { methods }, async ({ server, calls, log }) => {
      const stream = calls.stream(PATH, NOTHING);
      const throwing = calls.stream("/conformance.Test/Throws", NOTHING);
      await entered.reaches(2);
      assertEquals(await stream.next(), Uint8Array.of(1));
      await within(server.stop(LONG_MS), "the stop");
      assertEquals(await stream.next(), Uint8Array.of(2));
      assertEquals((await stream.ended).code, GRPC_STATUS.UNAVAILABLE);
      assertEquals((await throwing.ended).code, GRPC_STATUS.UNAVAILABLE);
      assertEquals(listErrors(log), []);
    });
  });

  Deno.test(
    title("breaks a stream that does not end when the grace is over"),
    async () => {
      const methods: GrpcMethods = {
        [PATH]: {
          kind: "server_stream",
          async *handle() {
            yield Uint8Array.of(1);
            await new Promise<never>(() => {});
          },
        },
      };
      await withServer(suite, { methods }, async ({ server, calls }) => {
        const stream = calls.stream(PATH, NOTHING);
        assertEquals(await stream.next(), Uint8Array.of(1));
        await within(server.stop(50), "the stop");
        const { code } = await within(stream.ended, "the end of the stream");
        assert(code !== GRPC_STATUS.OK);
      });
    },
  );

  Deno.test(title("tolerates a second stop"), async () => {
    await withServer(suite, {}, async ({ server }) => {
      await within(Promise.all([server.stop(50), server.stop(50)]), "both");
      await within(server.stop(50), "the third");
      await assertRejects(() => server.start(), Error, "Cannot start");
    });
  });

  Deno.test(title("tolerates a stop before the start"), async () => {
    const server = make(suite, {});
    await within(server.stop(50), "the stop");
    await assertRejects(() => server.start(), Error, "Cannot start");
  });

  Deno.test(title("tolerates a stop during the start"), async () => {
    const methods = unary((request) => request);
    const server = make(suite, methods);
    const starting = server.start();
    const stopping = server.stop(LONG_MS);
    const [started] = await within(
      Promise.allSettled([starting, stopping]),
      "start and stop",
    );
    if (started.status === "fulfilled") await refused(getPort(started.value));
  });

  Deno.test(title("refuses a second start"), async () => {
    await withServer(suite, {}, async ({ server }) => {
      await assertRejects(() => server.start(), Error, "Cannot start");
    });
  });
}

type Unary = Extract<GrpcMethods[string], { readonly kind: "unary" }>["handle"];

function unary(handle: Unary): GrpcMethods {
  return { [PATH]: { kind: "unary", handle } };
}

function make(
  suite: Suite,
  methods: GrpcMethods,
): ReturnType<Suite["makeServer"]> {
  const logger = new RecordingLogger();
  return suite.makeServer({ methods, address: ANY_PORT, logger });
}
