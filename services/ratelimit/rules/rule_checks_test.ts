import { assert, assertEquals } from "@std/assert";
import { atOnce, readPlainDomain } from "./read_plain.ts";
import { unreachableRules } from "./rule_checks.ts";
import { Wildcard } from "./wildcard.ts";

const WILDCARDS = 2_000;
const PREFIX = "/services/of_this_and_that_kind/which_all_begin_alike/";

Deno.test("unreachableRules() tries few of the earlier patterns for each of many wildcards of one key", () => {
  // None of them beats another.
  const descriptors = Array.from(
    { length: WILDCARDS },
    (_, at) => `  - key: key\n    value: ${PREFIX}${at}/*\n`,
  );
  const text = `domain: d\ndescriptors:\n${descriptors.join("")}`;
  const { matches } = Wildcard.prototype;
  let tried = 0;
  Wildcard.prototype.matches = function (...bytes): boolean {
    tried++;
    return matches.apply(this, bytes);
  };
  try {
    const domain = readPlainDomain({ name: "a.yaml", text });
    assert(domain !== undefined);
    assertEquals(atOnce(unreachableRules([domain])), []);
  } finally {
    Wildcard.prototype.matches = matches;
  }
  // One by one it would be 190 for each.
  assert(tried < 60 * WILDCARDS, `${tried}`);
});
