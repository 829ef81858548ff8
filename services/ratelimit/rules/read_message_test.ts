import { assert, assertEquals } from "@std/assert";
import {
  delimited,
  joinedBytes,
  varintField,
} from "../../../proto/testing/hand_wire.ts";
import { loadSchema } from "../../../proto/testing/schema.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { formatConfigFault } from "./config.ts";
import { loadRules } from "./load.ts";
import { readDomain } from "./read_domain.ts";
import { readMessage } from "./read_message.ts";
import { formatPath } from "./snapshot.ts";

const TYPE = "ratelimit.config.ratelimit.v3.RateLimitConfig";
const UNITS = ["second", "minute", "hour", "day", "month", "year", "week"];

type Plain = Record<string, unknown>;

const config = (await loadSchema())(TYPE);

/**
 * Encodes a resource from protobufjs' plain form, in which enums are numbers.
 */
function resource(plain: Plain): {
  readonly name: string;
  readonly bytes: Uint8Array;
} {
  return { name: "resources[0]", bytes: config.encode(plain) };
}

function findFaults(...plain: readonly Plain[]): readonly string[] {
  return loadRules(plain.map(resource)).faults.map(formatConfigFault);
}

function oneRule(descriptor: Plain): Plain {
  return { name: "edge-rules", domain: "edge", descriptors: [descriptor] };
}

Deno.test("readMessage() reads what readDomain() reads of the same rules in a file", () => {
  const random = new SeededRandom(71);
  for (let round = 0; round < 200; round++) {
    const { file, message } = randomRules(random);
    const text = JSON.stringify({ domain: "edge", descriptors: file });
    const fromFile = readDomain({ name: "edge-rules", text });
    const fromMessage = readMessage(
      resource({ name: "edge-rules", domain: "edge", descriptors: message }),
    );
    assertEquals(fromFile.faults, []);
    assertEquals(fromMessage.faults, []);
    const { findLine: _, ...read } = fromMessage.domain!;
    const { findLine: __, ...expected } = fromFile.domain!;
    assertEquals(upperUnits(read), upperUnits(expected));
    assertEquals(
      fromMessage.warnings.map(({ path, reason }) => [path, reason]),
      fromFile.warnings.map(({ path, reason }) => [path, reason]),
    );
  }
});

Deno.test("loadRules() tells faults of resources with the resource's name in place of the file's", () => {
  const limit = { unit: 4, requestsPerUnit: 1 };
  assertEquals(
    findFaults({ name: "edge-rules", descriptors: [{ key: "k" }] }),
    ["edge-rules: config file cannot have empty domain"],
  );
  assertEquals(findFaults(oneRule({ rateLimit: limit })), [
    "edge-rules: descriptor has empty key at descriptors[0]",
  ]);
  assertEquals(findFaults(oneRule({ key: "k", rateLimit: {} })), [
    "edge-rules: invalid rate limit unit 'UNKNOWN', expected one of second, " +
    "minute, hour, day, week, month, year, or window: 15m in its place at " +
    "descriptors[0].rate_limit.unit",
  ]);
  assert(
    findFaults(oneRule({ key: "k", rateLimit: { unit: 9 } }))[0]?.startsWith(
      "edge-rules: invalid rate limit unit '9', ",
    ),
  );
  assertEquals(
    findFaults(oneRule({ key: "k", rateLimit: { ...limit, unlimited: true } })),
    [
      "edge-rules: should not specify rate limit unit when unlimited at " +
      "descriptors[0].rate_limit.unit",
    ],
  );
  assertEquals(
    findFaults(oneRule({ key: "k", rateLimit: { ...limit, burst: 0 } })),
    [
      "edge-rules: burst is what a token bucket holds: write algorithm: " +
      "token_bucket beside it, or take it out at " +
      "descriptors[0].rate_limit.burst",
    ],
  );
  assertEquals(
    findFaults(
      { ...oneRule({ key: "k" }), name: "first" },
      { ...oneRule({ key: "k" }), name: "second" },
    ),
    [
      "second: duplicate domain 'edge' in config file; " +
      "MERGE_DOMAIN_CONFIG=true allows several files for one domain at domain",
    ],
  );
  assertEquals(
    findFaults(oneRule({
      key: "k",
      descriptors: [{
        key: "inner",
        rateLimit: { ...limit, name: "a", replaces: [{ name: "a" }, {}] },
      }],
    })),
    [
      "edge-rules: replaces should not contain name of same descriptor at " +
      "descriptors[0].descriptors[0].rate_limit.replaces[0]",
      "edge-rules: should not have an empty replaces entry at " +
      "descriptors[0].descriptors[0].rate_limit.replaces[1]",
    ],
  );
});

Deno.test("loadRules() merges resources of one domain when told to", () => {
  const { snapshot } = loadRules([
    resource(oneRule({ key: "a", rateLimit: { unit: 4 } })),
    resource(oneRule({ key: "b", rateLimit: { unit: 7 } })),
  ], { mergeDomains: true });
  assertEquals(snapshot?.domainNames, ["edge"]);
  assertEquals(
    snapshot!.rules.map((rule) => [formatPath(rule), rule.limit?.unit]),
    [
      ["edge.a", "DAY"],
      ["edge.b", "WEEK"],
    ],
  );
});

