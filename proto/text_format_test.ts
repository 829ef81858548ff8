import { assertEquals } from "@std/assert";
import { CODE, UNIT } from "./rate_limit_response.ts";
import { responseToText } from "./text_format.ts";

Deno.test("responseToText() writes the golden text", () => {
  const text = responseToText({
    overallCode: CODE.OVER_LIMIT,
    statuses: [
      {
        code: CODE.OVER_LIMIT,
        currentLimit: { requestsPerUnit: 10, unit: UNIT.WEEK, name: 'a"b' },
        limitRemaining: 0,
        durationUntilResetSeconds: 37,
      },
      { code: CODE.OK, limitRemaining: 4_294_967_295 },
      {
        code: CODE.UNKNOWN,
        currentLimit: { requestsPerUnit: 0, unit: 99 },
        limitRemaining: 0,
        durationUntilResetSeconds: 0,
      },
      { code: CODE.UNKNOWN, limitRemaining: 0 },
    ],
    responseHeadersToAdd: [{ key: "RateLimit-Limit", value: "10" }],
  });
  assertEquals(
    text,
    "overall_code: OVER_LIMIT " +
      "statuses: { code: OVER_LIMIT current_limit: " +
      '{ requests_per_unit: 10 unit: WEEK name: "a\\"b" } ' +
      "duration_until_reset: { seconds: 37 } } " +
      "statuses: { code: OK limit_remaining: 4294967295 } " +
      "statuses: { current_limit: { unit: 99 } duration_until_reset: {} } " +
      "statuses: {} " +
      'response_headers_to_add: { key: "RateLimit-Limit" value: "10" }',
  );
});

Deno.test("responseToText() writes metadata of every kind", () => {
  const text = responseToText({
    overallCode: CODE.OK,
    statuses: [],
    responseHeadersToAdd: [],
    dynamicMetadata: {
      n: null,
      b: false,
      t: "",
      i: -Infinity,
      l: [NaN, 1.5],
      s: {},
    },
  });
  const field = (key: string, value: string) =>
    `fields: { key: "${key}" value: { ${value} } }`;
  const fields = [
    field("n", "null_value: NULL_VALUE"),
    field("b", "bool_value: false"),
    field("t", 'string_value: ""'),
    field("i", "number_value: -inf"),
    field(
      "l",
      "list_value: { values: { number_value: nan } values: { number_value: 1.5 } }",
    ),
    field("s", "struct_value: {}"),
  ];
  assertEquals(
    text,
    `overall_code: OK dynamic_metadata: { ${fields.join(" ")} }`,
  );
});

Deno.test("responseToText() escapes what would break the line or the quotes", () => {
  const text = responseToText({
    overallCode: CODE.UNKNOWN,
    statuses: [],
    responseHeadersToAdd: [{
      key: "\\\"'\n\r\t\u0000\u001b7\u007f",
      value: "é",
    }],
  });
  assertEquals(
    text,
    'response_headers_to_add: { key: "\\\\\\"\'\\n\\r\\t\\000\\0337\\177" value: "é" }',
  );
});

Deno.test("responseToText() writes nothing for an answer of defaults", () => {
  const empty = {
    overallCode: 0,
    statuses: [],
    responseHeadersToAdd: [],
  } as const;
  assertEquals(responseToText(empty), "");
});
