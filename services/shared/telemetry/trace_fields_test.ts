import { assertEquals } from "@std/assert";
import { fieldsOfContext, remoteContext } from "./trace_fields.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
type Fields = Readonly<Record<string, string>>;

function readContext(fields: Fields): readonly unknown[] | undefined {
  const context = remoteContext((name) => fields[name]);
  return context &&
    [
      context.traceId,
      context.spanId,
      context.traceFlags,
      context.traceState?.serialize() ?? "",
    ];
}

Deno.test("remoteContext reads W3C Trace Context", () => {
  const parent = `00-${TRACE}-${SPAN}`;
  assertEquals(readContext({ traceparent: `${parent}-01` }), [
    TRACE,
    SPAN,
    1,
    "",
  ]);
  assertEquals(readContext({ traceparent: `${parent}-02` }), [
    TRACE,
    SPAN,
    0,
    "",
  ]);
  assertEquals(
    readContext({ traceparent: `${parent}-01`, tracestate: "a=1,b=2" }),
    [TRACE, SPAN, 1, "a=1,b=2"],
  );
  // A later version may have more behind its flags.
  assertEquals(
    readContext({ traceparent: `cc-${TRACE}-${SPAN}-01-what` }),
    [TRACE, SPAN, 1, ""],
  );
  assertEquals(
    readContext({
      traceparent: `${parent}-01`,
      tracestate: `a=${"b".repeat(511)}`,
    }),
    [TRACE, SPAN, 1, ""],
  );
});

Deno.test("remoteContext reads both forms of B3", () => {
  const multi = { "x-b3-traceid": TRACE, "x-b3-spanid": SPAN };
  const short = TRACE.slice(16);
  const cases: readonly (readonly [Fields, readonly unknown[]])[] = [
    [{ b3: `${TRACE}-${SPAN}-1` }, [TRACE, SPAN, 1, ""]],
    [{ b3: `${TRACE}-${SPAN}-d-${SPAN}` }, [TRACE, SPAN, 1, ""]],
    [{ b3: `${TRACE}-${SPAN}-0` }, [TRACE, SPAN, 0, ""]],
    [{ b3: `${TRACE}-${SPAN}` }, [TRACE, SPAN, 0, ""]],
    [{ b3: `${short}-${SPAN}-1` }, [`${"0".repeat(16)}${short}`, SPAN, 1, ""]],
    [{ ...multi, "x-b3-sampled": "1" }, [TRACE, SPAN, 1, ""]],
    [{ ...multi, "x-b3-sampled": "true" }, [TRACE, SPAN, 1, ""]],
    [{ ...multi, "x-b3-flags": "1" }, [TRACE, SPAN, 1, ""]],
    [multi, [TRACE, SPAN, 0, ""]],
    [
      { traceparent: `00-${TRACE}-${SPAN}-00`, b3: `${SPAN}-${SPAN}-1` },
      [TRACE, SPAN, 0, ""],
    ],
  ];
  for (const [fields, expected] of cases) {
    assertEquals(readContext(fields), expected, JSON.stringify(fields));
  }
});

Deno.test("remoteContext finds no trace in fields that are not well-formed", () => {
  const zeroTrace = "0".repeat(32);
  const zeroSpan = "0".repeat(16);
  const cases: readonly Fields[] = [
    {},
    { traceparent: "" },
    { traceparent: `00-${TRACE}-${SPAN}` },
    { traceparent: `ff-${TRACE}-${SPAN}-01` },
    { traceparent: `00-${TRACE}-${SPAN}-01-what` },
    { traceparent: `00-${zeroTrace}-${SPAN}-01` },
    { traceparent: `00-${TRACE}-${zeroSpan}-01` },
    { traceparent: `00-${TRACE.toUpperCase()}-${SPAN}-01` },
    { traceparent: `00-${TRACE}-${SPAN}-01,00-${TRACE}-${SPAN}-01` },
    { tracestate: "a=1" },
    { b3: "0" },
    { b3: `${zeroTrace}-${SPAN}-1` },
    { b3: `${TRACE}-${zeroSpan}-1` },
    { b3: `${TRACE}x-${SPAN}-1` },
    { "x-b3-traceid": TRACE },
    { "x-b3-traceid": TRACE, "x-b3-spanid": "\r\n" },
  ];
  for (const fields of cases) {
    assertEquals(readContext(fields), undefined, JSON.stringify(fields));
  }
});

Deno.test("fieldsOfContext writes what remoteContext reads", () => {
  for (const traceFlags of [0, 1]) {
    for (const tracestate of ["", "a=1,b=2"]) {
      const fields = {
        traceparent: `00-${TRACE}-${SPAN}-0${traceFlags}`,
        ...tracestate === "" ? {} : { tracestate },
      };
      const context = remoteContext((name) =>
        (fields as Record<string, string>)[name]
      )!;
      assertEquals(fieldsOfContext(context), fields);
    }
  }
  assertEquals(
    fieldsOfContext({
      traceId: "0".repeat(32),
      spanId: "0".repeat(16),
      traceFlags: 0,
    }),
    {},
  );
});
