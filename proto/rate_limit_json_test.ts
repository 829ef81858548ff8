import {
  assert,
  assertEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { requestFromJson, responseToJson } from "./rate_limit_json.ts";
import {
  decodeRateLimitRequest,
  encodeRateLimitRequest,
} from "./rate_limit_request.ts";
import { CODE, UNIT } from "./rate_limit_response.ts";
import type { JsonValue } from "./struct.ts";
import { RequestView } from "./request_view.ts";
import { randomRequest, randomResponse } from "./testing/random_messages.ts";
import { requestOfView } from "./testing/request_of_view.ts";
import { SeededRandom } from "../tests/support/seeded_random.ts";

const ENTRIES = [{ key: "k", value: "v" }];

Deno.test("requestFromJson() reads every field in camelCase", () => {
  const request = {
    domain: "basic",
    descriptors: [{
      entries: [{ key: "k", value: "v" }, { key: "k2", value: "" }],
      limit: { requestsPerUnit: 10, unit: UNIT.HOUR },
      hitsAddend: 4,
      isNegativeHits: true,
    }],
    hitsAddend: 2,
  };
  const text = JSON.stringify(request);
  assertEquals(requestFromJson(text), { kind: "ok", request });
  assertEquals(requestFromJson(request), { kind: "ok", request });
});

Deno.test("requestFromJson() reads every field in snake_case", () => {
  const json = {
    domain: "basic",
    hits_addend: "3",
    descriptors: [{
      entries: ENTRIES,
      hits_addend: "9007199254740991",
      is_negative_hits: false,
      limit: { requests_per_unit: "7", unit: "MINUTE" },
    }],
  };
  assertEquals(requestFromJson(json), {
    kind: "ok",
    request: {
      domain: "basic",
      hitsAddend: 3,
      descriptors: [{
        entries: ENTRIES,
        hitsAddend: Number.MAX_SAFE_INTEGER,
        isNegativeHits: false,
        limit: { requestsPerUnit: 7, unit: UNIT.MINUTE },
      }],
    },
  });
});

Deno.test("requestFromJson() takes null and absence alike", () => {
  const nulls = {
    domain: null,
    hitsAddend: null,
    descriptors: [{
      entries: [{ key: null, value: null }],
      limit: null,
      hitsAddend: null,
      isNegativeHits: null,
    }, { entries: null, limit: { requestsPerUnit: null, unit: null } }],
  };
  const expected: ReturnType<typeof requestFromJson> = {
    kind: "ok",
    request: {
      domain: "",
      descriptors: [
        { entries: [{ key: "", value: "" }] },
        { entries: [], limit: { requestsPerUnit: 0, unit: 0 } },
      ],
    },
  };
  assertEquals(requestFromJson(nulls), expected);
  const absent = { descriptors: [{ entries: [{}] }, { limit: {} }] };
  assertEquals(requestFromJson(absent), expected);
  assertEquals(requestFromJson("{}"), {
    kind: "ok",
    request: { domain: "", descriptors: [] },
  });
});

Deno.test("requestFromJson() reads whole numbers in every form of proto3", () => {
  for (
    const [text, expected] of [
      ["0", 0],
      ["1e3", 1_000],
      ["5.0", 5],
      ["1.5e1", 15],
      ['"5"', 5],
      ['"1e3"', 1_000],
      ['"5.00"', 5],
      ["4294967295", 4_294_967_295],
      ['"4294967295"', 4_294_967_295],
    ] as const
  ) {
    const result = requestFromJson(`{"hitsAddend":${text}}`);
    assertEquals(result, {
      kind: "ok",
      request: { domain: "", descriptors: [], hitsAddend: expected },
    });
  }
});

Deno.test("requestFromJson() refuses numbers that do not fit, and names the place", () => {
  const forms = [
    "-1",
    "0.5",
    "4294967296",
    "1e400",
    '""',
    '" 5"',
    '"5 "',
    '"05"',
    '"+5"',
    '"0x5"',
    '"5."',
    '".5"',
    '"NaN"',
    '"Infinity"',
    "true",
    "[]",
    "{}",
  ];
  for (const form of forms) {
    assertInvalid(`{"hitsAddend":${form}}`, {
      path: "hitsAddend",
      reason: '"hitsAddend" must be a whole number from 0 to 4294967295, found',
    });
  }
  for (const form of ["9007199254740992", '"9007199254740993"']) {
    assertInvalid(`{"descriptors":[{},{"hits_addend":${form}}]}`, {
      path: "descriptors[1].hitsAddend",
      reason: "must be a whole number from 0 to 9007199254740991",
    });
  }
  assertInvalid('{"descriptors":[{"limit":{"requests_per_unit":-1}}]}', {
    path: "descriptors[0].limit.requestsPerUnit",
    reason: "found -1",
  });
});

Deno.test("requestFromJson() reads the unit by name and by number", () => {
  const readUnit = (unit: JsonValue) => {
    const result = requestFromJson({ descriptors: [{ limit: { unit } }] });
    assert(result.kind === "ok", JSON.stringify(result));
    return result.request.descriptors[0]?.limit?.unit;
  };
  for (const [name, number] of Object.entries(UNIT)) {
    assertEquals(readUnit(name), number);
    assertEquals(readUnit(number), number);
  }
  assertEquals(readUnit(99), 99);
  assertEquals(readUnit(-1), -1);
  for (
    const unit of ["minute", "", "7", "toString", 1.5, 2 ** 31, true, [], {}]
  ) {
    assertInvalid({ descriptors: [{ limit: { unit } }] }, {
      path: "descriptors[0].limit.unit",
      reason: "must be one of UNKNOWN, SECOND, MINUTE, HOUR, DAY, MONTH, " +
        "YEAR, WEEK or its number, found ",
    });
  }
});

Deno.test("requestFromJson() refuses wrong types and names the place", () => {
  const cases: readonly (readonly [unknown, string, string])[] = [
    [null, "$", '"$" must be an object, found null'],
    [[], "$", '"$" must be an object, found a list'],
    ["5", "$", '"$" must be an object, found 5'],
    [undefined, "$", '"$" must be an object, found undefined'],
    [{ domain: 5 }, "domain", '"domain" must be text, found 5'],
    [{ domain: {} }, "domain", '"domain" must be text, found an object'],
    [
      { descriptors: {} },
      "descriptors",
      '"descriptors" must be a list, found an object',
    ],
    [
      { descriptors: [{}, null] },
      "descriptors[1]",
      '"descriptors[1]" must be an object, found null',
    ],
    [
      { descriptors: [{ entries: "x" }] },
      "descriptors[0].entries",
      'must be a list, found "x"',
    ],
    [
      { descriptors: [{}, {}, { entries: [{ key: "k", value: 1 }] }] },
      "descriptors[2].entries[0].value",
      '"descriptors[2].entries[0].value" must be text, found 1',
    ],
    [
      { descriptors: [{ isNegativeHits: "true" }] },
      "descriptors[0].isNegativeHits",
      'must be true or false, found "true"',
    ],
    [
      { descriptors: [{ limit: [] }] },
      "descriptors[0].limit",
      "must be an object, found a list",
    ],
    [
      { domain: "\ud800" },
      "domain",
      'half of a surrogate pair in the text at "domain"',
    ],
  ];
  for (const [json, path, reason] of cases) {
    assertInvalid(json, { path, reason });
  }
});

Deno.test("requestFromJson() refuses unknown fields and names the place", () => {
  assertInvalid({ descriptor: [] }, {
    path: "$",
    reason: 'Cannot read request: unknown field "descriptor" at "$"',
  });
  assertInvalid('{"__proto__":{}}', {
    path: "$",
    reason: 'unknown field "__proto__" at "$"',
  });
  assertInvalid({ constructor: null }, {
    path: "$",
    reason: 'unknown field "constructor" at "$"',
  });
  assertInvalid({ descriptors: [{ entries: [{ name: "x" }] }] }, {
    path: "descriptors[0].entries[0]",
    reason: 'unknown field "name" at "descriptors[0].entries[0]"',
  });
  const long = "x\n".repeat(1_000_000);
  const result = requestFromJson({ [long]: 1 });
  assert(result.kind === "invalid");
  assert(result.reason.length < 300 && !result.reason.includes("\n"));
});

Deno.test("requestFromJson() refuses a field in two spellings", () => {
  assertInvalid({ hitsAddend: 1, hits_addend: null }, {
    path: "$",
    reason: 'field "hitsAddend" comes in two spellings at "$"',
  });
  const limit = { requestsPerUnit: 1, requests_per_unit: 1 };
  assertInvalid({ descriptors: [{ limit }] }, {
    path: "descriptors[0].limit",
    reason: 'field "requestsPerUnit" comes in two spellings',
  });
});

Deno.test("requestFromJson() refuses text that is not JSON", () => {
  for (const text of ["", "{", "{'a':1}", "nope", '{"domain":"secret"']) {
    const result = requestFromJson(text);
    assert(result.kind === "invalid");
    assert(!("path" in result));
    assertStringIncludes(
      result.reason,
      "Cannot read request: the text is not JSON",
    );
    assert(!result.reason.includes("secret"));
  }
  const result = requestFromJson('{"a":1,\n x}');
  assert(result.kind === "invalid");
  assertStringIncludes(result.reason, "(line 2 column 2)");
});

Deno.test("requestFromJson() survives text nested without end", () => {
  const text = '{"domain":'.repeat(200_000);
  assertEquals(requestFromJson(text).kind, "invalid");
  const closed = "[".repeat(200_000) + "]".repeat(200_000);
  assertInvalid(`{"domain":${closed}}`, {
    path: "domain",
    reason: "must be text, found a list",
  });
});

Deno.test("requestFromJson() gives what reaches the view through the wire", () => {
  const random = new SeededRandom(41);
  const view = new RequestView();
  for (let round = 0; round < 1_000; round++) {
    const request = randomRequest(random);
    const result = requestFromJson(JSON.stringify(request));
    assert(result.kind === "ok");
    assertEquals(result.request, request);
    const bytes = encodeRateLimitRequest(result.request);
    assertEquals(decodeRateLimitRequest(bytes, view), undefined);
    assertEquals(requestOfView(view).descriptors, request.descriptors);
  }
});

Deno.test("responseToJson() writes the golden text", () => {
  const json = responseToJson({
    overallCode: CODE.OVER_LIMIT,
    statuses: [
      {
        code: CODE.OVER_LIMIT,
        currentLimit: { requestsPerUnit: 10, unit: UNIT.MINUTE, name: "n" },
        limitRemaining: 0,
        durationUntilResetSeconds: 37,
      },
      { code: CODE.OK, limitRemaining: 4_294_967_295 },
      {
        code: CODE.UNKNOWN,
        currentLimit: { requestsPerUnit: 0, unit: 99, name: "" },
        limitRemaining: 0,
        durationUntilResetSeconds: 0,
      },
    ],
    responseHeadersToAdd: [{ key: "RateLimit-Limit", value: "10" }, {
      key: "x",
      value: "",
    }],
    dynamicMetadata: { domain: "d", nested: { list: [1, null, NaN] } },
  });
  assertEquals(
    json,
    '{"overallCode":"OVER_LIMIT","statuses":[' +
      '{"code":"OVER_LIMIT","currentLimit":{"requestsPerUnit":10,' +
      '"unit":"MINUTE","name":"n"},"durationUntilReset":"37s"},' +
      '{"code":"OK","limitRemaining":4294967295},' +
      '{"currentLimit":{"unit":99},"durationUntilReset":"0s"}],' +
      '"responseHeadersToAdd":[{"key":"RateLimit-Limit","value":"10"},' +
      '{"key":"x"}],' +
      '"dynamicMetadata":{"domain":"d","nested":{"list":[1,null,"NaN"]}}}',
  );
});

Deno.test("responseToJson() leaves out all defaults", () => {
  const json = responseToJson({
    overallCode: CODE.UNKNOWN,
    statuses: [],
    responseHeadersToAdd: [],
  });
  assertEquals(json, "{}");
});

Deno.test("responseToJson() writes JSON on one line, whatever the texts", () => {
  const random = new SeededRandom(42);
  for (let round = 0; round < 1_000; round++) {
    const response = randomResponse(random);
    const json = responseToJson(response);
    assert(!json.includes("\n"));
    const parsed = JSON.parse(json);
    assertEquals((parsed.statuses ?? []).length, response.statuses.length);
    assertEquals(parsed.dynamicMetadata, response.dynamicMetadata);
  }
});

Deno.test("responseToJson() throws when metadata holds itself", () => {
  const circle: Record<string, JsonValue> = {};
  circle["self"] = circle;
  assertThrows(
    () =>
      responseToJson({
        overallCode: CODE.OK,
        statuses: [],
        responseHeadersToAdd: [],
        dynamicMetadata: circle,
      }),
    TypeError,
  );
});

function assertInvalid(
  json: unknown,
  expected: { readonly path: string; readonly reason: string },
): void {
  const result = requestFromJson(json);
  assert(result.kind === "invalid", `${JSON.stringify(json)} was taken`);
  assertEquals(result.path, expected.path);
  assertStringIncludes(result.reason, "Cannot read request: ");
  assertStringIncludes(result.reason, expected.reason);
}
