import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import {
  type HostOutcome,
  parseServiceHost,
  resolveOrigin,
  resolveTarget,
} from "./host.ts";
import { type Network, parseNetwork } from "../../shared/ip_network.ts";

const SERVICE = { serviceHost: "tasks.example.com" };

/** The part of the service that a `Host` header alone stands for. */
function resolvePart(
  host: Parameters<typeof resolveTarget>[0]["host"],
  service: { readonly serviceHost: string },
): HostOutcome {
  const { part, path, prefix } = resolveTarget({ host, path: "/x" }, service);
  assertEquals([path, prefix], ["/x", ""]);
  return part;
}

function tenant(label: string): HostOutcome {
  return { kind: "tenant", label };
}

Deno.test("resolveTarget() tells the parts of the service apart", () => {
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
    assertEquals(resolvePart(header, SERVICE), expected, header);
  }
});

Deno.test("resolveTarget() does not know other names", () => {
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
    assertEquals(resolvePart(header, SERVICE), { kind: "unknown" }, header);
  }
});

Deno.test("resolveTarget() refuses what is no host, or more than one", () => {
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
      resolvePart(header, SERVICE),
      { kind: "bad_host" },
      String(header),
    );
  }
  const one = resolvePart(["acme.tasks.example.com"], SERVICE);
  assertEquals(one, tenant("acme"));
});

Deno.test("resolveTarget() takes an address as the service's host", () => {
  for (const host of ["[::1]", "127.0.0.1", "localhost"]) {
    const serviceHost = parseServiceHost(host);
    assert(serviceHost !== undefined);
    assertEquals(resolvePart(`${host}:8070`, { serviceHost }), {
      kind: "apex",
    });
  }
});

Deno.test("parseServiceHost() accepts a host name without scheme and port", () => {
  assertEquals(parseServiceHost("Tasks.Example.com."), "tasks.example.com");
  for (const text of ["", "a:80", "a:", "http://a", "a/", "[::1]:80", ".a"]) {
    assertEquals(parseServiceHost(text), undefined, text);
  }
});

Deno.test("resolveTarget() names a tenant only by a label before the service's host", () => {
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
    const outcome = resolvePart(text, SERVICE);
    if (outcome.kind !== "tenant") continue;
    tenants++;
    const { hostname } = new URL(`http://${text}/`);
    const plain = hostname.replace(/\.$/, "");
    assertEquals(`${outcome.label}.tasks.example.com`, plain, text);
  }
  assert(tenants > 1_000, String(tenants));
});

const OFF = { serviceHost: "tasks.example.com" };
const ON = { ...OFF, devFallback: true };

Deno.test("resolveTarget() goes by the host alone with the fallback off", () => {
  const hosts = ["acme.localhost:8070", "localhost", "127.0.0.1", "evil.com"];
  const paths = ["/t/acme/api/v1/tasks", "/accounts", "/accounts/admin", "/"];
  for (const host of hosts) {
    for (const path of paths) {
      assertEquals(
        resolveTarget({ host, path, xTenant: "acme" }, OFF),
        { part: { kind: "unknown" }, path, prefix: "" },
      );
    }
  }
  assertEquals(
    resolveTarget({
      host: "tasks.example.com",
      path: "/accounts",
      xTenant: "acme",
    }, OFF),
    { part: { kind: "apex" }, path: "/accounts", prefix: "" },
  );
});

Deno.test("resolveTarget() knows the names under localhost in development", () => {
  const path = "/api/v1/tasks";
  const cases: readonly [string, HostOutcome][] = [
    ["acme.localhost:8070", tenant("acme")],
    ["ACME.localhost.", tenant("acme")],
    ["accounts.localhost", { kind: "accounts" }],
    ["accounts.admin.localhost", { kind: "accounts_admin" }],
    ["localhost:8070", { kind: "apex" }],
    ["127.0.0.1:8070", { kind: "apex" }],
    ["[::1]:8070", { kind: "apex" }],
    ["evil.com", { kind: "unknown" }],
    ["a.b.localhost", { kind: "unknown" }],
    ["acme.localhost, b", { kind: "bad_host" }],
  ];
  for (const [host, part] of cases) {
    assertEquals(resolveTarget({ host, path }, ON), {
      part,
      path,
      prefix: "",
    }, host);
  }
});

