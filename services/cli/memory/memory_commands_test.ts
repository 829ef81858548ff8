import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { createAccessToken, readAccessToken } from "../../../sdk/account.ts";
import { openMemoryUser } from "./testing/memory_user.ts";

Deno.test("tercet memory remembers, recalls, asks, lists and forgets", async () => {
  const { mock, play } = openMemoryUser();
  const stored = await play(["memory", "remember", "Ada drinks tea"]);
  assertEquals([stored.code, stored.err], [0, ""]);
  const id = stored.out.trim();
  assertEquals(mock.memories()[0]?.id, id);
  const found = await play(["memory", "recall", "What does Ada drink?"]);
  assertEquals(found.code, 0);
  assertStringIncludes(found.out, "Ada drinks tea");
  const answer = await play(["memory", "ask", "What does Ada drink?"]);
  assertEquals([answer.code, answer.out], [0, "Ada drinks tea\n"]);
  const listed = await play(["memory", "list"]);
  assertEquals(listed.code, 0);
  assertStringIncludes(listed.out, id);
  const gone = await play(["memory", "forget", id]);
  assertEquals([gone.code, gone.out], [0, `${id}\n`]);
  const none = await play(["memory", "recall", "What does Ada drink?"]);
  assertEquals([none.code, none.out, none.err], [3, "", "No memories.\n"]);
  const again = await play(["memory", "forget", id, "another"]);
  assertEquals([again.code, again.err.split("\n").length], [1, 3]);
});

Deno.test("tercet memory reads texts from standard input", async () => {
  const { mock, play } = openMemoryUser();
  const { code } = await play(["memory", "remember", "-"], {
    input: "Ada drinks tea\n",
  });
  assertEquals([code, mock.memories()[0]?.text], [0, "Ada drinks tea"]);
  const empty = await play(["memory", "remember", "-"], { input: " \n" });
  assertEquals(empty.code, 2);
});

Deno.test("tercet memory remember --extract stores each fact", async () => {
  const { mock, play } = openMemoryUser();
  const { code, out } = await play([
    ...["memory", "remember", "--extract"],
    "Ada drinks tea. Bob has a dog.",
  ]);
  assertEquals([code, out.trim().split("\n").length], [0, 2]);
  assertEquals(mock.memories().length, 2);
  const wrong = ["memory", "remember", "--extract", "--importance", "1", "x"];
  assertEquals((await play(wrong)).code, 2);
});

Deno.test("tercet memory writes JSON, one value a line", async () => {
  const { play } = openMemoryUser();
  const commands = [
    ["remember", "Ada drinks tea"],
    ["recall", "tea"],
    ["ask", "tea?"],
    ["list"],
    ["list", "--namespaces"],
    ["forget", "--all"],
    ["forget", "--all", "--yes"],
  ];
  for (const command of commands) {
    const { code, out } = await play(["memory", ...command, "--json"]);
    assertEquals(code, 0, command.join(" "));
    for (const line of out.trim().split("\n")) {
      assertEquals(typeof JSON.parse(line), "object", command.join(" "));
    }
  }
});

Deno.test("tercet memory forget --all only counts until --yes is given", async () => {
  const { mock, play } = openMemoryUser();
  await mock.mem.rememberAndWait("Ada drinks tea", "habits");
  const args = ["memory", "forget", "--all", "--namespace", "habits"];
  assertStringIncludes((await play(args)).out, "1 memories");
  assertEquals(mock.memories("habits").length, 1);
  assertEquals((await play([...args, "--yes"])).code, 0);
  assertEquals(mock.memories("habits").length, 0);
});

Deno.test("tercet memory shows a memory's text in one line, without codes for the terminal", async () => {
  const { mock, play } = openMemoryUser();
  await mock.mem.rememberAndWait("tea\n\u001b[31mred\u202e");
  const { out } = await play(["memory", "recall", "tea"]);
  assertEquals(out.split("\n").length, 2);
  // deno-lint-ignore no-control-regex -- it looks for them
  assertEquals(/[\u001b\u202e]/.test(out), false);
});

