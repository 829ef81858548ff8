import { assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { type CounterKeyFormat, CounterKeyWriter } from "./counter_key.ts";
import { counterKeyEntries } from "./counter_key_entries.ts";
import type { Rule } from "./snapshot.ts";

function ruleOf(
  keys: readonly string[],
  { window = "minute", label = "" } = {},
): Pick<Rule, "domain" | "levels" | "limit" | "label"> {
  return {
    domain: "a_d",
    label,
    levels: keys.map((key) => ({
      key,
      value: "",
      shareThreshold: false,
      valueToMetric: false,
    })),
    limit: {
      requestsPerUnit: 1,
      unit: "MINUTE",
      windowSeconds: 60,
      window,
      algorithm: "fixed_window",
      burst: undefined,
    },
  };
}

function write(
  rule: ReturnType<typeof ruleOf>,
  { values, format }: {
    readonly values: readonly string[];
    readonly format: CounterKeyFormat;
  },
): string {
  const writer = new CounterKeyWriter(format);
  const part = (text: string) => {
    const bytes = new TextEncoder().encode(text);
    writer.text(bytes, 0, bytes.length);
    writer.separator();
  };
  writer.raw(new TextEncoder().encode("prefix_"));
  part(rule.domain);
  for (const [index, { key }] of rule.levels.entries()) {
    part(key);
    part(values[index]!);
  }
  writer.window({
    window: rule.limit!.window,
    isFurther: rule.label !== "",
  });
  return new TextDecoder().decode(writer.bytes.subarray(0, writer.length));
}

Deno.test("counterKeyEntries() returns what was written when separators and escapes are anywhere", () => {
  const random = new SeededRandom(39);
  const text = (least: number) =>
    Array.from(
      { length: least + random.below(4) },
      () => random.pick(["a", "_", "\\", "é"]),
    ).join("");
  for (let round = 0; round < 5_000; round++) {
    const rule = ruleOf([text(1), text(1), text(1)]);
    const values = [text(0), text(0), text(0)];
    const entries = counterKeyEntries(
      write(rule, { values, format: "escaped" }),
      { rule, format: "escaped" },
    );
    assertEquals(
      entries,
      rule.levels.map(({ key }, index) => [key, values[index]!] as const),
    );
  }
});

Deno.test("counterKeyEntries() reads keys of the reference format, whose window is left out or not", () => {
  for (
    const [window, label] of [["minute", ""], ["minute", "b"], ["15m", ""]]
  ) {
    const rule = ruleOf(["ip", "path"], { window: window!, label: label! });
    const key = write(rule, { values: ["::1", "/a_b"], format: "reference" });
    assertEquals(counterKeyEntries(key, { rule, format: "reference" }), [
      ["ip", "::1"],
      ["path", "/a_b"],
    ]);
  }
});

Deno.test("counterKeyEntries() returns undefined for a key of another rule", () => {
  const key = write(ruleOf(["ip"]), { values: ["x"], format: "escaped" });
  for (const rule of [ruleOf(["path"]), ruleOf(["ip"], { window: "day" })]) {
    assertEquals(
      counterKeyEntries(key, { rule, format: "escaped" }),
      undefined,
    );
  }
});
