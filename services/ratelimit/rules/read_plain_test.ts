import { assert, assertEquals } from "@std/assert";
import { eachRound } from "../../../tests/support/rounds.ts";
import type { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { readAnyDomain } from "./read_domain.ts";
import { readPlainDomain } from "./read_plain.ts";

/** Tells whether the text is plain; fails when the two readers differ. */
function isReadAlike(text: string): boolean {
  const plain = readPlainDomain({ name: "a.yaml", text });
  if (plain === undefined) return false;
  const any = readAnyDomain({ name: "a.yaml", text });
  assertEquals(
    [any.faults, any.warnings],
    [[], []],
    `only the plain reader takes:\n${text}`,
  );
  const { findLine: _, ...expected } = any.domain!;
  const { findLine: __, ...read } = plain;
  assertEquals(read, expected, text);
  return true;
}

const RULES = `---
# Limits of the shop
domain: shop

descriptors:
  - key: client # by its name
    value: "a: b"
    rate_limit: {unit: hour, requests_per_unit: 1000, name: 'x y'}
  # more of them
  - key: remote_address
    value: 10.0.0.1
    rate_limit:
      unit: minute
      requests_per_unit: 010
      burst: 7
      algorithm: Token_Bucket
      replaces:
      - name: x y
      - {name: z}

    descriptors:
    - key: path
      value: /api/v1:get*
      share_threshold: yes
    - key: path
      rate_limit:
        unlimited: True
      shadow_mode: on
      quota_mode: false
      detailed_metric: n
      value_to_metric: y
      metadata:
        team: ~
        share: .5
        list:
        - 1
        - a: {b: c}
        empty:
  - {key: last, value: 5, rate_limit: {unit: Day, requests_per_unit: 0}}
`;

Deno.test("readPlainDomain() gives what readAnyDomain() gives for rules as they are written", () => {
  assert(isReadAlike(RULES));
  assert(isReadAlike(RULES.trimEnd()));
  assert(isReadAlike("domain: a\n"));
  assert(isReadAlike("domain: a\ndescriptors:\n- key: b\n  value:\n"));
});

Deno.test("readPlainDomain() reads the commonest descriptors whatever stands around them", () => {
  const head = "domain: a\ndescriptors:\n";
  const pair = "unit: hour\n      requests_per_unit: 5\n";
  const limit = `  - key: b\n    rate_limit:\n      ${pair}`;
  const flow = "  - key: c\n    rate_limit: {unit: day, requests_per_unit: 7}";
  const texts = [
    limit,
    `${limit}      burst: 3\n`,
    `${limit}\n      burst: 3\n`,
    `${limit}# burst\n\n      burst: 3\n`,
    `${limit}    shadow_mode: true\n`,
    `${limit}\n    # on trial\n    shadow_mode: true\n${flow}\n${limit}`,
    `${limit}  - key: c\n`,
    `${limit}       name: deeper\n`,
    limit.trimEnd(),
    limit.replace("hour", "hour # of the day"),
    limit.replace("      unit", "   unit"),
    limit.replace("      unit", "    unit"),
    limit.replace("      requests", "       requests"),
    limit.replace("hour", "hours"),
    limit.replace("5", "05"),
    limit.replace("5", "5e3"),
    limit.replace("rate_limit:", "rate_limit: x"),
    flow,
    `${flow} # seven\n${limit}`,
    `${flow} x\n`,
    flow.replace("7}", "7, burst: 3}"),
    flow.replace("7}", "7,}"),
    flow.replace("  - key: c\n    ", "  - {key: c, ") + "}\n",
  ];
  const values = [
    "v",
    "v # why",
    "null",
    "True",
    "v: w",
    "1",
    "",
    "a b",
    "'c'",
    "'it''s'",
    "''",
    '"d e"',
    '"true"',
    '"\\\\n"',
    "x*",
    "x#y",
  ];
  for (const text of texts) {
    isReadAlike(head + text);
    for (const value of values) {
      for (const indent of [3, 4, 5]) {
        const line = `\n${" ".repeat(indent)}value: ${value}\n`;
        isReadAlike(head + text.replace("\n", line));
      }
    }
  }
  for (const key of ["null", "true", "a-b.c/d", "a*"]) {
    isReadAlike(head + limit.replace("key: b", `key: ${key}`));
  }
  for (const value of ["v", "'c'", '"d e"', "x*"]) {
    const text = limit.replace("\n", `\n    value: ${value}\n`);
    assert(isReadAlike(head + text + text.replace("key: b", "key: c")), text);
  }
  assert(isReadAlike(head + limit + flow));
});

Deno.test("readPlainDomain() knows the lines of descriptors", () => {
  const domain = readPlainDomain({ name: "a", text: RULES });
  const lines = domain!.descriptors.map(({ line, descriptors }) => [
    line,
    ...descriptors.map((below) => below.line),
  ]);
  assertEquals(lines, [[6], [10, 22, 25], [39]]);
});

Deno.test("readPlainDomain() reads what a scalar means as readAnyDomain() does", () => {
  let alike = 0;
  for (
    const scalar of [
      ...["a", "-5", "+1", "0", "00", "010", "0x1f", "0b1", "1_000", "1:30"],
      ...["1.0", "1e3", ".5", ".inf", "-.inf", ".nan", "12345678901234567890"],
      ...["null", "Null", "nUll", "~", "true", "TRUE", "yes", "off", "/a b"],
      ...["10.0.0.1", "2001-01-01", "(a)", "$x", "^a$", "a:b", "a*", "1 2"],
      ...['"5"', "'true'", '""', "''", '"a # b"', "'{a: b}'", "_", "..a", "-"],
      ...['"yes"', "'010'", "", " ", "4294967295", "4294967296", "--", "---"],
    ]
  ) {
    for (
      const word of [
        ...["key", "value", "shadow_mode", "share_threshold", "metadata"],
        ...["rate_limit", "descriptors"],
      ]
    ) {
      const rule = `${word}: ${scalar}\n    rate_limit: {unlimited: on}`;
      const text = `domain: a\ndescriptors:\n  - ${rule}\n`;
      if (isReadAlike(text)) alike++;
    }
    for (
      const word of ["unit", "requests_per_unit", "burst", "unlimited", "name"]
    ) {
      const limit = `{requests_per_unit: 5, ${word}: ${scalar} }`;
      const text = `domain: a\ndescriptors:\n- key: b\n  rate_limit: `;
      if (isReadAlike(`${text}${limit} # why\n`)) alike++;
      if (isReadAlike(`${text}\n    ${word}: ${scalar}\n`)) alike++;
    }
    const metadata = `metadata: {a: ${scalar}, b: [], c: {d: ${scalar}}}`;
    const rest = "rate_limit: {unlimited: yes}";
    const rule = `- key: a\n  ${metadata.replace("b: [], ", "")}\n  ${rest}\n`;
    if (isReadAlike(`domain: a\ndescriptors:\n${rule}`)) alike++;
  }
  assert(alike > 200, String(alike));
});

Deno.test("readPlainDomain() leaves all else to readAnyDomain()", () => {
  const rules = "domain: a\ndescriptors:\n";
  for (
    const text of [
      ...["", "# nothing\n", "a", "[1]\n", "{domain: a}\n", " domain: a\n"],
      ...["domain: a\n---\ndomain: b\n", "domain: a\n...\n", "domain:\ta\n"],
      ...["domain: &x a\n", "domain: *x\n", "domain: !!str a\n"],
      ...["domain: |\n  b\n", "domain: b\n  c\n", "domain: 'b\n  c'\n"],
      ...[
        'domain: "\\n"\n',
        "domain: 'it''s'\n",
        "domain: ü\n",
        "domain: a\r\n",
      ],
      ...["domain: a\ndomain: b\n", "domain: a\n<<: {a: b}\n", "domain: \n"],
      ...["domain: a\nnull: b\n", "domain: a b: c\n", "domain: a#b c: d\n"],
      ...["domain: {a: b}\n", "domain: a\ndescriptors: []\n", "domain: .5\n"],
      ...["domain: a\ndescriptors: {a: b}\n", "domain: a\ndescriptors: b\n"],
      `${rules}- - key: a\n`,
      `${rules}-\n  key: a\n`,
      `${rules}- a\n`,
      `${rules}  - key: a\n - key: b\n`,
      `${rules}  - key: a\n      value: b\n`,
      `${rules}  - key: a\n   value: b\n`,
      `${rules}- {key: a, value}\n`,
      `${rules}- {key: a\n`,
      `${rules}- {key:a}\n`,
      `${rules}- {key: a} b\n`,
      `${rules}- key: a\n  shadow_mode: yes\n`,
      `${rules}- key: a\n  shadow_mode: "yes"\n  rate_limit: {unlimited: yes}\n`,
      `${rules}- key: a\n  rate_limit: {unit: hour}\n`,
      `${rules}- key: a\n  kye: b\n`,
      `${rules}- key: a\n  key: b\n`,
      `${rules}- key: ${"b".repeat(10_000)}\n`,
      `${rules}- key: a\n  metadata: ${"{a: ".repeat(300)}b${
        "}".repeat(300)
      }\n`,
      `${rules}${
        Array.from({ length: 300 }, (_, n) =>
          `${"  ".repeat(n)}- key: a\n${"  ".repeat(n)}  descriptors:\n`).join(
            "",
          )
      }`,
      "a:".repeat(3_000),
    ]
  ) {
    const domain = readPlainDomain({ name: "a", text });
    assertEquals(domain, undefined, text.slice(0, 80));
  }
});

/** Descriptors that are read at once. */
const LEAVES = [
  "  - key: a\n    value: b\n    rate_limit: {unit: day, requests_per_unit: 5}\n",
  "  - key: a\n    value: 'b c'\n    rate_limit:\n      unit: day\n" +
  "      requests_per_unit: 5\n\n  # another\n  - key: c\n",
];

const PIECES: readonly string[] = [
  ..."abc:-#{},'\"~.0159*&!|>[]%@/\\? \t\n".split(""),
  ...["a: ", "key: ", "- ", "  ", "\n", "\n  ", "\n    ", "{key: b}", "name: "],
  ...["true", "null", "1.5", " # c", "---", "...", "<<: ", "'x'", '"y"', "yes"],
];

/** Returns the text with parts removed, doubled, and inserted. */
function mutated(text: string, random: SeededRandom): string {
  let changed = text;
  for (let times = 1 + random.below(4); times > 0; times--) {
    const at = random.below(changed.length + 1);
    const end = at + (random.chance(.5) ? 0 : random.below(8));
    const piece = random.chance(.2)
      ? changed.slice(at, at + random.below(60))
      : random.pick(PIECES);
    changed = changed.slice(0, at) + piece + changed.slice(end);
  }
  return changed;
}

Deno.test("readPlainDomain() gives nothing or what readAnyDomain() gives for texts like rules", async () => {
  let alike = 0;
  let others = 0;
  const items = [...RULES.split(/^(?= {2}- )/m).slice(1), ...LEAVES];
  await eachRound({ rounds: 60 }, ({ random }) => {
    for (let times = 0; times < 50; times++) {
      const text = random.chance(.3)
        ? RULES
        : "domain: a\ndescriptors:\n" + random.pick(items);
      if (isReadAlike(mutated(text, random))) alike++;
      else others++;
    }
  });
  // Both kinds must have occurred, or nothing was tested.
  assert(alike > 100 && others > 100, `${alike} and ${others}`);
});