Deno.test("tercet memory lists its commands and flags for completion", async () => {
  const { play } = openMemoryUser();
  const { code, out } = await play(["memory", "--commands"]);
  assertEquals([code, out.trim().split("\n")], [0, [
    ...["remember", "recall", "ask", "list", "forget", "export", "import"],
  ]]);
  for (const command of out.trim().split("\n")) {
    const help = await play(["memory", command, "--help"]);
    assertEquals(help.code, 0);
    assertStringIncludes(help.out, "--token-file");
    assertStringIncludes(help.out, "Exit codes:");
  }
});

Deno.test("tercet memory says which credential is missing or wrong", async () => {
  const { own, play, files } = openMemoryUser();
  const cases: readonly (readonly [
    Readonly<Record<string, string>>,
    readonly string[],
    string,
  ])[] = [
    [{}, [], "set TERCET_ACCOUNT"],
    [{ TERCET_ACCOUNT: "0xa" }, [], "set TERCET_KEY"],
    [{ ...own, TERCET_KEY: "abc" }, [], "private key"],
    [{ ...own, TERCET_TOKEN: "abc" }, [], "access token"],
    [own, ["--token-file", "t", "--account", "0xa"], "takes the place"],
    [own, ["--relayer", "ftp://x"], "serverUrl"],
  ];
  for (const [variables, flags, told] of cases) {
    const { code, err } = await play(["memory", "list", ...flags], {
      variables,
    });
    assertEquals(code, 2, told);
    assertStringIncludes(err, told);
    assertEquals(/\babc\b/.test(err), false);
  }
  const missing = await play(["memory", "list", "--key-file", "none"]);
  assertEquals(missing.code, 1);
  files["key"] = `${own["TERCET_KEY"]}\n`;
  const { TERCET_KEY: _, ...rest } = own;
  const read = await play(["memory", "list", "--key-file", "key"], {
    variables: rest,
  });
  assertEquals(read.code, 0);
});

