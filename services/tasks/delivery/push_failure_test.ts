import { assertEquals } from "@std/assert";
import { LookupError } from "./address_guard.ts";
import { toFailure } from "./push_failure.ts";

type FailedExchange = Parameters<typeof toFailure>[0];
type PushPhase = FailedExchange["phase"];

const CALL = { origin: "https://a.b", durationMs: 5 };
const PHASES: readonly PushPhase[] = [
  "connect",
  "handshake",
  "exchange",
  "body",
];

function told(result: FailedExchange, timeoutMs?: number): readonly string[] {
  const call = timeoutMs === undefined ? CALL : { ...CALL, timeoutMs };
  const outcome = toFailure(result, call);
  return outcome.kind === "failed"
    ? [outcome.code, outcome.message]
    : [outcome.code, outcome.reason];
}

function coded(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

Deno.test("toFailure() tells what a time-out waited for", () => {
  assertEquals(
    PHASES.map((phase) => told({ kind: "aborted", phase }, 90)),
    [
      ["timed_out", 'Cannot call "https://a.b": no connection within 90 ms'],
      ["timed_out", 'Cannot call "https://a.b": no TLS handshake within 90 ms'],
      ["timed_out", 'Cannot call "https://a.b": no answer within 90 ms'],
      [
        "timed_out",
        'Cannot call "https://a.b": no end of the answer within 90 ms',
      ],
    ],
  );
});

Deno.test("toFailure() tells a canceled call", () => {
  assertEquals(told({ kind: "aborted", phase: "body" }), [
    "canceled",
    'Cannot call "https://a.b": the call was canceled',
  ]);
});

Deno.test("toFailure() tells the phase in which the network failed", () => {
  const error = coded("ECONNRESET", 'reset "now"');
  const text = String.raw`"reset \"now\"" (ECONNRESET)`;
  assertEquals(
    PHASES.map((phase) => told({ kind: "failed", error, phase })),
    [
      [
        "connection_failed",
        `Cannot call "https://a.b": no connection: ${text}`,
      ],
      ["tls_failed", `Cannot call "https://a.b": TLS failed: ${text}`],
      ["connection_failed", `Cannot call "https://a.b": no answer: ${text}`],
      [
        "connection_failed",
        `Cannot call "https://a.b": no end of the answer: ${text}`,
      ],
    ],
  );
});

Deno.test("toFailure() tells the first of several addresses", () => {
  const error = Object.assign(
    new AggregateError([coded("ECONNREFUSED", "first"), new Error("second")]),
    { code: "ECONNREFUSED" },
  );
  assertEquals(told({ kind: "failed", error, phase: "connect" }), [
    "connection_failed",
    'Cannot call "https://a.b": no connection: "first" (ECONNREFUSED)',
  ]);
});

Deno.test("toFailure() keeps names, addresses and syntax apart", () => {
  const codes = [
    new LookupError("DNS_FAILED", "x"),
    new LookupError("ADDRESS_REFUSED", "x"),
    coded("HPE_HEADER_OVERFLOW", "x"),
    "not even an error",
  ].map((error) => told({ kind: "failed", error, phase: "exchange" })[0]);
  assertEquals(codes, [
    "dns_failed",
    "address_not_public",
    "bad_answer",
    "connection_failed",
  ]);
});
