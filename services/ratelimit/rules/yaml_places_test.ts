import { assertEquals } from "@std/assert";
import { createLocator, tabInIndentation } from "./yaml_places.ts";

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
  const findLine = createLocator(TEXT);
  assertEquals(findLine(["domain"]), 2);
  assertEquals(findLine(["descriptors", 0, "key"]), 4);
  assertEquals(findLine(["descriptors", 0, "rate_limit", "unit"]), 6);
  assertEquals(findLine(["descriptors", 1, "key"]), 9);
  assertEquals(findLine(["descriptors", 1, "value"]), 10);
  assertEquals(findLine(["descriptors", 1, "descriptors", 1, "key"]), 14);
  const replaces = ["rate_limit", "replaces", 1, "name"];
  const path = ["descriptors", 1, "descriptors", 1, ...replaces];
  assertEquals(findLine(path), 18);
});

Deno.test("createLocator() names the nearest line above when a place isn't written out", () => {
  const findLine = createLocator(TEXT);
  assertEquals(findLine(["descriptors", 0, "rate_limit", "nothing"]), 5);
  assertEquals(findLine(["descriptors", 7]), 3);
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
  const findLine = createLocator("---\na: 1\n---\nb: 2\n");
  assertEquals(findLine(["a"]), 2);
  assertEquals(findLine(["b"]), undefined);
});

const INDENTED: Readonly<Record<string, string>> = {
  "a line": "a:\n\tb: 1",
  "a line behind spaces": "a:\n  \tb: 1",
  "a list item": "a:\n\t- b",
  "what follows a dash": "a:\n-\tb: 1",
  "what follows dashes": "a:\n- -\tb: 1",
  "a line after Windows line ends": "a:\r\n\tb: 1\r\n",
  "a line after a comment": "a: # 'open\n\tb: 1",
  "a line after a quoted text": "a: 'it''s'\n\tb: 1",
  "a line after an escaped quote": 'a: "\\""\n\tb: 1',
  "a line after brackets are closed": "a: [{b: 1}, 'c]']\n\td: 1",
  "a line after a block text": "a:\n  b: |\n    text\n\tc: 1",
  "a key beside a block text's": "- a: |\n    text\n  \tb: 1",
  "a block text": "a: |\n\ttext",
  "a line after an apostrophe in a plain text": "a: it's\n\tb: 1",
  "a line after brackets in a plain text": "a: b[0\n\tc: 1",
};

for (const [what, text] of Object.entries(INDENTED)) {
  Deno.test(`tabInIndentation() finds a tab that indents ${what}`, () => {
    const lines = text.split(/\r\n|\n/);
    const expected = lines.findLastIndex((line) => line.includes("\t")) + 1;
    assertEquals(tabInIndentation(text), expected);
  });
}

const ELSEWHERE: Readonly<Record<string, string>> = {
  "no tab": "a:\n  b: 1\n",
  "one behind a colon": "a:\t1\nb:\t\t{c: 1}",
  "one behind a value": "a: 1\t\nb: 1\t# text",
  "one in a line of blanks": "a:\n \t \n  b: 1",
  "one before a comment": "a:\n\t# text\n  b: 1",
  "one in a comment": "a: 1 #\ttext\n#\ttext",
  "one in a plain text": "a: b\tc\nb: x y\tz",
  "one in a quoted text": 'a: \'b\n\tc\'\nd: "e\\"\n\tf"\ng: 1',
  "one in a key": '"a\tb": 1\n? "c\n\td"\n: 1',
  "one between brackets": "a: [\n\t1,\n\t{b: 'c]',\n\td: e}\n]\nf: 1",
  "one in a block text": "a: |\n  b\n  \tc\n \n  d\ne: >-\n  f\n   \tg\nh: 1",
  "one in a block text of a list":
    "- |\n  \ta\n- >+1 # text\n \tb\n- c: |2\n     \td",
  "one after an anchor": "a: &x\tb\nc: *x\t\nd: !!str\te",
};

for (const [what, text] of Object.entries(ELSEWHERE)) {
  Deno.test(`tabInIndentation() takes ${what}`, () => {
    assertEquals(tabInIndentation(text), undefined);
  });
}
