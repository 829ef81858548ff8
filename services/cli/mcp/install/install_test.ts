import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type InstallIo, runInstall, runUninstall } from "./install.ts";

interface Played {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A user with a home folder of their own, which is removed at the end. */
async function withHome(
  use: (user: {
    readonly home: string;
    readonly play: (
      args: readonly string[],
      changes?: Partial<InstallIo> & {
        readonly variables?: Readonly<Record<string, string>>;
        readonly run?: typeof runInstall;
      },
    ) => Promise<Played>;
  }) => Promise<void>,
): Promise<void> {
  const home = await Deno.realPath(await Deno.makeTempDir());
  try {
    await use({
      home,
      async play(args, { variables, run = runInstall, ...changes } = {}) {
        const texts = { out: "", err: "" };
        const all: Readonly<Record<string, string>> = {
          HOME: home,
          ...variables,
        };
        const code = await run(args, {
          out: (text) => texts.out += `${text}\n`,
          err: (text) => texts.err += `${text}\n`,
          user: { os: "linux", readVariable: (name) => all[name] },
          execPath: "/opt/tercet",
          ask: () => Promise.resolve(undefined),
          ...changes,
        });
        return { code, ...texts };
      },
    });
  } finally {
    await Deno.remove(home, { recursive: true });
  }
}

const LOCAL = ["--local", "--yes", "--client"];

Deno.test("runInstall() writes the file of each client, and runUninstall() takes the server out of it", async () => {
  const files = {
    "claude-code": ".claude.json",
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    cursor: ".cursor/mcp.json",
    codex: ".codex/config.toml",
    vscode: ".config/Code/User/mcp.json",
  };
  await withHome(async ({ home, play }) => {
    for (const [client, file] of Object.entries(files)) {
      const path = `${home}/${file}`;
      const { code, out, err } = await play([...LOCAL, client]);
      assertEquals([code, err], [0, ""]);
      assertStringIncludes(out, path);
      const text = await Deno.readTextFile(path);
      const folder = `"${home}/.local/share/tercet/memory"`;
      for (const part of ["/opt/tercet", '"mcp"', '"--local"', folder]) {
        assertStringIncludes(text, part);
      }
      const again = await play([...LOCAL, client]);
      assertStringIncludes(again.out, "already");
      assertEquals(await Deno.readTextFile(path), text);
      const gone = await play(["--yes", "--client", client], {
        run: runUninstall,
      });
      assertEquals(gone.code, 0);
      assertEquals((await Deno.readTextFile(path)).includes("tercet"), false);
    }
  });
});

Deno.test("runInstall() changes nothing when the answer is no, or there is no terminal to ask at", async () => {
  await withHome(async ({ home, play }) => {
    const args = ["--local", "--client", "cursor"];
    const asked: string[] = [];
    const no = await play(args, {
      ask(question) {
        asked.push(question);
        return Promise.resolve(false);
      },
    });
    assertEquals([no.code, asked], [1, [`Change ${home}/.cursor/mcp.json?`]]);
    const none = await play(args);
    assertEquals(none.code, 1);
    assertStringIncludes(none.err, "use --yes");
    assertStringIncludes(none.out, `+       "command": "/opt/tercet"`);
    assertEquals(await Array.fromAsync(Deno.readDir(home)), []);
  });
});

Deno.test("runInstall() follows a link, keeps the mode and a copy for the owner alone when a file is there", async () => {
  await withHome(async ({ home, play }) => {
    const real = `${home}/dotfiles.json`;
    const before = `{ "key": "a secret" }\n`;
    await Deno.writeTextFile(real, before, { mode: 0o640 });
    await Deno.symlink(real, `${home}/.claude.json`);
    assertEquals((await play([...LOCAL, "claude-code"])).code, 0);
    assert((await Deno.lstat(`${home}/.claude.json`)).isSymlink);
    const { mode } = await Deno.stat(real);
    assertEquals((mode ?? 0) & 0o777, 0o640);
    const copy = `${real}.before-tercet`;
    assertEquals(await Deno.readTextFile(copy), before);
    assertEquals(((await Deno.stat(copy)).mode ?? 0) & 0o777, 0o600);
  });
});

Deno.test("runInstall() takes the latest text when the program writes the file during the question", async () => {
  await withHome(async ({ home, play }) => {
    const path = `${home}/.claude.json`;
    await Deno.writeTextFile(path, "{}");
    const { code } = await play(["--local", "--client", "claude-code"], {
      async ask() {
        await Deno.writeTextFile(path, `{"starts": 7}`);
        return true;
      },
    });
    assertEquals(code, 0);
    assertEquals(JSON.parse(await Deno.readTextFile(path)).starts, 7);
  });
});

Deno.test("runInstall() refuses when the file cannot be changed, and leaves it as it is", async () => {
  await withHome(async ({ home, play }) => {
    const path = `${home}/.claude.json`;
    for (
      const [bytes, mode, fault] of [
        [new TextEncoder().encode("{ broken"), 0o600, "line 1 is not JSON"],
        [new TextEncoder().encode("{}"), 0o400, "it is read-only"],
        [Uint8Array.of(0x7b, 0xff, 0x7d), 0o600, "Cannot read"],
      ] as const
    ) {
      await Deno.writeFile(path, bytes);
      await Deno.chmod(path, mode);
      const { code, err } = await play([...LOCAL, "claude-code"]);
      assertEquals(code, 1);
      assertStringIncludes(err, fault);
      assertEquals(await Deno.readFile(path), bytes);
      await Deno.remove(path);
    }
    await Deno.mkdir(path);
    const { err } = await play([...LOCAL, "claude-code"]);
    assertStringIncludes(err, "it is not a file");
  });
});

Deno.test("runInstall() says so when there is no home folder", async () => {
  await withHome(async ({ play }) => {
    const { code, err } = await play([...LOCAL, "cursor"], {
      variables: { HOME: "" },
    });
    assertEquals(code, 1);
    assertStringIncludes(err, "HOME is not set");
  });
});

Deno.test("runInstall() writes paths of secrets, and never a secret", async () => {
  await withHome(async ({ home, play }) => {
    const remote = [
      "--client",
      "cursor",
      "--yes",
      "--relayer",
      "https://m.test",
    ];
    const variables = { TERCET_KEY: "07".repeat(32), TERCET_ACCOUNT: "0xacc" };
    const refused = await play(remote, { variables });
    assertEquals(refused.code, 2);
    assertStringIncludes(refused.err, "use --key-file");
    const { code } = await play([...remote, "--key-file", `${home}/key`], {
      variables,
    });
    assertEquals(code, 0);
    const { mcpServers } = JSON.parse(
      await Deno.readTextFile(`${home}/.cursor/mcp.json`),
    );
    assertEquals(mcpServers.tercet.args, [
      ...["mcp", "--relayer", "https://m.test", "--account", "0xacc"],
      `--key-file=${home}/key`,
    ]);
  });
});

Deno.test("runInstall() names the program alone when it runs from source", async () => {
  await withHome(async ({ home, play }) => {
    await play([...LOCAL, "cursor"], { execPath: "/usr/bin/deno" });
    const text = await Deno.readTextFile(`${home}/.cursor/mcp.json`);
    assertEquals(JSON.parse(text).mcpServers.tercet.command, "tercet");
  });
});

Deno.test("runInstall() refuses a project's file of a client that has none, and flags that do not go together", async () => {
  await withHome(async ({ play }) => {
    const project = [...LOCAL, "claude-desktop", "--scope", "project"];
    assertEquals((await play(project)).code, 2);
    const both = await play([...LOCAL, "cursor", "--credentials"]);
    assertEquals(both.code, 2);
    assertStringIncludes(both.err, "--local and --credentials");
    assertEquals((await play(["--client", "cursor"])).code, 2);
  });
});
