import { assertEquals } from "@std/assert";
import { createLocator } from "./locate.ts";

const TEXT = `# comment
domain: edge
descriptors:
  - key: a
    rate_limit:
      unit: minute
      requests_per_unit: 5
  -
    key: b # second
    "value": "x: y"
    descriptors:
    - key: c

    - key: d
      rate_limit:
        replaces:
          - name: one
          - name: two
`;

Deno.test("createLocator() finds lines in block style when keys and items nest", () => {
  const lineOf = createLocator(TEXT);
  assertEquals(lineOf(["domain"]), 2);
  assertEquals(lineOf(["descriptors", 0, "key"]), 4);
  assertEquals(lineOf(["descriptors", 0, "rate_limit", "unit"]), 6);
  assertEquals(lineOf(["descriptors", 1, "key"]), 9);
  assertEquals(lineOf(["descriptors", 1, "value"]), 10);
  assertEquals(lineOf(["descriptors", 1, "descriptors", 1, "key"]), 14);
  const replaces = ["rate_limit", "replaces", 1, "name"];
  const path = ["descriptors", 1, "descriptors", 1, ...replaces];
  assertEquals(lineOf(path), 18);
});

Deno.test("createLocator() names the nearest line above when a place isn't written out", () => {
  const lineOf = createLocator(TEXT);
  assertEquals(lineOf(["descriptors", 0, "rate_limit", "nothing"]), 5);
  assertEquals(lineOf(["descriptors", 7]), 3);
  assertEquals(
    createLocator("domain: d\ndescriptors: [{key: a}]\n")([
      "descriptors",
      0,
      "key",
    ]),
    2,
  );
});

Deno.test("createLocator() knows no line when nothing of the path is there", () => {
  assertEquals(createLocator("")(["domain"]), undefined);
  assertEquals(createLocator(TEXT)(["nothing"]), undefined);
  assertEquals(createLocator(TEXT)([]), undefined);
});

Deno.test("createLocator() looks at the first document only when there are several", () => {
  const lineOf = createLocator("---\na: 1\n---\nb: 2\n");
  assertEquals(lineOf(["a"]), 2);
  assertEquals(lineOf(["b"]), undefined);
});
