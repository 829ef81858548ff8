import { assertEquals } from "@std/assert";
import { tabInIndentation } from "./yaml_tabs.ts";

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
