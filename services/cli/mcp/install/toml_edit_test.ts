import { assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import type { EntryChange } from "./clients.ts";
import { editToml } from "./toml_edit.ts";

const ENTRY = { command: "/opt/te rcet", args: ["mcp", "--local", 'a"b'] };
const PATH = ["mcp_servers", "tercet"] as const;
const ADD = { path: PATH, values: ENTRY };
const REMOVE = { path: PATH, values: undefined };
const TABLE = `[mcp_servers.tercet]
command = "/opt/te rcet"
args = ["mcp", "--local", "a\\"b"]
`;

/** The changed text; fails when it is not changed. */
function changed(text: string, change: EntryChange): string {
  const outcome = editToml(text, change);
  assertNotEquals(outcome, text);
  return outcome;
}

Deno.test("editToml() adds a table at the end, and its removal gives the text from before", () => {
  for (
    const [text, wanted] of [
      ["", TABLE],
      ["model = 'x'\n", `model = 'x'\n\n${TABLE}`],
      ["model = 'x' # end", `model = 'x' # end\n\n${TABLE}`],
      ["[a]\nb = 1\n\n", `[a]\nb = 1\n\n${TABLE}`],
    ] as const
  ) {
    const added = changed(text, ADD);
    assertEquals(added, wanted);
    assertEquals(editToml(added, ADD), added);
    assertEquals(changed(added, REMOVE).trimEnd(), text.trimEnd());
  }
});

Deno.test("editToml() keeps other values, tables and comments when it changes a table", () => {
  const text = `[mcp_servers.tercet] # mine
startup_timeout_sec = 20
args = [
  "old", # ]
]
command = """
old"""

[mcp_servers.tercet.env]
A = "b"

# About other.
[mcp_servers.other]
command = "x"
`;
  const wanted = `[mcp_servers.tercet] # mine
command = "/opt/te rcet"
args = ["mcp", "--local", "a\\"b"]
startup_timeout_sec = 20

[mcp_servers.tercet.env]
A = "b"

# About other.
[mcp_servers.other]
command = "x"
`;
  assertEquals(changed(text, ADD), wanted);
  assertEquals(
    changed(text, REMOVE).trimStart(),
    `# About other.\n[mcp_servers.other]\ncommand = "x"\n`,
  );
});

Deno.test("editToml() sees no tables in strings, lists and comments", () => {
  const text = `a = """
[mcp_servers.tercet]
"""
b = '''
[mcp_servers.tercet]'''
c = [
  ["[mcp_servers.tercet]"],
] # [mcp_servers.tercet]
# [mcp_servers.tercet]
`;
  assertEquals(editToml(text, REMOVE), text);
  assertEquals(changed(text, ADD), `${text}\n${TABLE}`);
});

Deno.test("editToml() finds the table when its header is written otherwise", () => {
  const text = `[ "mcp_servers" . 'tercet' ]\ncommand = "x"\nargs = []\n`;
  assertEquals(changed(text, REMOVE), "");
});

Deno.test("editToml() keeps line ends and the mark of the encoding", () => {
  const text = "\uFEFF[a]\r\nb = 1\r\n";
  assertEquals(
    changed(text, ADD),
    `${text}\r\n${TABLE.replaceAll("\n", "\r\n")}`,
  );
});

Deno.test("editToml() refuses when the servers are written otherwise, or it is not TOML", () => {
  const odd = '"mcp_servers" in it is not written as tables; write it as ' +
    "[mcp_servers.name], or add the server by hand";
  for (
    const [text, reason] of [
      ["mcp_servers = { a = { command = 'x' } }\n", odd],
      ["mcp_servers.a.command = 'x'\n", odd],
      ["[mcp_servers]\na = { command = 'x' }\n", odd],
      ["[[mcp_servers]]\n", odd],
      ["a = 'open\n", "line 1 is not TOML"],
      ["a = [\n1,\n", "line 3 is not TOML"],
      ["[a\n= 1", "line 1 is not TOML"],
      ["= 1", "line 1 is not TOML"],
      ["a = 1\nb c = 2\n", "line 2 is not TOML"],
    ] as const
  ) {
    assertThrows(() => editToml(text, ADD), SyntaxError, reason);
  }
});
