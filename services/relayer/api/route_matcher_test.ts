import { assertEquals, assertThrows } from "@std/assert";
import { ok } from "./answer.ts";
import type { OpenRoute, RouteMethod } from "./route.ts";
import { RouteMatcher } from "./route_matcher.ts";

const MATCHER = new RouteMatcher([
  route("GET", "/a/:id"),
  route("DELETE", "/a/:id"),
  route("POST", "/a/fixed"),
  route("GET", "/a/:id/b"),
]);

Deno.test("match() finds a path without names before one with them", () => {
  assertEquals(found("POST", "/a/fixed"), ["POST /a/fixed", {}]);
  assertEquals(MATCHER.match("GET", "/a/fixed"), {
    kind: "method_not_allowed",
    allow: "OPTIONS, POST",
  });
});

Deno.test("match() gives segments as they were sent", () => {
  assertEquals(found("GET", "/a/x%2Fy"), ["GET /a/:id", { id: "x%2Fy" }]);
  assertEquals(found("HEAD", "/a/1/b"), ["GET /a/:id/b", { id: "1" }]);
  assertEquals(found("DELETE", "/a/1"), ["DELETE /a/:id", { id: "1" }]);
});

Deno.test("match() finds nothing where a segment is missing or too many", () => {
  for (const path of ["/a", "/a/", "/a/1/", "/a//b", "/a/1/b/c", "a/1", ""]) {
    assertEquals(MATCHER.match("GET", path), { kind: "not_found" }, path);
  }
});

Deno.test("allow() names the methods of a path", () => {
  assertEquals(MATCHER.allow("/a/1"), "DELETE, GET, HEAD, OPTIONS");
  assertEquals(MATCHER.allow("/b"), undefined);
});

Deno.test("RouteMatcher takes no route twice", () => {
  assertThrows(
    () => new RouteMatcher([route("GET", "/a"), route("GET", "/a")]),
    TypeError,
    'Cannot add route "GET /a": there is one',
  );
});

function route(method: RouteMethod, path: string): OpenRoute {
  return {
    access: "open",
    method,
    path,
    maxBodyBytes: 0,
    answer: () => ok({}),
  };
}

function found(method: string, path: string): unknown {
  const match = MATCHER.match(method, path);
  if (match.kind !== "route") return match;
  return [`${match.route.method} ${match.route.path}`, match.params];
}
