import { assert, assertEquals } from "@std/assert";
import {
  cron,
  dateTime,
  duration,
  durationMs,
  timeZone,
} from "./domain_kinds.ts";
import { object } from "../../../shared/schema/object.ts";
import { retryPolicy } from "./retry_kind.ts";
import { readWhole, type Schema } from "../../../shared/schema/schema.ts";
import { misfits } from "../../../shared/schema/testing/json_schema_check.ts";

Deno.test("duration() reads the three forms of a duration", () => {
  for (const value of ["PT30S", { seconds: 30 }, { second: 30 }, 30]) {
    assertEquals(readWhole(duration(), value), {
      kind: "ok",
      value: { months: 0, days: 0, ms: 30_000 },
    });
    assertEquals(misfits(value, duration()), []);
  }
  assertEquals(readWhole(durationMs({ numberUnit: "milliseconds" }), 1_500), {
    kind: "ok",
    value: 1_500,
  });
  assertEquals(codeOf(duration(), "30s"), "bad_duration");
  assertEquals(codeOf(duration(), null), "bad_duration");
});

Deno.test("duration() keeps within its bounds", () => {
  const schema = durationMs({ minimumMs: 1_000, maximumMs: 86_400_000 });
  assertEquals(readWhole(schema, "PT1S"), { kind: "ok", value: 1_000 });
  assertEquals(readWhole(schema, "P1D"), { kind: "ok", value: 86_400_000 });
  assertEquals(codeOf(schema, "PT0.9S"), "too_small");
  assertEquals(codeOf(schema, "P1DT1S"), "too_large");
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
  ) assertEquals(codeOf(schema, text), "bad_time", text);
  assertEquals(codeOf(schema, 1_700_000_000), "wrong_type");
});

Deno.test("timeZone() and cron() keep the codes of the domain", () => {
  assertEquals(readWhole(timeZone(), "europe/stockholm"), {
    kind: "ok",
    value: "Europe/Stockholm",
  });
  assertEquals(codeOf(timeZone(), "+02:00"), "bad_timezone");
  const outcome = readWhole(cron(), "0 4 * * 1-5");
  assert(outcome.kind === "ok");
  assertEquals(outcome.value.text, "0 4 * * 1-5");
  assertEquals(codeOf(cron(), "* * *"), "bad_cron");
  assertEquals(codeOf(cron(), "0 0 30 2 *"), "never_fires");
});

Deno.test("retryPolicy() keeps a policy as it was written", () => {
  const schema = object({ retry: retryPolicy() });
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

function codeOf(schema: Schema<unknown>, value: unknown): string | undefined {
  const outcome = readWhole(schema, value);
  return outcome.kind === "invalid" ? outcome.faults[0]?.code : undefined;
}
