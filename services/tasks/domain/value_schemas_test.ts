import { assert, assertEquals } from "@std/assert";
import { dateTime, duration, durationMs, timeZone } from "./value_schemas.ts";
import { object, optional, withDefault } from "../../shared/schema/object.ts";
import { RETRY_POLICY } from "./retry_schema.ts";
import { readWhole, type Schema } from "../../shared/schema/schema.ts";
import { misfits } from "../../shared/schema/testing/json_schema_check.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { choice, text } from "../../shared/schema/values.ts";
import type { ParameterFault } from "../../shared/schema/fault.ts";
import {
  prefixed,
  type QuerySchema,
  querySchema,
} from "../../shared/schema/query.ts";
import {
  booleanText,
  commaList,
  integerText,
} from "../../shared/schema/query_values.ts";

Deno.test("duration() reads the three forms of a duration", () => {
  for (const value of ["PT30S", "30s", { seconds: 30 }, { second: 30 }]) {
    assertEquals(readWhole(duration(), value), {
      kind: "ok",
      value: { months: 0, days: 0, ms: 30_000 },
    });
    assertEquals(misfits(value, duration()), []);
  }
  assertEquals(readWhole(durationMs({ takesMs: true }), 1_500), {
    kind: "ok",
    value: 1_500,
  });
  assertEquals(readCode(duration(), 30), "bad_duration");
  assert(misfits(30, duration()).length > 0);
  assertEquals(readCode(durationMs({ takesMs: true }), "1500"), "bad_duration");
  assertEquals(readCode(duration(), null), "bad_duration");
});

Deno.test("duration() keeps within its bounds", () => {
  const schema = durationMs({ minimumMs: 1_000, maximumMs: 86_400_000 });
  assertEquals(readWhole(schema, "PT1S"), { kind: "ok", value: 1_000 });
  assertEquals(readWhole(schema, "P1D"), { kind: "ok", value: 86_400_000 });
  assertEquals(readCode(schema, "PT0.9S"), "too_small");
  assertEquals(readCode(schema, "P1DT1S"), "too_large");
});

Deno.test("dateTime() rounds up what is beyond milliseconds", () => {
  const schema = dateTime();
  assertEquals(readWhole(schema, "1970-01-01T00:00:00.0010001Z"), {
    kind: "ok",
    value: 2,
  });
  assertEquals(readWhole(schema, "1970-01-01T00:00:00.001000Z"), {
    kind: "ok",
    value: 1,
  });
});

Deno.test("dateTime() takes the years 1970 to 9999 in UTC", () => {
  const schema = dateTime();
  assertEquals(readWhole(schema, "1970-01-01T00:00:00Z"), {
    kind: "ok",
    value: 0,
  });
  assertEquals(readWhole(schema, "9999-12-31T23:59:59.999Z").kind, "ok");
  for (
    const text of [
      "1969-12-31T23:59:59.999Z",
      "1970-01-01T00:59:59+01:00",
      "9999-12-31T23:59:59.9999Z",
      "9999-12-31T23:59:59-00:01",
      "2030-01-01T00:00:00",
    ]
  ) assertEquals(readCode(schema, text), "bad_time", text);
  assertEquals(readCode(schema, 1_700_000_000), "wrong_type");
});

Deno.test("timeZone() keeps the codes of the domain", () => {
  assertEquals(readWhole(timeZone(), "europe/stockholm"), {
    kind: "ok",
    value: "Europe/Stockholm",
  });
  assertEquals(readCode(timeZone(), "+02:00"), "bad_timezone");
});

Deno.test("RETRY_POLICY keeps a policy as it was written", () => {
  const schema = object({ retry: RETRY_POLICY });
  for (const retry of [null, {}, { limit: 2, interval: "PT1M" }]) {
    assertEquals(readWhole(schema, { retry }), {
      kind: "ok",
      value: { retry },
    });
    assertEquals(misfits({ retry }, schema), []);
  }
  const outcome = readWhole(schema, {
    retry: { limit: -1, interval: ["PT1S", "x"], factr: 2 },
  });
  assert(outcome.kind === "invalid");
  assertEquals(
    outcome.faults.map(({ pointer, code }) => `${pointer} ${code}`).sort(),
    [
      "/retry/factr bad_retry",
      "/retry/interval/1 bad_retry",
      "/retry/limit bad_retry",
    ],
  );
});

function readCode(schema: Schema<unknown>, value: unknown): string | undefined {
  const outcome = readWhole(schema, value);
  return outcome.kind === "invalid" ? outcome.faults[0]?.code : undefined;
}

const QUERY = querySchema({
  worker: optional(commaList(text({ maxLength: 20 }), { maxItems: 3 })),
  status: optional(commaList(choice(["retry", "waiting"]))),
  limit: withDefault(integerText({ minimum: 1, maximum: 200 }), 50),
  count: withDefault(booleanText(), false),
  key: optional(text({ maxLength: 5 })),
  tz: optional(timeZone()),
  metadata: prefixed("metadata.", text({ maxLength: 10 }), { maxEntries: 2 }),
});

Deno.test("querySchema() reads values, defaults and prefixed parameters", () => {
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

Deno.test("querySchema() names the parameter of each fault", () => {
  assertEquals(findFaults("limt=5&limit=0&key=%zz&status=retyr,,&count=yes"), [
    "key bad_encoding",
    "status unknown_choice",
    "status too_short",
    "status too_short",
    "limit too_small",
    "count wrong_type",
    "limt unknown_parameter",
  ]);
  assertEquals(findFaults("key=a&key=b"), ["key repeated"]);
  assertEquals(findFaults("metadata.a=b&metadata.a=c"), [
    "metadata.a repeated",
  ]);
  assertEquals(findFaults("metadata.=b"), ["metadata. unknown_parameter"]);
  assertEquals(findFaults("metadata=b"), ["metadata unknown_parameter"]);
  assertEquals(
    findFaults("metadata.a=1&metadata.b=1&metadata.c=1"),
    ["metadata. too_many"],
  );
  assertEquals(findFaults("worker=a,b,c,d"), ["worker too_many"]);
  assertEquals(findFaults("limit=1e2"), ["limit wrong_type"]);
  assertEquals(findFaults("__proto__=1"), ["__proto__ unknown_parameter"]);
  assertEquals(findFaults("tz=Stockholm"), ["tz bad_timezone"]);
});

Deno.test("querySchema() suggests the parameter that was meant", () => {
  const faults: ParameterFault[] = [];
  QUERY.read("limti=5", faults);
  assertEquals(
    faults[0]?.detail,
    'Cannot accept parameter "limti": it is unknown; did you mean "limit"?',
  );
});

Deno.test("querySchema() refuses more parameters than it would look at", () => {
  const raw = Array.from({ length: 101 }, (_, index) => `p${index}=1`).join(
    "&",
  );
  assertEquals(findFaults(raw), [" too_many"]);
});

Deno.test("querySchema() describes what it reads", () => {
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

function findFaults(
  raw: string,
  query: QuerySchema<unknown> = QUERY,
): readonly string[] {
  const faults: ParameterFault[] = [];
  query.read(raw, faults);
  return faults.map(({ parameter, code }) => `${parameter} ${code}`);
}
