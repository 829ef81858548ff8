import { assert, assertEquals } from "@std/assert";
import { parse } from "@std/yaml";
import { Ajv } from "npm:ajv@^8.20.0";
import { loadRules } from "./load.ts";
import { RULE_SCHEMA, ruleSchemaText } from "./rule_schema.ts";
import { allowedWords } from "./yaml_values.ts";

const check = new Ajv({ allowUnionTypes: true, strictTypes: false }).compile(
  RULE_SCHEMA,
);

/** Faults that the schema does not find, since they are none of a single word. */
const BEYOND_SCHEMA = [
  "burst_without_rate.yaml",
  "duplicate_descriptor.yaml",
  "metadata_not_a_struct.yaml",
  "replaces_itself.yaml",
  "tab_after_dash.yaml",
];

const TESTDATA = new URL("testdata/", import.meta.url);
const EXAMPLE = new URL("../example/config/edge.yaml", import.meta.url);

/** A file with every word. */
const ALL_WORDS = `
domain: edge
count_when_limited: false
descriptors:
  - key: 1
    value: a*
    share_threshold: true
    shadow_mode: true
    quota_mode: false
    detailed_metric: true
    value_to_metric: true
    metadata: {any: [thing, 1, null]}
    rate_limit:
      unit: HOUR
      requests_per_unit: 4294967295
      algorithm: Token_Bucket
      burst: 5
      name: first
      replaces: [{name: second}]
    rate_limits:
      - {window: 1h30m, requests_per_unit: 0, name: second, shadow_mode: true}
      - {window: 7d, requests_per_unit: 1, algorithm: sliding_window}
  - key: b
    rate_limit: {unlimited: true, name: third}
    rate_limits: []
    descriptors: [{key: c, value: true, rate_limit: null, descriptors: null}]
`;

/** Returns whether the reader takes a file. */
function isRead(text: string): boolean {
  return loadRules([{ name: "a.yaml", text }]).snapshot !== undefined;
}

Deno.test("RULE_SCHEMA has the words that the reader takes, in each place", () => {
  const { properties, definitions } = JSON.parse(ruleSchemaText());
  const descriptor = definitions.descriptor.properties;
  const limit = descriptor.rate_limit.properties;
  const places = {
    top: properties,
    descriptor,
    rate_limit: limit,
    rate_limits: descriptor.rate_limits.items.properties,
    replaces: limit.replaces.items.properties,
  } as const;
  for (
    const place of [
      "top",
      "descriptor",
      "rate_limit",
      "rate_limits",
      "replaces",
    ] as const
  ) {
    assertEquals(
      Object.keys(places[place]).sort(),
      allowedWords(place).toSorted(),
      place,
    );
  }
});

Deno.test("RULE_SCHEMA accepts the example, and a file with every word", async () => {
  for (const text of [await Deno.readTextFile(EXAMPLE), ALL_WORDS]) {
    assert(isRead(text));
    assert(check(parse(text)), JSON.stringify(check.errors));
  }
});

Deno.test("RULE_SCHEMA refuses what the reader refuses in a single place", async () => {
  const accepted: string[] = [];
  for await (const { name } of Deno.readDir(TESTDATA)) {
    const text = await Deno.readTextFile(new URL(name, TESTDATA));
    if (isRead(text)) continue;
    if (check(parsed(text))) accepted.push(name);
  }
  assertEquals(accepted.sort(), BEYOND_SCHEMA);
});

/** Parses a file; undefined when it is no YAML. */
function parsed(text: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