Deno.test("tercet memory and tercet mcp token refuse a secret that others may read", async () => {
  const { own, play } = openMemoryUser();
  const { TERCET_KEY: key, ...variables } = own;
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(path, `${key}\n`);
    for (
      const args of [
        ["memory", "list", "--key-file", path],
        ["memory", "list", "--token-file", path],
        ["mcp", "token", "--key-file", path],
      ]
    ) {
      await Deno.chmod(path, 0o644);
      const refused = await play(args, { variables });
      assertEquals(refused.code, 1);
      assertStringIncludes(refused.err, "its mode is 644; run chmod 600");
      if (args.includes("--token-file")) continue;
      await Deno.chmod(path, 0o600);
      assertEquals((await play(args, { variables })).code, 0);
    }
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("tercet memory says why the relayer refused", async () => {
  const { mock, play } = openMemoryUser();
  mock.fail("POST /api/recall", {
    kind: "status",
    status: 503,
    error: "no disk",
  });
  const { code, err } = await play(["memory", "recall", "tea"]);
  assertEquals(code, 1);
  assertStringIncludes(err, "no disk");
});

Deno.test("tercet mcp token makes a token with which tercet memory works", async () => {
  const { clock, own, play, files } = openMemoryUser();
  const made = await play([
    ...["mcp", "token", "--access", "write", "--namespace", "habits"],
    ...["--expires", "12h", "--file", "token"],
  ]);
  assertEquals([made.code, made.out], [0, ""]);
  assertStringIncludes(made.err, 'write, "habits", until 2027-01-15T20:00');
  const { TERCET_RELAYER = "" } = own;
  const variables = { TERCET_RELAYER };
  const flags = ["--token-file", "token"];
  const stored = await play(["memory", "remember", "tea", ...flags], {
    variables,
  });
  assertEquals(stored.code, 0, stored.err);
  const other = await play(
    ["memory", "recall", "tea", "--namespace", "plans", ...flags],
    { variables },
  );
  assertEquals(other.code, 1);
  assertStringIncludes(other.err, 'not for namespace "plans"');
  clock.advance(13 * 3_600_000);
  const late = await play(["memory", "recall", "tea", ...flags], { variables });
  assertEquals(late.code, 1);
  assertStringIncludes(late.err, "expired");
  assertEquals(late.err.includes(files["token"]?.trim() ?? ""), false);
});

Deno.test("tercet mcp token writes what the token says as JSON", async () => {
  const { own, play } = openMemoryUser();
  const { code, out } = await play(["mcp", "token", "--json"]);
  const shown = JSON.parse(out);
  const claims = readAccessToken(shown.token);
  assertEquals([code, shown.access, shown.namespaces], [0, "read", null]);
  assertEquals([shown.id, shown.account_id], [
    claims.id,
    own["TERCET_ACCOUNT"],
  ]);
  assertEquals(out.includes(own["TERCET_KEY"] ?? ""), false);
  for (const flags of [["--expires", "401d"], ["--namespace", ""]]) {
    assertEquals((await play(["mcp", "token", ...flags])).code, 2);
  }
});

Deno.test("tercet memory export writes texts, and goes on where it ended", async () => {
  const { mock, play } = openMemoryUser();
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/memories.jsonl`;
    const args = ["memory", "export", "--all", "--file", path];
    for (let at = 0; at < 230; at++) {
      const namespace = at % 2 === 0 ? "even" : "odd";
      await mock.mem.rememberAndWait(`fact ${at}`, namespace);
    }
    mock.fail("POST /api/recall", {
      kind: "status",
      status: 429,
      retryAfterSeconds: 7,
    });
    const first = await play(args);
    assertEquals([first.code, first.err], [0, "230 memories are written\n"]);
    const whole = await Deno.readTextFile(path);
    assertEquals(idsIn(whole).size, 230);
    assertEquals(
      new Set(lines(whole).map(({ text }) => text)).has("fact 229"),
      true,
    );
    if (Deno.build.os !== "windows") {
      assertEquals((await Deno.stat(path)).mode! & 0o777, 0o600);
    }
    // A stop in the middle of a line: what stands behind the last cursor is
    // written again.
    const cut = whole.slice(0, whole.indexOf("fact 150"));
    await Deno.writeTextFile(path, cut);
    assertEquals((await play(args)).code, 0);
    assertEquals(await Deno.readTextFile(path), whole);
    // Later runs add what has changed.
    const [id = ""] = idsIn(whole);
    await mock.mem.deleteMemory(id);
    const added = await mock.mem.rememberAndWait("fact 230", "even");
    assertEquals((await play(args)).code, 0);
    const tail = (await Deno.readTextFile(path)).slice(whole.length);
    assertEquals(
      lines(tail).filter((line) => "id" in line)
        .map((line) => [line["id"], "deleted_at" in line]).sort(),
      [[added.id, false], [id, true]].sort(),
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("tercet memory export changes no file that is no export", async () => {
  const { mock, play } = openMemoryUser();
  await mock.mem.rememberAndWait("tea");
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(path, "my notes\n");
    const { code, err } = await play(["memory", "export", "--file", path]);
    assertEquals(code, 1);
    assertStringIncludes(err, "it is no export");
    assertEquals(await Deno.readTextFile(path), "my notes\n");
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("tercet memory export goes on behind a cursor", async () => {
  const { mock, play } = openMemoryUser();
  await mock.mem.rememberAndWait("one");
  const first = await play(["memory", "export"]);
  const { cursor } = lines(first.out).at(-1) ?? {};
  assert(typeof cursor === "string");
  await mock.mem.rememberAndWait("two");
  const next = await play(["memory", "export", "--after", cursor]);
  assertEquals(lines(next.out)[0]?.["text"], "two");
  const { code } = await play([
    ...["memory", "export", "--after", cursor, "--file", "x"],
  ]);
  assertEquals(code, 2);
});

Deno.test("createAccessToken() and tercet memory agree on the only namespace", async () => {
  const { mock, own, play } = openMemoryUser();
  const { key, accountId, clock } = mock.config;
  const { token } = await createAccessToken({
    ...{ key, accountId, access: "write", namespaces: ["habits"], clock },
  });
  const { TERCET_RELAYER = "" } = own;
  await play(["memory", "remember", "tea"], {
    variables: { TERCET_RELAYER, TERCET_TOKEN: token },
  });
  assertEquals(mock.memories("habits").length, 1);
});

type Line = Readonly<Record<string, unknown>>;

function lines(text: string): readonly Line[] {
  return text.trim().split("\n").map((line): Line => JSON.parse(line));
}

function idsIn(text: string): ReadonlySet<string> {
  return new Set(
    lines(text).flatMap(({ id }) => typeof id === "string" ? [id] : []),
  );
}
