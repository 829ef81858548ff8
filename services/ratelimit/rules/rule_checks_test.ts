import { assertEquals } from "@std/assert";
import { assertGrowth } from "../../../tests/support/growth.ts";
import type { DomainConfig } from "./config.ts";
import { atOnce, readPlainDomain } from "./read_plain.ts";
import { unreachableRules } from "./rule_checks.ts";

const WILDCARDS = 2_000;
const PREFIX = "/services/of_this_and_that_kind/which_all_begin_alike/";

/** Returns wildcards of so many keys; none of them beats another. */
function wildcardsOf(keys: number): DomainConfig {
  const descriptors = Array.from(
    { length: WILDCARDS },
    (_, at) => `  - key: key_${at % keys}\n    value: ${PREFIX}${at}/*\n`,
  );
  const text = `domain: d\ndescriptors:\n${descriptors.join("")}`;
  return readPlainDomain({ name: "a.yaml", text })!;
}

Deno.test("unreachableRules() takes hardly longer when all wildcards are of one key", async () => {
  const looking = (keys: number) => {
    const domains = [wildcardsOf(keys)];
    return () => atOnce(unreachableRules(domains));
  };
  const large = looking(1);
  assertEquals(large(), []);
  await assertGrowth({ small: looking(WILDCARDS / 4), large, atMost: 2 });
});
