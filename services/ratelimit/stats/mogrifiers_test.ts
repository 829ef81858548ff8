import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { mogrified, readMogrifiers } from "./mogrifiers.ts";

function read(
  env: Readonly<Record<string, string>>,
  names: readonly string[] = ["A"],
) {
  return readMogrifiers(names, (name) => env[name]);
}

/** The mogrifiers of the service's own documentation. */
const TWO_KEYS = {
  TAGGED_STATSD_MOGRIFIERS_KEYS_PATTERN:
    "^ratelimit\\.service\\.rate_limit\\.(.*)\\.(.*)\\.(.*)$",
  TAGGED_STATSD_MOGRIFIERS_KEYS_NAME: "ratelimit.service.rate_limit.$3",
  TAGGED_STATSD_MOGRIFIERS_KEYS_TAGS: "domain:$1,descriptor:$2,more:$9",
};

Deno.test("mogrified() takes the parts of a name out and makes them tags", async () => {
  const outcome = await read(TWO_KEYS, ["keys"]);
  assert(outcome.kind === "ok");
  const shown = mogrified(outcome.mogrifiers, { region: "eu" });
  assertEquals(shown("ratelimit.service.rate_limit.d.k_v.over_limit"), {
    name: "ratelimit.service.rate_limit.over_limit",
    ending: "|#descriptor:k_v,domain:d,more:$9,region:eu",
  });
  assertEquals(shown("other.name"), {
    name: "other.name",
    ending: "|#region:eu",
  });
  assertEquals(shown("a.__code=miss.__x=1"), {
    name: "a",
    ending: "|#code:miss,region:eu,x:1",
  });
  // No text of a caller ends a tag or a line.
  assertEquals(
    shown("ratelimit.service.rate_limit.d.k_a,b|c#d.over_limit").ending,
    "|#descriptor:k_a_b_c_d,domain:d,more:$9,region:eu",
  );
});

Deno.test("mogrified() uses the first mogrifier that matches", async () => {
  const outcome = await read({
    TAGGED_STATSD_MOGRIFIER_B_PATTERN: "x",
    TAGGED_STATSD_MOGRIFIER_B_NAME: "from_b",
    DOG_STATSD_MOGRIFIER_A_PATTERN: "x|y",
    DOG_STATSD_MOGRIFIER_A_NAME: "from_a",
  }, ["B", "A"]);
  assert(outcome.kind === "ok");
  const shown = mogrified(outcome.mogrifiers, {});
  assertEquals(shown("x.y"), { name: "from_b", ending: "" });
  assertEquals(shown("y"), { name: "from_a", ending: "" });
});

Deno.test("readMogrifiers() takes both spellings, and names what is missing or wrong", async () => {
  const good = {
    TAGGED_STATSD_MOGRIFIERS_A_PATTERN: "x",
    TAGGED_STATSD_MOGRIFIER_A_NAME: "y",
  };
  assertEquals((await read(good)).kind, "ok");
  const bad: readonly (readonly [Record<string, string>, string])[] = [
    [{}, 'the mogrifier "A" needs TAGGED_STATSD_MOGRIFIERS_A_PATTERN'],
    [
      { TAGGED_STATSD_MOGRIFIERS_A_PATTERN: "x" },
      "needs TAGGED_STATSD_MOGRIFIERS_A_NAME",
    ],
    [
      { ...good, TAGGED_STATSD_MOGRIFIERS_A_PATTERN: "(" },
      "TAGGED_STATSD_MOGRIFIERS_A_PATTERN: Cannot read pattern",
    ],
    [{ ...good, TAGGED_STATSD_MOGRIFIERS_A_TAGS: "a:" }, '"a:"'],
    [{ ...good, TAGGED_STATSD_MOGRIFIERS_A_TAGS: "a:b,,c:d" }, "without empty"],
    [
      { ...good, TAGGED_STATSD_MOGRIFIERS_A_NAME: "z" },
      "TAGGED_STATSD_MOGRIFIERS_A_NAME and TAGGED_STATSD_MOGRIFIER_A_NAME " +
      "differ",
    ],
  ];
  for (const [env, part] of bad) {
    const outcome = await read(env);
    assert(outcome.kind === "invalid");
    assertStringIncludes(outcome.problems.join("\n"), part);
  }
});
