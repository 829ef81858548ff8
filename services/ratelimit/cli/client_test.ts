import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { GRPC_STATUS, GrpcFailure } from "../../shared/grpc/method.ts";
import { H2GrpcServer } from "../../shared/grpc/h2_server.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { loadSchema } from "../../../proto/testing/schema.ts";
import { SHOULD_RATE_LIMIT_PATH } from "../api/rate_limit_methods.ts";
import { runClient } from "./client.ts";

const OK = { overallCode: 1, statuses: [{ code: 1, limitRemaining: 4 }] };
const OVER = { overallCode: 2, statuses: [{ code: 2 }] };
/** A descriptor that has only entries. */
const PLAIN = { limit: null, hitsAddend: null, isNegativeHits: false };
const ASK = ["-domain", "d", "-descriptors", "user=a"];

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function run(...args: readonly string[]): Promise<Run> {
  const out: string[] = [];
  const err: string[] = [];
  const code = await runClient(args, {
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
  });
  return { code, out: out.join("\n"), err: err.join("\n") };
}

/**
 * Runs `use` with a server that gives the answers in turn, and with what the
 * server was asked.
 */
async function withServer(
  answers: readonly (object | GrpcFailure)[],
  use: (
    dial: readonly string[],
    seen: readonly Readonly<Record<string, unknown>>[],
  ) => Promise<void>,
): Promise<void> {
  const types = await loadSchema();
  const name = (message: string) => `envoy.service.ratelimit.v3.${message}`;
  const seen: Readonly<Record<string, unknown>>[] = [];
  const server = new H2GrpcServer({
    address: { kind: "tcp", host: "127.0.0.1", port: 0 },
    logger: new RecordingLogger(),
    methods: {
      [SHOULD_RATE_LIMIT_PATH]: {
        kind: "unary",
        handle(request) {
          const answer = answers[seen.length % answers.length]!;
          seen.push({
            ...types(name("RateLimitRequest")).decode(request),
          });
          return answer instanceof GrpcFailure
            ? answer
            : types(name("RateLimitResponse")).encode({ ...answer });
        },
      },
    },
  });
  const address = await server.start();
  assert(address.kind === "tcp");
  try {
    await use(["-dial_string", `127.0.0.1:${address.port}`], seen);
  } finally {
    await server.stop(0);
  }
}

Deno.test("runClient() refuses wrong arguments without asking a server", async () => {
  await withServer([OK], async (dial, seen) => {
    const wrong: readonly (readonly string[])[] = [
      [],
      ["-domain", "d"],
      ["-descriptors", "a=1"],
      ["-domain", "d", "-descriptors", "a"],
      [...ASK, "-no_such_flag"],
      [...ASK, "stray"],
      [...ASK, "-hits", "-1"],
      [...ASK, "-hits", "4294967296"],
      [...ASK, "-timeout", "0s"],
      [...ASK, "-repeat", "0"],
      [...ASK, "-concurrency", "0"],
      [...ASK, "-limit", "10"],
      [...ASK, "-limit", "1/day", "-limit", "2/day"],
      [...ASK, "-grpc-cert-file", "x"],
      [...ASK, "-grpc-use-tls", "-grpc-cert-file", "x"],
      [...ASK, "-grpc-use-tls", "-grpc-server-ca-file", "/nothing/ca.pem"],
    ];
    for (const args of wrong) {
      const { code, out, err } = await run(...dial, ...args);
      assertEquals([code, out], [2, ""], args.join(" "));
      assertStringIncludes(err, "Cannot ", args.join(" "));
      assertStringIncludes(err, "usage: ratelimit client");
    }
    assertEquals(seen, []);
  });
  for (const dial of ["", "nowhere", "host:0", "http://a:1", "a:1:2"]) {
    const { code, err } = await run(...ASK, "-dial_string", dial);
    assertEquals(code, 2, dial);
    assertStringIncludes(err, JSON.stringify(dial));
  }
});

Deno.test("runClient() sends descriptors, hits and limits, and writes the answer", async () => {
  await withServer([OK, OVER], async (dial, seen) => {
    const first = await run(...dial, ...ASK, "-hits", "3", "-limit", "7/hour");
    assertEquals(first.code, 0, first.err);
    assertStringIncludes(first.out, "response: overall_code:");
    const second = await run(
      ...[...dial, ...ASK, "-descriptors", "b=2,c=", "--json"],
      ...["--limit", "none", "--limit=5/week"],
    );
    assertEquals(second.code, 3, second.err);
    assertEquals(JSON.parse(second.out).overallCode, "OVER_LIMIT");
    assertEquals(JSON.parse(JSON.stringify(seen)), [
      {
        domain: "d",
        hitsAddend: 3,
        descriptors: [{
          ...PLAIN,
          entries: [{ key: "user", value: "a" }],
          limit: { requestsPerUnit: 7, unit: 3 },
        }],
      },
      {
        domain: "d",
        hitsAddend: 1,
        descriptors: [
          { ...PLAIN, entries: [{ key: "user", value: "a" }] },
          {
            ...PLAIN,
            entries: [{ key: "b", value: "2" }, { key: "c", value: "" }],
            limit: { requestsPerUnit: 5, unit: 7 },
          },
        ],
      },
    ]);
  });
});

Deno.test("runClient() tells the server's refusal with the name of its status", async () => {
  const text = "no such domain\n\u001b[2J\u202e";
  const refusal = new GrpcFailure(GRPC_STATUS.UNKNOWN, text);
  await withServer([refusal], async (dial) => {
    const { code, out, err } = await run(...dial, ...ASK);
    assertEquals([code, out], [1, ""]);
    // The message is escaped, so that it cannot act on the terminal.
    const shown = "no such domain\\u000a\\u001b[2J\\u202e";
    assertEquals(err, `request error: ${shown} (status 2 UNKNOWN)`);
  });
});

Deno.test("runClient() sums up many calls when it is told to repeat", async () => {
  const refusal = new GrpcFailure(GRPC_STATUS.UNAVAILABLE, "no room");
  await withServer([OK, OVER, OK], async (dial, seen) => {
    const text = await run(
      ...[...dial, ...ASK, "-repeat", "30", "-concurrency", "4"],
    );
    assertEquals(text.code, 3, text.err);
    const lines = text.out.split("\n");
    assertEquals(lines.length, 4, text.out);
    assert(/^calls: 30 in \S+ s, \S+ a second$/.test(lines[0]!), text.out);
    assertEquals(lines.slice(1, 3), ["OK: 20", "OVER_LIMIT: 10"]);
    assert(
      /^latency: p50 \S+ ms, p99 \S+ ms, max \S+ ms$/.test(lines[3]!),
      text.out,
    );
    assertEquals(seen.length, 30);
  });
  await withServer([OK, refusal], async (dial) => {
    const args = [...dial, ...ASK, "-repeat", "10", "-json"];
    const { code, out } = await run(...args);
    assertEquals(code, 1);
    const { calls, codes, errors, latencyMs } = JSON.parse(out);
    assertEquals([calls, codes, errors], [
      10,
      { OK: 5, UNAVAILABLE: 5 },
      { UNAVAILABLE: "no room" },
    ]);
    assert(latencyMs.p50 <= latencyMs.p99 && latencyMs.p99 <= latencyMs.max);
  });
});
