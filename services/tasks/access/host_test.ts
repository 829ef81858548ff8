import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { type HostOutcome, parseHost, parseServiceHost } from "./host.ts";

const SERVICE = { serviceHost: "tasks.example.com" };

function tenant(label: string): HostOutcome {
  return { kind: "tenant", label };
}

Deno.test("parseHost() tells the parts of the service apart", () => {
  const cases: readonly [string, HostOutcome][] = [
    ["tasks.example.com", { kind: "apex" }],
    ["accounts.tasks.example.com", { kind: "accounts" }],
    ["accounts.admin.tasks.example.com", { kind: "accounts_admin" }],
    ["acme.tasks.example.com", tenant("acme")],
    ["ACME.Tasks.EXAMPLE.com:8070", tenant("acme")],
    ["acme.tasks.example.com.", tenant("acme")],
    ["acme.tasks.example.com.:443", tenant("acme")],
    ["acme.tasks.example.com:", tenant("acme")],
    ["Accounts.tasks.example.com:1", { kind: "accounts" }],
  ];
  for (const [header, expected] of cases) {
    assertEquals(parseHost(header, SERVICE), expected, header);
  }
});

Deno.test("parseHost() does not know other names", () => {
  const cases = [
    "example.com",
    "evil.com",
    "eviltasks.example.com",
    "acme.tasks.example.com.evil.com",
    "a.b.tasks.example.com",
    "x.accounts.tasks.example.com",
    "x.accounts.admin.tasks.example.com",
    "a_b.tasks.example.com",
    "xn--bcher-kva.tasks.example.com",
    "localhost",
    "acme.localhost",
    "127.0.0.1:8070",
    "[::1]",
    "[::1]:8070",
    "[2001:DB8::1]:80",
  ];
  for (const header of cases) {
    assertEquals(parseHost(header, SERVICE), { kind: "unknown" }, header);
  }
});

Deno.test("parseHost() refuses what is no host, or more than one", () => {
  const cases = [
    undefined,
    null,
    "",
    [],
    ["acme.tasks.example.com", "acme.tasks.example.com"],
    "acme.tasks.example.com, other.tasks.example.com",
    "acme.tasks.example.com..",
    ".",
    ".tasks.example.com",
    "acme..tasks.example.com",
    "-a.tasks.example.com",
    "user@acme.tasks.example.com",
    "http://acme.tasks.example.com",
    "acme.tasks.example.com/x",
    "acme.tasks.example.com:80:80",
    "acme.tasks.example.com:65536",
    "acme.tasks.example.com:-1",
    "acme.tasks.example.com:8a",
    " acme.tasks.example.com",
    "acme%2etasks.example.com",
    "\u212aey.tasks.example.com",
    "::1",
    "[::1",
    "[::1]x",
    "[::1]:x",
    "[fe80::1%eth0]",
    "[v1.a]",
    "[127.0.0.1]",
    "[]",
    `${"a".repeat(64)}.tasks.example.com`,
    `${"a.".repeat(200)}tasks.example.com`,
  ];
  for (const header of cases) {
    assertEquals(
      parseHost(header, SERVICE),
      { kind: "bad_host" },
      String(header),
    );
  }
  const one = parseHost(["acme.tasks.example.com"], SERVICE);
  assertEquals(one, tenant("acme"));
});

Deno.test("parseHost() takes an address as the service's host", () => {
  for (const host of ["[::1]", "127.0.0.1", "localhost"]) {
    const serviceHost = parseServiceHost(host);
    assert(serviceHost !== undefined);
    assertEquals(parseHost(`${host}:8070`, { serviceHost }), { kind: "apex" });
  }
});

Deno.test("parseServiceHost() takes a host name without scheme and port", () => {
  assertEquals(parseServiceHost("Tasks.Example.com."), "tasks.example.com");
  for (const text of ["", "a:80", "a:", "http://a", "a/", "[::1]:80", ".a"]) {
    assertEquals(parseServiceHost(text), undefined, text);
  }
});

Deno.test("parseHost() names a tenant only by a label before the service's host", () => {
  const random = new SeededRandom(3);
  const pieces = [
    "acme",
    "A",
    "-",
    ".",
    "..",
    ":",
    "80",
    "tasks.example.com",
    "accounts",
    "admin",
    "[",
    "]",
    "::1",
    "@",
    "_",
    " ",
    "\u0130",
    "xn--a",
  ];
  let tenants = 0;
  for (let round = 0; round < 50_000; round++) {
    const text = random.list(5, () => random.pick(pieces)).join("") +
      random.pick(["", ".tasks.example.com", ".tasks.example.com:80"]);
    const outcome = parseHost(text, SERVICE);
    if (outcome.kind !== "tenant") continue;
    tenants++;
    const { hostname } = new URL(`http://${text}/`);
    const plain = hostname.replace(/\.$/, "");
    assertEquals(`${outcome.label}.tasks.example.com`, plain, text);
  }
  assert(tenants > 1_000, String(tenants));
});
