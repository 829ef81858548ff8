import { assert, assertEquals, assertThrows } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { RouteTree } from "./route_tree.ts";

const TABLE: readonly string[] = [
  "GET /v1/tasks",
  "POST /v1/tasks",
  "GET /v1/tasks/:id",
  "DELETE /v1/tasks/:id",
  "POST /v1/tasks/batch",
  "POST /v1/tasks/:id/cancel",
  "GET /v1/workers/:id/secrets/:name",
  "GET /",
  "* /any",
  "PUT /any",
];
const TREE = createTree(TABLE);

Deno.test("match() finds the route and its parameters", () => {
  assertEquals(find("GET /"), "GET / {}");
  assertEquals(find("GET /v1/tasks"), "GET /v1/tasks {}");
  assertEquals(find("GET /v1/tasks/t_1"), 'GET /v1/tasks/:id {"id":"t_1"}');
  assertEquals(
    find("GET /v1/workers/w/secrets/__proto__"),
    'GET /v1/workers/:id/secrets/:name {"id":"w","name":"__proto__"}',
  );
});

Deno.test("match() decodes segments", () => {
  assertEquals(
    find("DELETE /v1/tasks/a%20b"),
    'DELETE /v1/tasks/:id {"id":"a b"}',
  );
  assertEquals(find("GET /v1/tasks/a%2Fb"), 'GET /v1/tasks/:id {"id":"a/b"}');
  assertEquals(find("GET /v1/%74asks"), "GET /v1/tasks {}");
});

Deno.test("match() gives segments as they were sent where asked to", () => {
  const tree = createTree(TABLE, { isDecoding: false });
  assertEquals(
    find("GET /v1/tasks/x%2Fy", tree),
    'GET /v1/tasks/:id {"id":"x%2Fy"}',
  );
  assertEquals(
    find("GET /v1/tasks/%zz", tree),
    'GET /v1/tasks/:id {"id":"%zz"}',
  );
  assertEquals(find("GET /v1/%74asks", tree), "404");
});

Deno.test("match() tries a literal segment before a parameter", () => {
  assertEquals(find("POST /v1/tasks/batch"), "POST /v1/tasks/batch {}");
  // When a literal segment matches no path, the parameter is tried.
  assertEquals(
    find("POST /v1/tasks/batch/cancel"),
    'POST /v1/tasks/:id/cancel {"id":"batch"}',
  );
  assertEquals(find("GET /v1/tasks/batch"), "405 POST");
});

Deno.test("match() answers HEAD wherever GET is", () => {
  const match = TREE.match("HEAD", "/v1/tasks");
  assert(match.kind === "route");
  assertEquals([match.route, match.isHead], ["GET /v1/tasks", true]);
  assertEquals(find("HEAD /v1/tasks/batch"), "405 POST");
});

Deno.test('match() finds a route for "*" for every method without its own', () => {
  for (const method of ["GET", "HEAD", "DELETE", "OPTIONS", "BREW"]) {
    assertEquals(find(`${method} /any`), "* /any {}");
  }
  assertEquals(find("PUT /any"), "PUT /any {}");
});

Deno.test("match() names the methods of a known path", () => {
  assertEquals(find("PUT /v1/tasks"), "405 GET, HEAD, POST");
  assertEquals(find("BREW /v1/tasks/x"), "405 DELETE, GET, HEAD");
  assertEquals(find("get /v1/tasks"), "405 GET, HEAD, POST");
});

Deno.test("match() finds nothing for what is no path of the tree", () => {
  for (
    const path of [
      "/V1/tasks",
      "/v1/Tasks",
      "/v1//tasks",
      "/v1/tasks/",
      "/v1/tasks/x/",
      "/v1/tasks/%zz",
      "/v1/tasks/%C3",
      "/v1/tasks/x/y",
      "/v1",
      "",
      "*",
      "v1/tasks",
      "//",
      "/__proto__",
    ]
  ) assertEquals(find(`GET ${path}`), "404", path);
});

Deno.test("match() agrees with a plain search, whatever the path", () => {
  const random = new SeededRandom(9);
  const words = ["v1", "tasks", "batch", "cancel", "workers", "x", "", "%41"];
  let found = 0;
  for (let round = 0; round < 20_000; round++) {
    const path = `/${random.list(5, () => random.pick(words)).join("/")}`;
    const match = TREE.match("GET", path);
    const candidates = TABLE.filter((one) =>
      fits(one.slice(one.indexOf(" ") + 1), path)
    );
    if (match.kind === "route") {
      found++;
      assert(candidates.includes(match.route), path);
    } else if (match.kind !== "method_not_allowed") {
      assertEquals(candidates, [], path);
    }
  }
  assert(found > 100, `${found} found`);
});

Deno.test("allow() names the methods of a path", () => {
  const tree = createTree(TABLE, { alwaysAllowed: ["OPTIONS"] });
  assertEquals(tree.allow("/v1/tasks/1"), "DELETE, GET, HEAD, OPTIONS");
  assertEquals(tree.allow("/v1"), undefined);
  assertEquals(
    find("PUT /v1/tasks/batch", tree),
    "405 OPTIONS, POST",
  );
});

Deno.test("add() throws for two routes of one method and path", () => {
  assertThrows(
    () => createTree(["GET /a/:id", "GET /a/:name"]),
    TypeError,
    'Cannot add route "GET /a/:name": it is there already',
  );
});

Deno.test("add() throws for malformed paths", () => {
  for (const path of ["a", "/a/", "/a//b", "/:", "/:Id", "/a b", "/:a/:a"]) {
    const add = () => new RouteTree<string>().add("GET", path, "x");
    assertThrows(add, TypeError, `Cannot add route "${path}": `, path);
  }
});

function createTree(
  table: readonly string[],
  options?: ConstructorParameters<typeof RouteTree>[0],
): RouteTree<string> {
  const tree = new RouteTree<string>(options);
  for (const route of table) {
    const [method = "", path = ""] = route.split(" ");
    tree.add(method, path, route);
  }
  return tree;
}

function find(request: string, tree = TREE): string {
  const [method = "", path = ""] = request.split(" ");
  const match = tree.match(method, path);
  switch (match.kind) {
    case "route":
      return `${match.route} ${JSON.stringify(match.params)}`;
    case "method_not_allowed":
      return `405 ${match.allow}`;
    case "not_found":
      return "404";
  }
}

function fits(pattern: string, path: string): boolean {
  const expression = pattern.replaceAll(/:[a-z]+/g, "[^/]+");
  return new RegExp(`^${expression}$`).test(decodeURIComponent(path));
}
