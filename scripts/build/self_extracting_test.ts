import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { createSelfExtracting } from "./self_extracting.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

/**
 * A shell script that takes the place of Deno: it prints a variable and its
 * arguments.
 */
const RUNTIME = bytes(
  '#!/bin/sh\nprintf "%s\\n" "$DENO_NO_UPDATE_CHECK" "$@"\n',
);
const PROGRAMS = [
  { name: "app.js", content: bytes("the program") },
  { name: "thread.ts", content: bytes("the program of a thread") },
];

async function createExecutable(): Promise<Uint8Array<ArrayBuffer>> {
  return await createSelfExtracting({
    name: "example",
    runtime: RUNTIME,
    programs: PROGRAMS,
    flags: ["--allow-net", "--allow-env=A,B", "--allow-read=/with space/it's"],
  });
}

Deno.test("createSelfExtracting() gives the same bytes for the same input", async () => {
  assertEquals(await createExecutable(), await createExecutable());
});

Deno.test("createSelfExtracting() puts the archive where the script says", async () => {
  const file = await createExecutable();
  const head = new TextDecoder().decode(file.subarray(0, 4096));
  const offset = Number(/tail -c \+(\d+) /.exec(head)?.[1]) - 1;
  // The two bytes that begin a gzip file, RFC 1952.
  assertEquals([...file.subarray(offset, offset + 2)], [0x1f, 0x8b]);
  assertEquals(
    new TextDecoder().decode(file.subarray(offset - 1, offset)),
    "\n",
  );
  assertMatch(head, /^#!\/bin\/sh\n/);
  assertEquals(head.includes(`'--allow-read=/with space/it'\\''s'`), true);
});

Deno.test("createSelfExtracting() names Deno by what it is, so that programs share it", async () => {
  const readHead = async (app: string): Promise<string> => {
    const file = await createSelfExtracting({
      name: "example",
      runtime: RUNTIME,
      programs: [{ name: "app.js", content: bytes(app) }],
      flags: [],
    });
    return new TextDecoder().decode(file.subarray(0, 2_048));
  };
  const [first, second] = [await readHead("one"), await readHead("two")];
  const named = (head: string, name: string) =>
    new RegExp(`^${name}="\\$cache/(.*)"$`, "m").exec(head)?.[1];
  assertMatch(named(first, "runtime") ?? "", /^deno-[0-9a-f]{32}$/);
  assertEquals(named(first, "runtime"), named(second, "runtime"));
  assertEquals(named(first, "home") === named(second, "home"), false);
});

Deno.test("createSelfExtracting() names the variable when there is nowhere to unpack to", async () => {
  const head = new TextDecoder()
    .decode((await createExecutable()).subarray(0, 2_048));
  assertMatch(head, /if \[ -z "\$base" \]; then refuse "HOME is not set"; fi/);
  assertMatch(head, /mkdir -p "\$home" "\$runtime" 2>\/dev\/null \|\| refuse /);
  assertMatch(head, /Cannot unpack example: \$1; set TERCET_HOME to a folder/);
  // As on a file system that is mounted with noexec.
  assertMatch(
    head,
    /"\$runtime\/deno" --version .* \|\| refuse "programs may not run from \\"/,
  );
});

Deno.test("createSelfExtracting() hands on the name of a link that is a command's, and no other", async () => {
  const readHead = async (links: readonly string[]): Promise<string> => {
    const file = await createSelfExtracting({
      name: "example",
      runtime: RUNTIME,
      programs: PROGRAMS,
      flags: [],
      links,
    });
    return new TextDecoder().decode(file.subarray(0, 2_048));
  };
  assertStringIncludes(
    await readHead(["first", "second"]),
    '\ncase "${0##*/}" in first | second) set -- "${0##*/}" "$@" ;; esac\nexport ',
  );
  assertEquals((await readHead([])).includes("case "), false);
});
