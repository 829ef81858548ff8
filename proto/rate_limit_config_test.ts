import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../tests/support/seeded_random.ts";
import {
  type ConfiguredDescriptor,
  decodeRateLimitConfig,
  type RateLimitPolicy,
} from "./rate_limit_config.ts";
import { delimited, joinedBytes, varintField } from "./testing/hand_wire.ts";
import { randomText, randomUint32 } from "./testing/random_messages.ts";
import { loadSchema } from "./testing/schema.ts";

const TYPE = "ratelimit.config.ratelimit.v3.RateLimitConfig";

const PLAIN: ConfiguredDescriptor = {
  key: "",
  value: "",
  rateLimit: undefined,
  rateLimits: [],
  descriptors: [],
  shadowMode: false,
  detailedMetric: false,
  quotaMode: false,
  metadata: undefined,
};

const PLAIN_POLICY: RateLimitPolicy = {
  unit: 0,
  requestsPerUnit: 0,
  unlimited: false,
  name: "",
  replaces: [],
  algorithm: "",
  burst: undefined,
  windowSeconds: 0,
  shadowMode: false,
};

/** Returns a limit in which any field may be set. */
function randomPolicy(random: SeededRandom): RateLimitPolicy {
  return {
    unit: random.pick([0, 1, 6, 7, 99, -1]),
    requestsPerUnit: randomUint32(random),
    unlimited: random.chance(0.3),
    name: randomText(random),
    replaces: random.list(3, () => randomText(random)),
    algorithm: randomText(random),
    burst: random.chance(0.5) ? randomUint32(random) : undefined,
    windowSeconds: random.chance(0.5) ? randomUint32(random) : 0,
    shadowMode: random.chance(0.3),
  };
}

/** Returns a descriptor of several levels in which any field may be set. */
function randomDescriptor(
  random: SeededRandom,
  depth = 0,
): ConfiguredDescriptor {
  return {
    key: randomText(random),
    value: randomText(random),
    rateLimit: random.chance(0.5) ? randomPolicy(random) : undefined,
    rateLimits: random.list(2, () => randomPolicy(random)),
    descriptors: depth === 3
      ? []
      : random.list(3, () => randomDescriptor(random, depth + 1)),
    shadowMode: random.chance(0.5),
    detailedMetric: random.chance(0.5),
    quotaMode: random.chance(0.5),
    metadata: random.chance(0.5) ? { owner: randomText(random) } : undefined,
  };
}

/** Returns the descriptor in the plain form of the independent library. */
function toPlain(descriptor: ConfiguredDescriptor): Record<string, unknown> {
  const { rateLimit, rateLimits, metadata, descriptors, ...rest } = descriptor;
  const plainPolicy = (policy: RateLimitPolicy) => ({
    ...policy,
    replaces: policy.replaces.map((name) => ({ name })),
  });
  return {
    ...rest,
    descriptors: descriptors.map(toPlain),
    rateLimits: rateLimits.map(plainPolicy),
    ...(rateLimit !== undefined && { rateLimit: plainPolicy(rateLimit) }),
    ...(metadata !== undefined && {
      metadata: { fields: { owner: { stringValue: metadata.owner } } },
    }),
  };
}

Deno.test("decodeRateLimitConfig() reads what the independent library writes", async () => {
  const type = (await loadSchema())(TYPE);
  const random = new SeededRandom(61);
  for (let round = 0; round < 300; round++) {
    const config = {
      name: randomText(random),
      domain: randomText(random),
      descriptors: random.list(4, () => randomDescriptor(random)),
      countWhenLimited: random.chance(0.5),
    };
    const bytes = type.encode({
      ...config,
      descriptors: config.descriptors.map(toPlain),
    });
    assertEquals(decodeRateLimitConfig(bytes), config);
  }
});

Deno.test("decodeRateLimitConfig() merges a limit and metadata that come twice", () => {
  const bytes = delimited(
    3,
    joinedBytes(
      delimited(1, "k"),
      delimited(3, joinedBytes(varintField(1, 2), varintField(2, 5))),
      delimited(3, joinedBytes(varintField(2, 6), delimited(4, "n"))),
      delimited(8, structField("a", "1")),
      delimited(8, structField("b", "2")),
    ),
  );
  assertEquals(decodeRateLimitConfig(bytes), {
    name: "",
    domain: "",
    descriptors: [{
      ...PLAIN,
      key: "k",
      rateLimit: { ...PLAIN_POLICY, unit: 2, requestsPerUnit: 6, name: "n" },
      metadata: { a: "1", b: "2" },
    }],
    countWhenLimited: true,
  });
});

Deno.test("decodeRateLimitConfig() skips fields that it does not know", () => {
  const unknown = joinedBytes(delimited(15, "x"), varintField(14, 1));
  const policy = joinedBytes(unknown, varintField(3, 1));
  const item = joinedBytes(unknown, delimited(1, "k"), delimited(3, policy));
  assertEquals(
    decodeRateLimitConfig(
      joinedBytes(unknown, delimited(2, "d"), delimited(3, item), unknown),
    ),
    {
      name: "",
      domain: "d",
      descriptors: [{
        ...PLAIN,
        key: "k",
        rateLimit: { ...PLAIN_POLICY, unlimited: true },
      }],
      countWhenLimited: true,
    },
  );
});

Deno.test("decodeRateLimitConfig() refuses levels without end", () => {
  const nested = (levels: number): Uint8Array => {
    let bytes = delimited(1, "k");
    for (let level = 1; level < levels; level++) bytes = delimited(4, bytes);
    return delimited(3, bytes);
  };
  assert(!("kind" in decodeRateLimitConfig(nested(100))));
  for (const levels of [101, 2_000]) {
    const refused = decodeRateLimitConfig(nested(levels));
    assert("kind" in refused);
    assert(
      refused.reason.startsWith(
        "Cannot decode rules: descriptors are nested over 100 deep at byte ",
      ),
      refused.reason,
    );
  }
});

Deno.test("decodeRateLimitConfig() tells what is wrong and never throws", () => {
  const broken = decodeRateLimitConfig(
    delimited(3, joinedBytes(delimited(1, [0xff]))),
  );
  assert("kind" in broken);
  assertEquals(
    broken.reason,
    "Cannot decode rules: field 1 at byte 4 is not UTF-8 text",
  );
  const random = new SeededRandom(62);
  for (let round = 0; round < 20_000; round++) {
    const bytes = random.bytes(random.below(40));
    assertEquals(typeof decodeRateLimitConfig(bytes), "object");
  }
});

/** `{name: text}` as the one field of a Struct. */
function structField(name: string, text: string): Uint8Array {
  return delimited(
    1,
    joinedBytes(delimited(1, name), delimited(2, delimited(3, text))),
  );
}
