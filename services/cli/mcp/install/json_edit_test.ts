import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import { jsonEdit } from "./json_edit.ts";
import { jsonValue, readJsonText } from "./json_text.ts";

const edit = jsonEdit({ section: "mcpServers", hasType: false });
const ENTRY = { command: "tercet", args: ["mcp", "--local"] };
const ADD = { name: "tercet", entry: ENTRY };
const REMOVE = { name: "tercet", entry: undefined };

/** The changed text; fails when it is not changed. */
function changed(text: string, change: Parameters<typeof edit>[1]): string {
  const outcome = edit(text, change);
  assert(outcome.kind === "edited", JSON.stringify(outcome));
  return outcome.text;
}

function valueOf(text: string): unknown {
  const node = readJsonText(text);
  return node && jsonValue(node);
}

Deno.test("jsonEdit() makes a whole configuration when the file is missing or empty", () => {
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

Deno.test("jsonEdit() keeps comments, trailing commas, the mark of the encoding and line ends when it adds", () => {
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

Deno.test("jsonEdit() stays on one line when the file has one", () => {
  assertEquals(
    changed(`{"a":1,"mcpServers":{"b":{}}}`, ADD),
    `{"a":1,"mcpServers":{"b":{}, "tercet": {"command":"tercet","args":["mcp","--local"]}}}`,
  );
});

Deno.test("jsonEdit() keeps what a user has added to the entry when it changes it", () => {
  const text = changed("", ADD).replace('"args"', '"env": {"A": "b"}, "args"');
  const moved = { command: "/opt/tercet", args: ["mcp", "--local"] };
  const outcome = changed(text, { name: "tercet", entry: moved });
  assertEquals(valueOf(outcome), {
    mcpServers: { tercet: { ...moved, env: { A: "b" } } },
  });
});

Deno.test("jsonEdit() changes nothing when it is done twice, or there is nothing to remove", () => {
  assertEquals(edit(changed("", ADD), ADD), { kind: "same" });
  for (const text of ["", "{}", `{"mcpServers":{"b":{}}}`]) {
    assertEquals(edit(text, REMOVE), { kind: "same" });
  }
});

Deno.test("jsonEdit() gives the text from before when an added entry is removed", () => {
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

Deno.test("jsonEdit() refuses when the text is not JSON, and names the line", () => {
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
    assertEquals(edit(text, ADD), { kind: "refused", reason });
  }
});

Deno.test("jsonEdit() takes the last of two members with a name, as JSON.parse does", () => {
  const text = `{"mcpServers":{"a":{}},"mcpServers":{"b":{}}}`;
  assertEquals(valueOf(changed(text, ADD)), {
    mcpServers: { b: {}, tercet: ENTRY },
  });
});

Deno.test("jsonEdit() keeps every other value when texts are random", () => {
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
