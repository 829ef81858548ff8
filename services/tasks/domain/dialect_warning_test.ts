import { assertEquals, assertStringIncludes } from "@std/assert";
import { dialectWarnings } from "./dialect_warning.ts";

Deno.test("dialectWarnings() warns where Quartz or EventBridge means other times", () => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ["0 0 9 ? * 2-6", ["quartz"]],
    ["0 0 9 ? * 1", ["quartz"]],
    ["0 0 9 ? * 5L", ["quartz"]],
    ["0 0 9 ? * 5#2", ["quartz"]],
    ["0 9 ? * 2-6 *", ["eventbridge"]],
    ["0 9 1 * ? *", ["eventbridge"]],
    ["0 0 9 ? * MON-FRI", []],
    ["0 0 9 ? * FRI#2", []],
    ["0 0 9 15W * ?", []],
    ["0 0 9 L * ?", []],
    ["0 0 9 * * 1-5", []],
    ["0 9 ? * 2-6", []],
    ["0 9 * * 1-5", []],
    ["nonsense ?", []],
  ];
  for (const [cron, dialects] of cases) {
    const warnings = dialectWarnings({ cron });
    assertEquals(warnings.map(({ dialect }) => dialect), dialects, cron);
    for (const { code, dialect, detail } of warnings) {
      assertEquals(code, "dialect");
      assertStringIncludes(detail, `"dialect": "${dialect}"`);
    }
  }
});

Deno.test("dialectWarnings() says nothing where the dialect is given, and of an interval", () => {
  for (const dialect of ["cron", "quartz"] as const) {
    assertEquals(dialectWarnings({ cron: "0 0 9 ? * 2-6", dialect }), []);
  }
  assertEquals(dialectWarnings({}), []);
});