Deno.test("readMessage() takes an unlimited rule without a unit", () => {
  const rules = oneRule({ key: "k", rateLimit: { unlimited: true } });
  const { snapshot, faults } = loadRules([resource(rules)]);
  assertEquals(faults, []);
  assertEquals(snapshot?.rules[0]?.limit, undefined);
});

Deno.test("readMessage() calls a resource without a name by its place", () => {
  const { faults } = readMessage(resource({ domain: "" }));
  assertEquals(faults.map(formatConfigFault), [
    "resources[0]: config file cannot have empty domain",
  ]);
});

Deno.test("readMessage() refuses bytes that are no rules", () => {
  const { domain, faults } = readMessage({
    name: "resources[3]",
    bytes: new Uint8Array([0x0a, 9]),
  });
  assertEquals(domain, undefined);
  assertEquals(faults.map(formatConfigFault), [
    "resources[3]: error loading config file: Cannot decode rules: truncated " +
    "field 1 at byte 2",
  ]);
});

Deno.test("readMessage() refuses metadata that an answer could not carry", () => {
  const nested = (levels: number): Uint8Array => {
    let value = delimited(3, "x");
    for (let level = 1; level < levels; level++) {
      value = delimited(5, structField("a", value));
    }
    return structField("a", value);
  };
  const withMetadata = (metadata: Uint8Array) =>
    readMessage({
      name: "m",
      bytes: joinedBytes(
        delimited(2, "edge"),
        delimited(
          3,
          joinedBytes(
            delimited(1, "k"),
            delimited(3, varintField(1, 4)),
            delimited(8, metadata),
          ),
        ),
      ),
    }).faults.map(formatConfigFault);
  assertEquals(withMetadata(nested(31)), []);
  assertEquals(withMetadata(nested(32)), [
    "m: error parsing metadata: it nests deeper than 31 levels at " +
    "descriptors[0].metadata",
  ]);
  const infinite = joinedBytes(2 << 3 | 1, [0, 0, 0, 0, 0, 0, 0xf0, 0x7f]);
  assertEquals(withMetadata(structField("a", infinite)), [
    'm: error parsing metadata: "Infinity" is not a value of a Struct at ' +
    "descriptors[0].metadata",
  ]);
});

/** Returns the same random rules for a file and for a message. */
function randomRules(random: SeededRandom, depth = 0): {
  readonly file: readonly Plain[];
  readonly message: readonly Plain[];
} {
  const pairs = Array.from({ length: random.below(4) + 1 }, (_, at) => {
    const below = depth < 3 && random.chance(0.5)
      ? randomRules(random, depth + 1)
      : undefined;
    const unlimited = random.chance(0.2);
    const unit = random.below(7) + 1;
    const limit = {
      unlimited,
      name: random.pick(["", `n${at}`]),
      replaces: random.list(3, () => ({ name: `other${random.below(9)}` })),
    };
    const count = random.below(1_000);
    const hasLimit = random.chance(0.7);
    const flags = [random.chance(0.5), random.chance(0.5), random.chance(0.5)];
    const bucket = random.chance(0.3)
      ? { algorithm: "token_bucket", burst: 1 + random.below(9) }
      : {};
    const owner = random.chance(0.3) ? `team${at}` : undefined;
    const common = {
      key: `k${at}`,
      value: random.pick(["", `v${at}`, "v*"]),
    };
    return {
      file: {
        ...common,
        ...(hasLimit && {
          rate_limit: {
            ...limit,
            requests_per_unit: count,
            ...(!unlimited && { unit: UNITS[unit - 1], ...bucket }),
          },
        }),
        ...(flags[0] && { shadow_mode: true }),
        ...(flags[1] && { quota_mode: true }),
        ...(flags[2] && { detailed_metric: true }),
        ...(owner !== undefined && { metadata: { owner } }),
        ...(below !== undefined && { descriptors: below.file }),
      },
      message: {
        ...common,
        ...(hasLimit && {
          rateLimit: {
            ...limit,
            requestsPerUnit: count,
            ...(!unlimited && { unit, ...bucket }),
          },
        }),
        shadowMode: flags[0],
        quotaMode: flags[1],
        detailedMetric: flags[2],
        ...(owner !== undefined && {
          metadata: { fields: { owner: { stringValue: owner } } },
        }),
        ...(below !== undefined && { descriptors: below.message }),
      },
    };
  });
  return {
    file: pairs.map(({ file }) => file),
    message: pairs.map(({ message }) => message),
  };
}

/**
 * Returns the values with units as a message has them: in upper case, UNKNOWN
 * for an empty one. A file writes units in lower case, and may leave out the
 * unit of an unlimited rule.
 */
function upperUnits(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(
      value,
      (key, inner) =>
        key !== "unit" ? inner : inner === "" ? "UNKNOWN" : inner.toUpperCase(),
    ),
  );
}

/** Returns a Struct with one field, whose value is given as bytes. */
function structField(name: string, value: Uint8Array): Uint8Array {
  return delimited(1, joinedBytes(delimited(1, name), delimited(2, value)));
}
