import {
  assert,
  assertEquals,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import type { HttpHeaders, HttpRequest } from "../../shared/http/exchange.ts";
import { type Network, parseNetwork } from "../../shared/ip_network.ts";
import {
  describeUnknownPath,
  type DestinationOptions,
  Destinations,
  RouteMatcher,
} from "./locate.ts";
import type { RouteFacts } from "./route.ts";
import {
  testRequest,
  type TestRequestOptions,
} from "../routes/testing/test_request.ts";

const HEADERS = { host: "acme.tercet.test" };
const PROXY = "10.0.0.1";

function destinations(patch: Partial<DestinationOptions> = {}): Destinations {
  return new Destinations({
    serviceHost: "tercet.test",
    devFallback: false,
    trustedProxies: [],
    ...patch,
  });
}

function networks(...texts: readonly string[]): readonly Network[] {
  return texts.map((text) => {
    const outcome = parseNetwork(text);
    if (outcome.kind !== "ok") throw new TypeError(text);
    return outcome.network;
  });
}

function request(patch: Partial<TestRequestOptions> = {}): HttpRequest {
  return testRequest({
    method: "GET",
    target: "/",
    headers: HEADERS,
    ...patch,
  });
}

/** Counts how often a header field is read. */
function counted(headers: HttpHeaders): HttpHeaders & { looks: number } {
  const counting = {
    looks: 0,
    get: headers.get,
    all(name: string): readonly string[] {
      counting.looks++;
      return headers.all(name);
    },
  };
  return counting;
}

Deno.test("Destinations.of() tells part, path, query and origin", () => {
  const target = "/api/v1/tasks?limit=1&q=a?b";
  assertEquals(destinations().of(request({ target })), {
    origin: {
      host: ["acme.tercet.test"],
      scheme: "http",
      clientAddress: "192.0.2.1",
    },
    part: { kind: "tenant", label: "acme" },
    path: "/api/v1/tasks",
    prefix: "",
    rawQuery: "limit=1&q=a?b",
  });
  const plain = destinations().of(request({ target: "/", isTls: true }));
  assertEquals(
    [plain.path, plain.rawQuery, plain.origin.scheme],
    ["/", "", "https"],
  );
});

Deno.test("Destinations.of() reads a head once while it is the same object", () => {
  const all = destinations();
  const headers = counted(request().headers);
  const target = "/api/v1/tasks?limit=1";
  const first = all.of({ ...request({ target }), headers });
  const { looks } = headers;
  const second = all.of({ ...request({ target, method: "POST" }), headers });
  assertStrictEquals(second, first);
  assertEquals(headers.looks, looks);
});

Deno.test("Destinations.of() keeps nothing of a head for another one", () => {
  const all = destinations();
  const acme = all.of(request());
  const globex = all.of(request({ headers: { host: "globex.tercet.test" } }));
  assertEquals(acme.part, { kind: "tenant", label: "acme" });
  assertEquals(globex.part, { kind: "tenant", label: "globex" });
  // Headers with the same text in another object are read again.
  assert(all.of(request()) !== acme);
});

Deno.test("Destinations.of() looks again when header fields come with another target", () => {
  const all = destinations();
  const { headers } = request();
  const paths = ["/a?x=1", "/b?y=2", "/a?x=1", "/a"].map((target) => {
    const { path, rawQuery } = all.of({ ...request({ target }), headers });
    return [path, rawQuery];
  });
  assertEquals(paths, [["/a", "x=1"], ["/b", "y=2"], ["/a", "x=1"], [
    "/a",
    "",
  ]]);
});

Deno.test("Destinations.of() looks again when header fields come from another address", () => {
  const all = destinations({ trustedProxies: networks(PROXY) });
  const { headers } = request({
    headers: {
      ...HEADERS,
      "x-forwarded-host": "globex.tercet.test",
      "x-forwarded-proto": "https",
      "x-forwarded-for": "203.0.113.9",
    },
  });
  const seen = [PROXY, "192.0.2.1", PROXY, "192.0.2.2"].map((address) => {
    const { origin, part } = all.of({ ...request({ address }), headers });
    return [origin.clientAddress, origin.scheme, "label" in part && part.label];
  });
  assertEquals(seen, [
    ["203.0.113.9", "https", "globex"],
    ["192.0.2.1", "http", "acme"],
    ["203.0.113.9", "https", "globex"],
    ["192.0.2.2", "http", "acme"],
  ]);
});

Deno.test("Destinations.of() takes each client of a proxy for itself", () => {
  const all = destinations({ trustedProxies: networks(PROXY) });
  const clients = ["203.0.113.9", "203.0.113.10"].map((client) => {
    const headers = { ...HEADERS, "x-forwarded-for": client };
    return all.of(request({ headers, address: PROXY })).origin.clientAddress;
  });
  assertEquals(clients, ["203.0.113.9", "203.0.113.10"]);
});

Deno.test("Destinations.of() goes by the options of its own", () => {
  const headers = { host: "localhost", "x-tenant": "acme" };
  const asked = request({ headers, target: "/x" });
  assertEquals(destinations().of(asked).part, { kind: "unknown" });
  assertEquals(destinations({ devFallback: true }).of(asked).part, {
    kind: "tenant",
    label: "acme",
  });
});

Deno.test("Destinations.of() tells a request over TLS from one without", () => {
  const all = destinations();
  const plain = request();
  const schemes = [true, false].map((isTls) =>
    all.of({ ...plain, isTls }).origin.scheme
  );
  assertEquals(schemes, ["https", "http"]);
});

const NOT_FOUND = "Cannot find the path: it does not exist; ";

Deno.test("describeUnknownPath() names the beginning when a tenant's path lacks it", () => {
  assertEquals(
    describeUnknownPath("/v1/tasks", "tenant"),
    `${NOT_FOUND}the API begins with /api/v1/`,
  );
});

Deno.test("describeUnknownPath() asks for the tenant's host when the API is looked for elsewhere", () => {
  assertEquals(
    describeUnknownPath("/api/v1/tasks", "apex"),
    `${NOT_FOUND}the API is at each tenant's own host; name it in the Host header`,
  );
});

Deno.test("describeUnknownPath() leads to the list of paths when nothing is known to be meant", () => {
  for (const host of ["tenant", "accounts", "apex"] as const) {
    assertEquals(
      describeUnknownPath("/nope", host),
      `${NOT_FOUND}/docs lists all paths`,
    );
  }
});

type Routable = Pick<
  RouteFacts,
  "method" | "path" | "hosts" | "isOutsideBase"
>;

interface Entry extends Routable {
  readonly name: string;
}

const TABLE: readonly Entry[] = [
  entry("GET", "/v1/tasks", "list"),
  entry("POST", "/v1/tasks", "create"),
  entry("GET", "/v1/tasks/:id", "read"),
  entry("DELETE", "/v1/tasks/:id", "remove"),
  entry("POST", "/v1/tasks/batch", "batch"),
  entry("POST", "/v1/tasks/:id/cancel", "cancel"),
  entry("GET", "/v1/workers/:id/secrets/:name", "secret"),
  { ...entry("GET", "/healthz", "health"), hosts: "any" },
  { ...entry("GET", "/", "dashboard"), isOutsideBase: true },
  { ...entry("POST", "/", "signUp"), hosts: "accounts" },
  { ...entry("GET", "/", "tenants"), hosts: "accounts_admin" },
  { ...entry("GET", "/:domain", "tenant"), hosts: "accounts_admin" },
];
const MATCHER = new RouteMatcher(TABLE);

Deno.test("match() finds the route and its parameters", () => {
  assertEquals(find("GET /api/v1/tasks"), "list {}");
  assertEquals(find("GET /api/v1/tasks/tsk_1"), 'read {"id":"tsk_1"}');
  assertEquals(find("DELETE /api/v1/tasks/a%20b"), 'remove {"id":"a b"}');
  assertEquals(find("GET /api/v1/tasks/a%2Fb"), 'read {"id":"a/b"}');
  assertEquals(
    find("GET /api/v1/workers/w/secrets/KEY"),
    'secret {"id":"w","name":"KEY"}',
  );
  assertEquals(find("GET /api/v1/%74asks"), "list {}");
});

Deno.test("match() sends a slash at the end away, where there is something", () => {
  assertEquals(find("POST /api/v1/tasks/"), "308 /api/v1/tasks");
  assertEquals(find("GET /api/v1/tasks/a%20b/"), "308 /api/v1/tasks/a%20b");
  assertEquals(find("GET /healthz/"), "308 /healthz");
  for (
    const path of ["/api/v1/tasks//", "/nothing/", "//evil.example/", "//"]
  ) {
    assertEquals(find(`GET ${path}`), "404", path);
  }
});

Deno.test("match() finds nothing for what is no path of the table", () => {
  for (
    const path of [
      "/v1/tasks",
      "/api/V1/tasks",
      "/api/v1/Tasks",
      "/api/v1//tasks",
      "/api/v1/tasks/%zz",
      "/api/v1/tasks/%C3",
      "/api/v1/tasks/x/y",
      "/api",
      "/api/",
      "",
      "*",
      "api/v1/tasks",
      "/__proto__",
      "/api/healthz",
    ]
  ) assertEquals(find(`GET ${path}`), "404", path);
});

Deno.test("RouteMatcher throws for two routes of one method and path", () => {
  const double = [entry("GET", "/a/:id", "x"), entry("GET", "/a/:name", "y")];
  assertThrows(
    () => new RouteMatcher(double),
    TypeError,
    "it is there already",
  );
  assertThrows(() => new RouteMatcher([entry("GET", "a", "x")]), TypeError);
});

Deno.test("match() keeps hosts apart", () => {
  assertEquals(find("GET /"), "dashboard {}");
  assertEquals(find("POST /", "accounts"), "signUp {}");
  assertEquals(find("GET /", "accounts_admin"), "tenants {}");
  assertEquals(find("GET /acme", "accounts_admin"), 'tenant {"domain":"acme"}');
  assertEquals(find("GET /acme", "accounts"), "404");
  assertEquals(find("GET /healthz", "apex"), "health {}");
  assertEquals(find("GET /healthz", "accounts_admin"), "health {}");
});

function entry(
  method: Routable["method"],
  path: string,
  name: string,
): Entry {
  return { method, path, name, hosts: "tenant" };
}

function find(
  request: string,
  host: "tenant" | "accounts" | "accounts_admin" | "apex" = "tenant",
): string {
  const [method = "", path = ""] = request.split(" ");
  const match = MATCHER.match(host, method, path);
  switch (match.kind) {
    case "route":
      return `${match.route.name} ${JSON.stringify(match.params)}`;
    case "redirect":
      return `308 ${match.path}`;
    case "method_not_allowed":
      return `405 ${match.allow}`;
    case "not_found":
      return "404";
  }
}
