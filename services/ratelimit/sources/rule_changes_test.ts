import { assertEquals } from "@std/assert";
import { NEVER_PAUSING } from "../../shared/slices.ts";
import { loadRules } from "../rules/load.ts";
import type { Snapshot } from "../rules/snapshot.ts";
import { findRuleChanges } from "./rule_changes.ts";

function load(...lines: string[]): Snapshot {
  const text = `domain: d\ndescriptors:\n  - key: x\n${
    lines.map((line) => `  - ${line}\n`).join("")
  }`;
  return loadRules([{ name: "a.yaml", text }]).snapshot!;
}

const A = "{key: a, rate_limit: {unit: day, requests_per_unit: 1}}";
const B = "{key: b, rate_limit: {unit: day, requests_per_unit: 1}}";
const A2 = "{key: a, rate_limit: {unit: day, requests_per_unit: 2}}";
const A3 =
  "{key: a, detailed_metric: true, rate_limit: {unit: day, requests_per_unit: 1}}";
const FLAGS = "shadow_mode: false, quota_mode: false";

Deno.test("findRuleChanges() tells rules that are new, gone or others, and no moves", async () => {
  const cases: [Snapshot, Snapshot, string[]][] = [
    [load(A, B), load(B, A), []],
    [load(A), load(A, B), [
      `added d.b: unit=DAY requests_per_unit=1, ${FLAGS}`,
    ]],
    [load(A, B), load(A), [
      `removed d.b: unit=DAY requests_per_unit=1, ${FLAGS}`,
    ]],
    [load(A), load(A2), [
      `changed d.a: unit=DAY requests_per_unit=1, ${FLAGS} -> ` +
      `unit=DAY requests_per_unit=2, ${FLAGS}`,
    ]],
    [load(A), load(A3), [
      `changed d.a: unit=DAY requests_per_unit=1, ${FLAGS}, other fields`,
    ]],
  ];
  for (const [before, after, lines] of cases) {
    const changes = await findRuleChanges({ before, after }, NEVER_PAUSING);
    assertEquals(changes.lines, lines);
    const { added, removed, changed } = changes;
    assertEquals(added + removed + changed, lines.length);
  }
});

Deno.test("findRuleChanges() counts all changes and tells the first twenty", async () => {
  const many = Array.from(
    { length: 50 },
    (_, index) => A.replace("key: a", `key: a${index}`),
  );
  const changes = await findRuleChanges(
    { before: load(), after: load(...many) },
    NEVER_PAUSING,
  );
  assertEquals([changes.added, changes.lines.length], [50, 20]);
});
