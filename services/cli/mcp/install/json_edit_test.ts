import {
  assert,
  assertEquals,
  assertNotEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import type { EntryChange } from "./clients.ts";
import { editJson } from "./json_edit.ts";
import { readJsonText } from "./json_text.ts";

const ENTRY = { command: "tercet", args: ["mcp", "--local"] };
const PATH = ["mcpServers", "tercet"] as const;
const ADD = { path: PATH, values: ENTRY };
const REMOVE = { path: PATH, values: undefined };

/** The changed text; fails when it is not changed. */
function changed(text: string, change: EntryChange): string {
  const outcome = editJson(text, change);
  assertNotEquals(outcome, text);
  return outcome;
}

function valueOf(text: string): unknown {
  return readJsonText(text)?.value;
}

Deno.test("editJson() makes a whole configuration when the file is missing or empty", () => {
  const wanted = `{
  "mcpServers": {
    "tercet": {
      "command": "tercet",
      "args": [
        "mcp",
        "--local"
      ]
    }
  }
}
`;
  assertEquals(changed("", ADD), wanted);
  assertEquals(changed(" \n", ADD), wanted);
  assertEquals(changed("\uFEFF", ADD), `\uFEFF${wanted}`);
  assertStringIncludes(changed("// mine\n", ADD), "// mine\n");
});

Deno.test("editJson() keeps comments, trailing commas, the mark of the encoding and line ends when it adds", () => {
  const text = "\uFEFF" + `{
\t// The theme.
\t"theme": "dark", /* why not */
\t"mcpServers": {
\t\t"other": { "command": "x", "args": [] }, // keep
\t},
}
`.replaceAll("\n", "\r\n");
  const added = changed(text, ADD);
  assert(added.startsWith("\uFEFF{\r\n\t// The theme.\r\n"));
  assertStringIncludes(added, "/* why not */");
  assertStringIncludes(added, "// keep");
  assertStringIncludes(added, '\r\n\t\t"tercet": {\r\n\t\t\t"command"');
  assertEquals(/[^\r]\n/.test(added), false);
  assertEquals(valueOf(added), {
    theme: "dark",
    mcpServers: { other: { command: "x", args: [] }, tercet: ENTRY },
  });
});

Deno.test("editJson() stays on one line when the file has one", () => {
  assertEquals(
    changed(`{"a":1,"mcpServers":{"b":{}}}`, ADD),
    `{"a":1,"mcpServers":{"b":{}, "tercet": {"command":"tercet","args":["mcp","--local"]}}}`,
  );
});

Deno.test("editJson() keeps what a user has added to the entry when it changes it", () => {
  const text = changed("", ADD).replace('"args"', '"env": {"A": "b"}, "args"');
  const moved = { command: "/opt/tercet", args: ["mcp", "--local"] };
  const outcome = changed(text, { path: PATH, values: moved });
  assertEquals(valueOf(outcome), {
    mcpServers: { tercet: { ...moved, env: { A: "b" } } },
  });
});

Deno.test("editJson() changes nothing when it is done twice, or there is nothing to remove", () => {
  const added = changed("", ADD);
  assertEquals(editJson(added, ADD), added);
  for (const text of ["", "{}", `{"mcpServers":{"b":{}}}`]) {
    assertEquals(editJson(text, REMOVE), text);
  }
});

Deno.test("editJson() gives the text from before when an added entry is removed", () => {
  for (
    const text of [
      "{\n}\n",
      `{\n  "a": 1\n}\n`,
      `{\n    "a": 1, // one\n    "mcpServers": {\n        "b": {}\n    }\n}`,
      `{\r\n  "mcpServers": {\r\n    "b": {}, // last\r\n  },\r\n}\r\n`,
      `{"mcpServers":{"b":{}}}`,
    ]
  ) {
    const back = changed(changed(text, ADD), REMOVE);
    assertEquals(valueOf(back), valueOf(text));
    const isCommented = (line: string) => line.includes("//");
    assertEquals(
      back.split("\n").filter(isCommented),
      text.split("\n").filter(isCommented),
    );
  }
});

Deno.test("editJson() refuses when the text is not JSON, and names the line", () => {
  for (
    const [text, reason] of [
      ["{\n  broken", "line 2 is not JSON"],
      ["{} {}", "line 1 is not JSON"],
      [`{"a" 1}`, "line 1 is not JSON"],
      ["[]", "it is no JSON object"],
      [`{"mcpServers": null}`, `"mcpServers" in it is no JSON object`],
      ["[".repeat(5_000), "line 1 is not JSON"],
      [`{"a": "\\x"}`, "line 1 is not JSON"],
    ] as const
  ) {
    assertThrows(() => editJson(text, ADD), SyntaxError, reason);
  }
});

Deno.test("editJson() takes the last of two members with a name, as JSON.parse does", () => {
  const text = `{"mcpServers":{"a":{}},"mcpServers":{"b":{}}}`;
  assertEquals(valueOf(changed(text, ADD)), {
    mcpServers: { b: {}, tercet: ENTRY },
  });
});

Deno.test("editJson() keeps every other value when texts are random", () => {
  const random = new SeededRandom(40);
  const gap = (): string =>
    random.pick(["", " ", "\n  ", "\t", "// c {\n", "/* } */", "\r\n"]);
  const value = (depth: number): string => {
    if (depth > 2) return random.pick(["1", "null", '"a{"', "-2.5e3", "true"]);
    const count = random.below(4);
    const members = Array.from(
      { length: count },
      (_, index) => `${gap()}"k${index}"${gap()}:${gap()}${value(depth + 1)}`,
    );
    const comma = count > 0 && random.chance(0.3) ? `${gap()},` : "";
    return `{${members.join(`${gap()},`)}${comma}${gap()}}`;
  };
  for (let round = 0; round < 300; round++) {
    const section = random.chance(0.7) ? "mcpServers" : "k9";
    const text = `${gap()}{${gap()}"${section}":${value(1)}${gap()}}${gap()}`;
    const before = Object(valueOf(text));
    const added = changed(text, ADD);
    assertEquals(valueOf(added), {
      ...before,
      mcpServers: { ...before.mcpServers, tercet: ENTRY },
    });
    const { mcpServers = {}, ...rest } = Object(
      valueOf(changed(added, REMOVE)),
    );
    assertEquals(
      { ...rest, mcpServers },
      { ...before, mcpServers: before.mcpServers ?? {} },
    );
  }
});
