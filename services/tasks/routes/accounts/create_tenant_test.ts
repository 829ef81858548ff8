import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import { isLabel } from "../../access/host.ts";
import { parseTenantDomain } from "./create_tenant.ts";

Deno.test("parseTenantDomain() accepts labels and lowers them", () => {
  const cases: Readonly<Record<string, string>> = {
    "acme": "acme",
    "ACME": "acme",
    "a": "a",
    "7": "7",
    "3com": "3com",
    "a--b": "a--b",
    "my-team-2": "my-team-2",
    ["a".repeat(63)]: "a".repeat(63),
  };
  for (const [input, domain] of Object.entries(cases)) {
    assertEquals(parseTenantDomain(input), { kind: "ok", domain }, input);
  }
});

Deno.test("parseTenantDomain() refuses what is no label", () => {
  const cases = [
    "",
    "-a",
    "a-",
    "-",
    "a.b",
    "a.",
    "a_b",
    "a b",
    " acme",
    "acme\n",
    "a".repeat(64),
    "äcme",
    // The Kelvin sign becomes "k" in lower case.
    "\u212aey",
    "acme\u0000",
    "__proto__",
  ];
  for (const input of cases) {
    assertEquals(parseTenantDomain(input).kind, "invalid", input);
  }
});

Deno.test("parseTenantDomain() refuses punycode in any case", () => {
  for (const input of ["xn--bcher-kva", "XN--bcher-kva", "Xn--a"]) {
    const outcome = parseTenantDomain(input);
    assert(outcome.kind === "invalid");
    assertStringIncludes(outcome.reason, "punycode");
  }
});

Deno.test("parseTenantDomain() keeps reserved names for the service", () => {
  const names =
    "accounts admin api www plans prices docs status static assets " +
    "mail ns1 ns2 localhost test internal";
  for (const name of names.split(" ")) {
    assertEquals(parseTenantDomain(name).kind, "reserved", name);
    assertEquals(parseTenantDomain(name.toUpperCase()).kind, "reserved", name);
  }
  assertEquals(parseTenantDomain("constructor").kind, "ok");
});

Deno.test("parseTenantDomain() gives labels that it accepts again, for any text", () => {
  const random = new SeededRandom(7);
  const letters = [..."abzAZ019-._ xn\u00e9\u212a\u0130"];
  let taken = 0;
  for (let round = 0; round < 20_000; round++) {
    const input = random.list(9, () => random.pick(letters)).join("");
    const outcome = parseTenantDomain(input);
    if (outcome.kind !== "ok") continue;
    taken++;
    assert(isLabel(outcome.domain));
    assertEquals(parseTenantDomain(outcome.domain), outcome);
    assertEquals(
      new URL(`http://${outcome.domain}.example/`).hostname,
      `${outcome.domain}.example`,
    );
  }
  assert(taken > 1_000, String(taken));
});
