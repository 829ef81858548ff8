/**
 * gRPC conformance cases about unary calls.
 *
 * @module
 */

import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import { GRPC_STATUS, GrpcFailure } from "../../services/shared/grpc/method.ts";
import type {
  GrpcMethods,
  GrpcStatus,
  UnaryMethod,
} from "../../services/shared/grpc/method.ts";
import { listErrors, LONG_MS, type Suite, withServer } from "./harness.ts";
import { aborted, Tally, within } from "./waiting.ts";

const ECHO = "/conformance.Test/Echo";
const CALL = { deadlineMs: LONG_MS };

/** Registers the cases about unary calls. */
export function callCases(suite: Suite): void {
  const title = (text: string): string => `${suite.name} ${text}`;

  Deno.test(title("answers a unary call with the method's bytes"), async () => {
    const methods: GrpcMethods = {
      ...one(ECHO, (request) => request.toReversed()),
      ...one("/conformance.Test/Later", async (request) => {
        await Promise.resolve();
        return request.toReversed();
      }),
    };
    await withServer(suite, { methods }, async ({ client }) => {
      const request = new Uint8Array([1, 2, 3]);
      for (const path of Object.keys(methods)) {
        assertEquals(
          await client.unary(path, request, CALL),
          new Uint8Array([3, 2, 1]),
        );
      }
    });
  });

  Deno.test(title("hands requests over as plain bytes"), async () => {
    let seen: Uint8Array | undefined;
    const methods = one(ECHO, (request) => seen = request);
    await withServer(suite, { methods }, async ({ client }) => {
      await client.unary(ECHO, new Uint8Array([1, 2]), CALL);
      assert(seen !== undefined);
      assertEquals(Object.getPrototypeOf(seen), Uint8Array.prototype);
    });
  });

  Deno.test(title("sends a failure's text as it is"), async () => {
    const texts = [
      "plain",
      "",
      "Größe 日本語 🦀",
      "100% of %41 and %ZZ #?&",
      "two\nlines\tand \u0001",
    ];
    const methods = one(
      ECHO,
      (request) =>
        new GrpcFailure(GRPC_STATUS.NOT_FOUND, texts[request[0] ?? 0] ?? ""),
    );
    await withServer(suite, { methods }, async ({ client }) => {
      for (const [index, text] of texts.entries()) {
        assertEquals(
          await client.unary(ECHO, new Uint8Array([index]), CALL),
          new GrpcFailure(GRPC_STATUS.NOT_FOUND, text),
        );
      }
    });
  });

  Deno.test(
    title("sends a failure's text that is not valid text"),
    async () => {
      const methods = one(
        ECHO,
        () => new GrpcFailure(GRPC_STATUS.UNKNOWN, "half \ud83e end"),
      );
      await withServer(suite, { methods }, async ({ client }) => {
        assertEquals(
          await client.unary(ECHO, new Uint8Array(), CALL),
          new GrpcFailure(GRPC_STATUS.UNKNOWN, "half \ufffd end"),
        );
      });
    },
  );

  Deno.test(title("sends each status code"), async () => {
    const codes = Object.values(GRPC_STATUS).filter((code) => code !== 0);
    const methods = one(
      ECHO,
      (request) => new GrpcFailure((request[0] ?? 0) as GrpcStatus, "x"),
    );
    await withServer(suite, { methods }, async ({ client }) => {
      for (const code of codes) {
        assertEquals(
          await client.unary(ECHO, new Uint8Array([code]), CALL),
          new GrpcFailure(code, "x"),
        );
      }
    });
  });

  Deno.test(title("carries an empty message both ways"), async () => {
    await withServer(
      suite,
      { methods: one(ECHO, echo) },
      async ({ client }) => {
        assertEquals(
          await client.unary(ECHO, new Uint8Array(), CALL),
          new Uint8Array(),
        );
      },
    );
  });

  Deno.test(title("carries a message of 1 MiB both ways"), async () => {
    await withServer(
      suite,
      { methods: one(ECHO, echo) },
      async ({ client }) => {
        const request = pattern(1 << 20);
        assertEquals(await client.unary(ECHO, request, CALL), request);
      },
    );
  });

  Deno.test(title("refuses a request over its limit"), async () => {
    const answered = new Tally();
    const methods = one(ECHO, (request) => {
      answered.add();
      return request.subarray(0, 1);
    });
    const options = { methods, maxReceiveBytes: 70_000 };
    await withServer(suite, options, async ({ client }) => {
      const within = await client.unary(ECHO, pattern(70_000), CALL);
      assertEquals(within, pattern(1));
      for (const length of [70_001, 1_000_000]) {
        const over = await client.unary(ECHO, pattern(length), CALL);
        assertInstanceOf(over, GrpcFailure);
        assertEquals(over.code, GRPC_STATUS.RESOURCE_EXHAUSTED);
      }
      assertEquals(answered.count, 1);
      // Only the call is refused; the connection can still be used.
      assertEquals(await client.unary(ECHO, pattern(1), CALL), pattern(1));
    });
  });

  Deno.test(title("takes 4 MiB and no more by default"), async () => {
    const methods = one(ECHO, (request) => request.subarray(0, 1));
    await withServer(suite, { methods }, async ({ client }) => {
      const limit = 4 * 1024 * 1024;
      assertEquals(await client.unary(ECHO, pattern(limit), CALL), pattern(1));
      const over = await client.unary(ECHO, pattern(limit + 1), CALL);
      assertInstanceOf(over, GrpcFailure);
      assertEquals(over.code, GRPC_STATUS.RESOURCE_EXHAUSTED);
    });
  });

  Deno.test(title("answers UNIMPLEMENTED for an unknown method"), async () => {
    await withServer(
      suite,
      { methods: one(ECHO, echo) },
      async ({ client }) => {
        for (const path of ["/conformance.Test/Other", "/", "/toString"]) {
          const answer = await client.unary(path, new Uint8Array(), CALL);
          assertInstanceOf(answer, GrpcFailure);
          assertEquals(answer.code, GRPC_STATUS.UNIMPLEMENTED);
        }
      },
    );
  });

  Deno.test(title("answers 500 calls at a time, each its own"), async () => {
    const started = new Tally();
    const methods = one(ECHO, async (request) => {
      started.add();
      await started.reaches(500);
      return request;
    });
    await withServer(suite, { methods }, async ({ client }) => {
      const requests = Array.from(
        { length: 500 },
        (_, index) => new Uint8Array([index >> 8, index & 255]),
      );
      const answers = await Promise.all(
        requests.map((request) => client.unary(ECHO, request, CALL)),
      );
      assertEquals(answers, requests);
    });
  });

  Deno.test(title("answers INTERNAL when a method throws"), async () => {
    const methods: GrpcMethods = {
      ...one("/conformance.Test/Throws", () => {
        throw new Error("secret detail");
      }),
      ...one(
        "/conformance.Test/Rejects",
        () => Promise.reject(new Error("secret detail")),
      ),
    };
    await withServer(suite, { methods }, async ({ client, log }) => {
      for (const [index, path] of Object.keys(methods).entries()) {
        assertEquals(
          await client.unary(path, new Uint8Array(), CALL),
          new GrpcFailure(
            GRPC_STATUS.INTERNAL,
            "Cannot answer: internal error",
          ),
        );
        const errors = listErrors(log);
        assertEquals(errors.length, index + 1);
        const line = JSON.stringify(errors[index]);
        assert(line.includes(path) && line.includes("secret detail"), line);
      }
    });
  });

  Deno.test(
    title("aborts a method's signal when its caller cancels"),
    async () => {
      const signals: AbortSignal[] = [];
      const entered = new Tally();
      const methods = one(ECHO, async (request, { signal }) => {
        signals.push(signal);
        entered.add();
        await aborted(signal);
        return request;
      });
      await withServer(suite, { methods }, async ({ calls, client }) => {
        const call = calls.unary(ECHO, new Uint8Array());
        await entered.reaches(1);
        assertEquals(signals[0]?.aborted, false);
        call.cancel();
        assertEquals((await call.ended).code, GRPC_STATUS.CANCELLED);
        await within(aborted(signals[0]!), "the abort");
        // Closing the client cancels its calls.
        const second = client.unary(ECHO, new Uint8Array(), CALL);
        await entered.reaches(2);
        client.close();
        const answer = await second;
        assertInstanceOf(answer, GrpcFailure);
        assertEquals(answer.code, GRPC_STATUS.CANCELLED);
        await within(aborted(signals[1]!), "the abort");
      });
    },
  );

  Deno.test(
    title("takes a method that throws at its abort for no fault"),
    async () => {
      const entered = new Tally();
      const ended = Promise.withResolvers<void>();
      const methods = one(ECHO, async (_request, { signal }) => {
        entered.add();
        await aborted(signal);
        ended.resolve();
        throw signal.reason;
      });
      await withServer(suite, { methods }, async ({ calls, client, log }) => {
        const call = calls.unary(ECHO, new Uint8Array());
        await entered.reaches(1);
        call.cancel();
        await call.ended;
        await within(ended.promise, "the abort");
        // When a further call is answered, the server has finished the aborted
        // one.
        await client.unary("/conformance.Test/Other", new Uint8Array(), CALL);
        assertEquals(listErrors(log), []);
      });
    },
  );

  Deno.test(
    title("leaves the signal alone when a method has answered"),
    async () => {
      const signals: AbortSignal[] = [];
      const methods = one(ECHO, (request, { signal }) => {
        signals.push(signal);
        return request;
      });
      await withServer(suite, { methods }, async ({ client }) => {
        for (let round = 0; round < 5; round++) {
          await client.unary(ECHO, new Uint8Array(), CALL);
        }
        assertEquals(
          signals.map((signal) => signal.aborted),
          Array(5).fill(false),
        );
      });
    },
  );
}

function one(path: string, handle: UnaryMethod): GrpcMethods {
  return { [path]: { kind: "unary", handle } };
}

function echo(request: Uint8Array): Uint8Array {
  return request;
}

/** Bytes whose pattern reveals a lost or repeated part. */
function pattern(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let index = 0; index < length; index++) {
    bytes[index] = (index ^ (index >>> 8) ^ (index >>> 16)) & 255;
  }
  return bytes;
}
