/**
 * Random requests and answers for tests, with values at the borders of the
 * encoding.
 *
 * @module
 */

import type {
  RateLimitDescriptor,
  RateLimitRequest,
} from "../rate_limit_request.ts";
import {
  CODE,
  type DescriptorStatus,
  type RateLimitResponse,
} from "../rate_limit_response.ts";
import type { JsonObject, JsonValue } from "../struct.ts";
import type { SeededRandom } from "../../tests/support/seeded_random.ts";

/** Text: short, empty, long enough for a two-byte length, and of every width of UTF-8. */
export function randomText(random: SeededRandom): string {
  return random.pick([
    "",
    "path",
    "/v1/users/7",
    "\u00e9\u07ff\u0800\uffff",
    "\u{10000}\u{10ffff}\u{1f600}",
    "\ufeffmark",
    "\u0000\u007f",
    "x".repeat(random.below(400)),
    "\u00fc".repeat(random.below(100)),
  ]);
}

/** An unsigned 32-bit value, often at a border of the encoding. */
export function randomUint32(random: SeededRandom): number {
  return random.pick([
    0,
    1,
    127,
    128,
    16_384,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    random.below(0x1_0000_0000),
  ]);
}

/** An unsigned value up to 2^53 - 1, often at a border of the encoding. */
export function randomUint53(random: SeededRandom): number {
  return random.pick([
    randomUint32(random),
    0x1_0000_0000,
    Number.MAX_SAFE_INTEGER,
    Math.floor(random.next() * Number.MAX_SAFE_INTEGER),
  ]);
}

/** A request. */
export function randomRequest(random: SeededRandom): RateLimitRequest {
  return {
    domain: randomText(random),
    descriptors: random.list(5, () => randomDescriptor(random)),
    ...(random.chance(0.5) && { hitsAddend: randomUint32(random) }),
  };
}

/** An answer. */
export function randomResponse(random: SeededRandom): RateLimitResponse {
  return {
    overallCode: randomCode(random),
    statuses: random.list(5, () => randomStatus(random)),
    responseHeadersToAdd: random.list(3, () => ({
      key: randomText(random),
      value: randomText(random),
    })),
    ...(random.chance(0.5) && { dynamicMetadata: randomObject(random, 3) }),
  };
}

/** A JSON object nested at most `depth` levels deep. */
export function randomObject(random: SeededRandom, depth: number): JsonObject {
  return Object.fromEntries(
    random.list(
      4,
      () => [randomText(random), randomJson(random, depth - 1)] as const,
    ),
  );
}

function randomJson(random: SeededRandom, depth: number): JsonValue {
  const nested = random.chance(0.4) && depth > 0;
  if (nested && random.chance(0.5)) return randomObject(random, depth);
  if (nested) return random.list(4, () => randomJson(random, depth - 1));
  return random.pick<JsonValue>([
    null,
    true,
    false,
    0,
    -1.5,
    1e300,
    "",
    randomText(random),
  ]);
}

function randomDescriptor(random: SeededRandom): RateLimitDescriptor {
  return {
    entries: random.list(4, () => ({
      key: randomText(random),
      value: randomText(random),
    })),
    ...(random.chance(0.3) && {
      limit: {
        requestsPerUnit: randomUint32(random),
        unit: random.pick([0, 1, 6, 7, 300, -1, 0x7fff_ffff, -0x8000_0000]),
      },
    }),
    ...(random.chance(0.3) && { hitsAddend: randomUint53(random) }),
    ...(random.chance(0.3) && { isNegativeHits: true }),
  };
}

function randomStatus(random: SeededRandom): DescriptorStatus {
  const name = randomText(random);
  return {
    code: randomCode(random),
    ...(random.chance(0.7) && {
      currentLimit: {
        requestsPerUnit: randomUint32(random),
        unit: random.pick([0, 1, 2, 3, 4, 5, 6, 7, 99]),
        ...(name !== "" && { name }),
      },
    }),
    limitRemaining: randomUint32(random),
    ...(random.chance(0.7) && {
      durationUntilResetSeconds: random.pick([0, 1, 86_400, 0xffff_ffff, -5]),
    }),
  };
}

function randomCode(random: SeededRandom): RateLimitResponse["overallCode"] {
  return random.pick([CODE.UNKNOWN, CODE.OK, CODE.OVER_LIMIT]);
}
