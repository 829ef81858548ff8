import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import { choice } from "../../../shared/schema/choice.ts";
import { timeZone } from "./domain_kinds.ts";
import { optional, withDefault } from "../../../shared/schema/field.ts";
import { parseInstantRange } from "./instant_range.ts";
import type { ParameterFault } from "../../../shared/schema/parameter_fault.ts";
import {
  parsedQuery,
  queryOf,
  type QuerySchema,
} from "../../../shared/schema/query.ts";
import { prefixed } from "../../../shared/schema/query_field.ts";
import {
  booleanText,
  commaList,
  integerText,
} from "../../../shared/schema/query_values.ts";
import { misfits } from "../../../shared/schema/testing/json_schema_check.ts";
import { text } from "../../../shared/schema/text.ts";

const QUERY = queryOf({
  worker: optional(commaList(text({ maxLength: 20 }), { maxItems: 3 })),
  status: optional(commaList(choice(["retry", "waiting"]))),
  limit: withDefault(integerText({ minimum: 1, maximum: 200 }), 50),
  count: withDefault(booleanText(), false),
  key: optional(text({ maxLength: 5 })),
  tz: optional(timeZone()),
  metadata: prefixed("metadata.", text({ maxLength: 10 }), { maxEntries: 2 }),
});

Deno.test("queryOf() reads values, defaults and prefixed parameters", () => {
  assertEquals(read("", QUERY), { limit: 50, count: false });
  assertEquals(
    read(
      "worker=a,b&status=retry&limit=7&count&key=a+b&tz=europe/paris" +
        "&metadata.team=x%20y&&metadata.__proto__=z",
      QUERY,
    ),
    {
      worker: ["a", "b"],
      status: ["retry"],
      limit: 7,
      count: true,
      key: "a b",
      tz: "Europe/Paris",
      metadata: Object.fromEntries([["team", "x y"], ["__proto__", "z"]]),
    },
  );
  assertEquals(read("key=%2B1%2C&count=false", QUERY).key, "+1,");
});

Deno.test("queryOf() names the parameter of each fault", () => {
  assertEquals(faultsOf("limt=5&limit=0&key=%zz&status=retyr,,&count=yes"), [
    "key bad_encoding",
    "status unknown_choice",
    "status too_short",
    "status too_short",
    "limit too_small",
    "count wrong_type",
    "limt unknown_parameter",
  ]);
  assertEquals(faultsOf("key=a&key=b"), ["key repeated"]);
  assertEquals(faultsOf("metadata.a=b&metadata.a=c"), ["metadata.a repeated"]);
  assertEquals(faultsOf("metadata.=b"), ["metadata. unknown_parameter"]);
  assertEquals(faultsOf("metadata=b"), ["metadata unknown_parameter"]);
  assertEquals(
    faultsOf("metadata.a=1&metadata.b=1&metadata.c=1"),
    ["metadata. too_many"],
  );
  assertEquals(faultsOf("worker=a,b,c,d"), ["worker too_many"]);
  assertEquals(faultsOf("limit=1e2"), ["limit wrong_type"]);
  assertEquals(faultsOf("__proto__=1"), ["__proto__ unknown_parameter"]);
  assertEquals(faultsOf("tz=Stockholm"), ["tz bad_timezone"]);
});

Deno.test("queryOf() suggests the parameter that was meant", () => {
  const faults: ParameterFault[] = [];
  QUERY.read("limti=5", faults);
  assertEquals(
    faults[0]?.detail,
    'Cannot take parameter "limti": it is not known, did you mean "limit"?',
  );
});

Deno.test("queryOf() refuses more parameters than it would look at", () => {
  const raw = Array.from({ length: 101 }, (_, index) => `p${index}=1`).join(
    "&",
  );
  assertEquals(faultsOf(raw), [" too_many"]);
});

Deno.test("queryOf() describes what it reads", () => {
  const limit = QUERY.parameters.find(({ name }) => name === "limit");
  assertEquals(limit, {
    name: "limit",
    isRequired: false,
    json: { type: "integer", minimum: 1, maximum: 200, default: 50 },
  });
  const metadata = QUERY.parameters.find(({ name }) => name === "metadata");
  assert(metadata !== undefined);
  const { definitions } = QUERY;
  const shape = { json: metadata.json, definitions };
  assertEquals(misfits({ "metadata.team": "x" }, shape), []);
  assertEquals(misfits({ "metadataxteam": "x" }, shape).length, 1);
});

Deno.test("parsedQuery() reads several parameters together", () => {
  const query = parsedQuery(
    queryOf({
      start: optional(text()),
      end: optional(text()),
      tz: optional(text()),
    }),
    parseInstantRange,
  );
  assertEquals(read("start=1970&end=1970-01-01", query), {
    fromMs: 0,
    toMs: 86_399_999,
  });
  assertEquals(read("start=1970-01-01T01:00:00+01:00", query), { fromMs: 0 });
  assertEquals(faultsOf("start=1971&end=1970", query), [
    "end end_before_start",
  ]);
});

Deno.test("read() of a query never throws and answers undefined only with faults", () => {
  const random = new SeededRandom(31);
  const pieces = [
    "limit",
    "key",
    "metadata.x",
    "=",
    "&",
    "%",
    "%41",
    "%C3%A9",
    "%FF",
    "+",
    ",",
    "7",
    "é",
    "\u0000",
  ];
  let good = 0;
  for (let round = 0; round < 5_000; round++) {
    const raw = random.list(8, () => random.pick(pieces)).join("");
    const faults: ParameterFault[] = [];
    const value = QUERY.read(raw, faults);
    assertEquals(value === undefined, faults.length > 0, raw);
    if (value !== undefined) good++;
  }
  assert(good > 100, `${good} good`);
});

function read<T>(raw: string, query: QuerySchema<T>): T {
  const faults: ParameterFault[] = [];
  const value = query.read(raw, faults);
  assert(value !== undefined, JSON.stringify(faults));
  return value;
}

function faultsOf(
  raw: string,
  query: QuerySchema<unknown> = QUERY,
): readonly string[] {
  const faults: ParameterFault[] = [];
  query.read(raw, faults);
  return faults.map(({ parameter, code }) => `${parameter} ${code}`);
}