Deno.test("resolveTarget() accepts X-Tenant where the host names nothing", () => {
  const path = "/t/other/api/v1/tasks";
  function partFor(
    target: Partial<Parameters<typeof resolveTarget>[0]>,
  ): HostOutcome {
    return resolveTarget({ host: "localhost", path, ...target }, ON).part;
  }
  assertEquals(partFor({ xTenant: "Acme" }), tenant("acme"));
  assertEquals(partFor({ xTenant: ["acme"] }), tenant("acme"));
  assertEquals(partFor({ xTenant: "acme", host: "tasks:80" }), tenant("acme"));
  for (
    const xTenant of [
      ["a", "b"],
      "a, b",
      "accounts",
      "accounts.admin",
      "-a",
      "\u212a",
    ]
  ) {
    assertEquals(partFor({ xTenant }), { kind: "unknown" }, String(xTenant));
  }
  assertEquals(partFor({ xTenant: "acme", host: "b.localhost" }), tenant("b"));
  assertEquals(
    partFor({ xTenant: "acme", host: "b.tasks.example.com" }),
    tenant("b"),
  );
  for (const xTenant of [[], "", null, undefined]) {
    assertEquals(partFor({ xTenant }), tenant("other"));
  }
});

Deno.test("resolveTarget() takes the tenant out of the path in development", () => {
  const cases: readonly [string, HostOutcome, string, string][] = [
    ["/t/acme/api/v1/tasks", tenant("acme"), "/api/v1/tasks", "/t/acme"],
    ["/t/ACME/api/v1/tasks/", tenant("acme"), "/api/v1/tasks/", "/t/ACME"],
    ["/t/acme/", tenant("acme"), "/", "/t/acme"],
    ["/t/acme", tenant("acme"), "/", "/t/acme"],
    ["/t/acme//x", tenant("acme"), "//x", "/t/acme"],
    ["/t/acme/t/b", tenant("acme"), "/t/b", "/t/acme"],
    ["/t/", { kind: "unknown" }, "/t/", ""],
    ["/t/a%2Fb/api", { kind: "unknown" }, "/t/a%2Fb/api", ""],
    ["/t/accounts/x", { kind: "unknown" }, "/t/accounts/x", ""],
    ["/accounts", { kind: "accounts" }, "/", "/accounts"],
    ["/accounts/", { kind: "accounts" }, "/", "/accounts"],
    ["/accounts/x", { kind: "accounts" }, "/x", "/accounts"],
    ["/accounts/admin", { kind: "accounts_admin" }, "/", "/accounts/admin"],
    [
      "/accounts/admin/acme",
      { kind: "accounts_admin" },
      "/acme",
      "/accounts/admin",
    ],
    [
      "/accounts/administrator",
      { kind: "accounts" },
      "/administrator",
      "/accounts",
    ],
    ["/accountsx", { kind: "apex" }, "/accountsx", ""],
    ["/plans", { kind: "apex" }, "/plans", ""],
    ["/tx/acme", { kind: "apex" }, "/tx/acme", ""],
  ];
  for (const [path, part, rest, prefix] of cases) {
    assertEquals(
      resolveTarget({ host: "localhost:8070", path }, ON),
      { part, path: rest, prefix },
      path,
    );
  }
});

