import { assert, assertEquals } from "@std/assert";
import { tomlEdit } from "./toml_edit.ts";

const ENTRY = { command: "/opt/te rcet", args: ["mcp", "--local", 'a"b'] };
const ADD = { name: "tercet", entry: ENTRY };
const REMOVE = { name: "tercet", entry: undefined };
const TABLE = `[mcp_servers.tercet]
command = "/opt/te rcet"
args = ["mcp", "--local", "a\\"b"]
`;

/** The changed text; fails when it is not changed. */
function changed(text: string, change: Parameters<typeof tomlEdit>[1]): string {
  const outcome = tomlEdit(text, change);
  assert(outcome.kind === "edited", JSON.stringify(outcome));
  return outcome.text;
}

Deno.test("tomlEdit() adds a table at the end, and its removal gives the text from before", () => {
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
    assertEquals(tomlEdit(added, ADD), { kind: "same" });
    assertEquals(changed(added, REMOVE).trimEnd(), text.trimEnd());
  }
});

Deno.test("tomlEdit() keeps other values, tables and comments when it changes a table", () => {
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

Deno.test("tomlEdit() sees no tables in strings, lists and comments", () => {
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
  assertEquals(tomlEdit(text, REMOVE), { kind: "same" });
  assertEquals(changed(text, ADD), `${text}\n${TABLE}`);
});

Deno.test("tomlEdit() finds the table when its header is written otherwise", () => {
  const text = `[ "mcp_servers" . 'tercet' ]\ncommand = "x"\nargs = []\n`;
  assertEquals(changed(text, REMOVE), "");
});

Deno.test("tomlEdit() keeps line ends and the mark of the encoding", () => {
  const text = "\uFEFF[a]\r\nb = 1\r\n";
  assertEquals(
    changed(text, ADD),
    `${text}\r\n${TABLE.replaceAll("\n", "\r\n")}`,
  );
});

Deno.test("tomlEdit() refuses when the servers are written otherwise, or it is not TOML", () => {
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
    ] as const
  ) {
    assertEquals(tomlEdit(text, ADD), { kind: "refused", reason });
  }
});
