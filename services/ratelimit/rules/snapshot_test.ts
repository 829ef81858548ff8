import { assertEquals } from "@std/assert";
import { eachRound } from "../../../tests/support/rounds.ts";
import type { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { createView } from "../../../tests/support/create_view.ts";
import { compileSnapshot } from "./compile.ts";
import type { DescriptorConfig } from "./config.ts";
import { loadRules } from "./load.ts";
import { formatPath, matchDescriptor, type Snapshot } from "./snapshot.ts";

const LIMIT = "rate_limit: {unit: hour, requests_per_unit: 1}";

function rules(descriptors: string): Snapshot {
  const text = `domain: d\ndescriptors:\n${descriptors}`;
  const { snapshot, faults } = loadRules([{ name: "a.yaml", text }]);
  assertEquals(faults, []);
  return snapshot!;
}

/**
 * Returns the path of the rule that matches the entries; undefined for no rule.
 */
function matched(
  snapshot: Snapshot,
  entries: readonly (readonly [string, string])[],
): string | undefined {
  const view = createView({
    domain: "d",
    descriptors: [[["x", "y"]], entries],
  });
  const domain = snapshot.domains.get(
    view.bytes,
    view.domainStart,
    view.domainEnd,
  );
  const rule = matchDescriptor(domain!, view, 1)?.rule;
  return rule && formatPath(rule);
}

Deno.test("matchDescriptor() matches only at the depth of the configuration when entries and levels differ", () => {
  const snapshot = rules(`
  - {key: a, ${LIMIT}}
  - key: b
    descriptors: [{key: c, ${LIMIT}}]
`);
  assertEquals(matched(snapshot, [["a", "1"]]), "d.a");
  assertEquals(matched(snapshot, [["a", "1"], ["c", "1"]]), undefined);
  assertEquals(matched(snapshot, [["b", "1"]]), undefined);
  assertEquals(matched(snapshot, [["b", "1"], ["c", "1"]]), "d.b.c");
  assertEquals(matched(snapshot, []), undefined);
});

Deno.test("matchDescriptor() prefers the exact value, then wildcards in the order of the file, then the key alone", () => {
  const snapshot = rules(`
  - {key: a, ${LIMIT}}
  - {key: a, value: foo*, ${LIMIT}}
  - {key: a, value: foobar*, ${LIMIT}}
  - {key: a, value: foobar, ${LIMIT}}
`);
  assertEquals(matched(snapshot, [["a", "foobar"]]), "d.a_foobar");
  assertEquals(matched(snapshot, [["a", "foobarn"]]), "d.a_foo*");
  assertEquals(matched(snapshot, [["a", "bar"]]), "d.a");
  assertEquals(matched(snapshot, [["a", ""]]), "d.a");
});

Deno.test("matchDescriptor() takes the case of keys and values seriously", () => {
  const snapshot = rules(`  - {key: a, value: b, ${LIMIT}}`);
  assertEquals(matched(snapshot, [["a", "b"]]), "d.a_b");
  assertEquals(matched(snapshot, [["A", "b"]]), undefined);
  assertEquals(matched(snapshot, [["a", "B"]]), undefined);
});

Deno.test("matchDescriptor() does not go back to another branch when the deeper level has no match", () => {
  const snapshot = rules(`
  - key: a
    value: x
    descriptors: [{key: b, ${LIMIT}}]
  - key: a
    descriptors: [{key: c, ${LIMIT}}]
`);
  assertEquals(matched(snapshot, [["a", "x"], ["c", "1"]]), undefined);
  assertEquals(matched(snapshot, [["a", "y"], ["c", "1"]]), "d.a.c");
});

Deno.test("matchDescriptor() keeps key and value apart when their joined text is the same", () => {
  const snapshot = rules(`  - {key: a_b, ${LIMIT}}`);
  assertEquals(matched(snapshot, [["a_b", ""]]), "d.a_b");
  assertEquals(matched(snapshot, [["a", "b"]]), undefined);
});

Deno.test("matchDescriptor() takes an asterisk in a request for plain text", () => {
  const snapshot = rules(`  - {key: a, value: foo, ${LIMIT}}`);
  assertEquals(matched(snapshot, [["a", "f*"]]), undefined);
});

Deno.test("matchDescriptor() gives no rule when the descriptor is exempt or only a way to deeper ones", () => {
  const snapshot = rules(`
  - {key: free}
  - key: way
    descriptors: [{key: a, ${LIMIT}}]
`);
  assertEquals(matched(snapshot, [["free", "1"]]), undefined);
  assertEquals(matched(snapshot, [["way", "1"]]), undefined);
});

Deno.test("matchDescriptor() agrees with an obvious model on random configurations and requests", async () => {
  await eachRound({ rounds: 2_000, seed: 20261121 }, ({ random }) => {
    const descriptors = randomLevel(random, 0);
    const { snapshot, faults } = compileSnapshot([{
      name: "random",
      domain: "d",
      descriptors,
      findLine: () => undefined,
    }]);
    assertEquals(faults, []);
    for (let request = 0; request < 5; request++) {
      const entries = randomEntries(random);
      const expected = model("d", descriptors, entries);
      const told = JSON.stringify({ descriptors, entries });
      assertEquals(matched(snapshot!, entries), expected, told);
    }
  });
});

const KEYS = ["a", "b", "a_b"];
const VALUES = ["", "x", "xy", "x*", "*y", "x*y", "yx", "*"];

function randomLevel(
  random: SeededRandom,
  depth: number,
): DescriptorConfig[] {
  const seen = new Set<string>();
  const level: DescriptorConfig[] = [];
  const count = depth === 0 ? 1 + random.below(5) : random.below(4);
  for (let index = 0; index < count; index++) {
    const [key, value] = [random.pick(KEYS), random.pick(VALUES)];
    if (seen.has(`${key} ${value}`)) continue;
    seen.add(`${key} ${value}`);
    level.push({
      key,
      value,
      ...(random.below(3) === 0 ? {} : {
        rateLimit: {
          unit: "hour",
          requestsPerUnit: 1,
          algorithm: "",
          burst: undefined,
          unlimited: false,
          name: "",
          replaces: [],
        },
      }),
      shadowMode: false,
      quotaMode: false,
      detailedMetric: false,
      valueToMetric: false,
      shareThreshold: false,
      descriptors: depth < 2 ? randomLevel(random, depth + 1) : [],
    });
  }
  return level;
}

function randomEntries(random: SeededRandom): [string, string][] {
  const plain = ["", "x", "y", "xy", "yx", "xxy", "x*"];
  return Array.from(
    { length: 1 + random.below(3) },
    () => [random.pick(KEYS), random.pick(plain)],
  );
}

function model(
  path: string,
  level: readonly DescriptorConfig[],
  entries: readonly (readonly [string, string])[],
): string | undefined {
  const [[key, value] = ["", ""], ...rest] = entries;
  const candidates = level.filter((d) => d.key === key);
  const found =
    candidates.find((d) => d.value === value && value !== "" && !isGlob(d)) ??
      candidates.find((d) => isGlob(d) && glob(d.value).test(value)) ??
      candidates.find((d) => d.value === "");
  if (found === undefined) return undefined;
  const own = `${path}.${key}${found.value === "" ? "" : `_${found.value}`}`;
  if (rest.length > 0) return model(own, found.descriptors, rest);
  return found.rateLimit === undefined ? undefined : own;
}

function isGlob(descriptor: DescriptorConfig): boolean {
  return descriptor.value.includes("*");
}

function glob(pattern: string): RegExp {
  return new RegExp(`^${pattern.replaceAll("*", ".*")}$`);
}
