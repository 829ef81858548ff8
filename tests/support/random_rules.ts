/**
 * Generates random rate limit rules, and requests that often match them.
 *
 * @module
 */

import type { SeededRandom } from "./seeded_random.ts";
import type { RequestOfTest } from "./create_view.ts";

const KEYS = ["a", "b", "a_b"];
const VALUES = ["", "x", "xy", "x*", "*y", "*"];
const NAMES = ["n1", "n2", "n3"];

/** Returns a rules file of the domain "d" that has no errors. */
export function randomRules(random: SeededRandom): string {
  return JSON.stringify({
    domain: "d",
    descriptors: randomLevel(random, 1),
  });
}

function randomLevel(random: SeededRandom, depth: number): unknown[] {
  const level = new Map<string, unknown>();
  for (let at = 1 + random.below(5); at > 0; at--) {
    const key = random.pick(KEYS);
    const value = random.pick(VALUES);
    level.set(`${key} ${value}`, {
      key,
      ...(value === "" ? {} : { value }),
      ...(random.chance(0.8) ? { rate_limit: randomLimit(random) } : {}),
      ...(random.chance(0.15) ? { shadow_mode: true } : {}),
      ...(random.chance(0.15) ? { quota_mode: true } : {}),
      ...(value.includes("*") && random.chance(0.3)
        ? { share_threshold: true }
        : {}),
      ...(depth < 3 && random.chance(0.4)
        ? { descriptors: randomLevel(random, depth + 1) }
        : {}),
    });
  }
  return [...level.values()];
}

function randomLimit(random: SeededRandom): unknown {
  const name = random.chance(0.3) ? random.pick(NAMES) : "";
  const replaced = NAMES.filter((other) =>
    other !== name && random.chance(0.15)
  );
  const common = {
    ...(name === "" ? {} : { name }),
    ...(replaced.length === 0
      ? {}
      : { replaces: replaced.map((other) => ({ name: other })) }),
  };
  if (random.chance(0.1)) return { unlimited: true, ...common };
  const algorithm = random.pick([
    "fixed_window",
    "fixed_window",
    "sliding_window",
    "token_bucket",
  ]);
  return {
    unit: random.pick(["second", "minute"]),
    requests_per_unit: 1 + random.below(5),
    algorithm,
    ...(algorithm === "token_bucket" && random.chance(0.5)
      ? { burst: 1 + random.below(5) }
      : {}),
    ...common,
  };
}

/** Returns a request that often matches such rules. */
export function randomRequest(random: SeededRandom): RequestOfTest {
  return {
    domain: random.chance(0.95) ? "d" : "other",
    hitsAddend: random.below(3),
    descriptors: [0, ...random.list(4, () => 0)].map(() => ({
      entries: [0, ...random.list(3, () => 0)].map(() =>
        [random.pick(KEYS), random.pick(["x", "xy", "zy", ""])] as const
      ),
      ...(random.chance(0.1)
        ? { limit: { requestsPerUnit: 2, unit: 1 + random.below(3) } }
        : {}),
      ...(random.chance(0.3) ? { hitsAddend: random.below(4) } : {}),
    })),
  };
}