Deno.test("resolveTarget() always leaves a path that is the end of the one given", () => {
  const random = new SeededRandom(5);
  const pieces = ["/", "t", "acme", "accounts", "admin", "api", "%2f", ".."];
  const hosts = ["localhost", "acme.localhost", "tasks.example.com", "x y"];
  for (let round = 0; round < 20_000; round++) {
    const path = `/${random.list(8, () => random.pick(pieces)).join("")}`;
    const resolved = resolveTarget({ host: random.pick(hosts), path }, ON);
    assert(resolved.path.startsWith("/"), path);
    assert(path.endsWith(resolved.path) || resolved.path === "/", path);
  }
});

const PROXIES: readonly Network[] = ["10.0.0.0/8", "::1"].map((text) => {
  const outcome = parseNetwork(text);
  assert(outcome.kind === "ok");
  return outcome.network;
});

const REQUEST: Parameters<typeof resolveOrigin>[0] = {
  peerAddress: "10.1.2.3",
  isTls: false,
  host: "internal:8070",
  forwardedHost: "acme.tasks.example.com",
  forwardedProto: "https",
  forwardedFor: "203.0.113.9",
};

Deno.test("resolveOrigin() believes a trusted proxy", () => {
  const expected = {
    host: "acme.tasks.example.com",
    scheme: "https",
    clientAddress: "203.0.113.9",
  } as const;
  assertEquals(resolveOrigin(REQUEST, PROXIES), expected);
  const mapped = { ...REQUEST, peerAddress: "::ffff:10.1.2.3" };
  assertEquals(resolveOrigin(mapped, PROXIES), expected);
});

Deno.test("resolveOrigin() trusts no other headers", () => {
  for (const peerAddress of ["192.0.2.1", "nonsense", undefined]) {
    assertEquals(resolveOrigin({ ...REQUEST, peerAddress }, PROXIES), {
      host: "internal:8070",
      scheme: "http",
      clientAddress: peerAddress,
    });
  }
  assertEquals(resolveOrigin(REQUEST, []).host, "internal:8070");
});

Deno.test("resolveOrigin() goes by the connection where the proxy says nothing", () => {
  const quiet: Parameters<typeof resolveOrigin>[0] = {
    peerAddress: "::1",
    isTls: true,
    host: "acme.tasks.example.com",
    forwardedHost: [],
    forwardedProto: undefined,
    forwardedFor: null,
  };
  assertEquals(resolveOrigin(quiet, PROXIES), {
    host: "acme.tasks.example.com",
    scheme: "https",
    clientAddress: "::1",
  });
});

Deno.test("resolveOrigin() accepts no scheme that is not one word of two", () => {
  for (const forwardedProto of ["https, http", ["https", "http"], "wss", ""]) {
    const origin = resolveOrigin({ ...REQUEST, forwardedProto }, PROXIES);
    assertEquals(origin.scheme, "http");
  }
  const upper = resolveOrigin(
    { ...REQUEST, forwardedProto: " HTTPS " },
    PROXIES,
  );
  assertEquals(upper.scheme, "https");
});

Deno.test("resolveOrigin() finds the client behind proxies and before what it claims", () => {
  const cases: readonly [string | readonly string[], string][] = [
    ["203.0.113.9, 10.0.0.1", "203.0.113.9"],
    ["1.1.1.1, 203.0.113.9, 10.0.0.1, 10.0.0.2", "203.0.113.9"],
    [["1.1.1.1, 203.0.113.9", "10.0.0.1"], "203.0.113.9"],
    ["203.0.113.9:4711", "203.0.113.9"],
    ["[2001:db8::1]:4711", "2001:db8::1"],
    ["2001:db8::1", "2001:db8::1"],
    ["10.0.0.7", "10.0.0.7"],
    ["203.0.113.9, unknown, 10.0.0.1", "10.0.0.1"],
    ["unknown", "10.1.2.3"],
    ["", "10.1.2.3"],
    [Array(100_000).fill("10.0.0.1").join(","), "10.0.0.1"],
  ];
  for (const [forwardedFor, client] of cases) {
    const origin = resolveOrigin({ ...REQUEST, forwardedFor }, PROXIES);
    assertEquals(origin.clientAddress, client);
  }
});
