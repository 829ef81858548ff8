/**
 * Tests the launcher as a process: what it prints, which commands it runs, and
 * how it exits.
 *
 * @module
 */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { writeRegistry } from "./offline/registry.ts";

const LAUNCHER = decodeURIComponent(
  new URL("./launch.ts", import.meta.url).pathname,
);

/** A launcher with an empty cache, in a folder without a configuration. */
interface Sandbox extends AsyncDisposable {
  readonly folder: string;
  command(args: readonly string[], env?: Record<string, string>): Deno.Command;
  run(
    args: readonly string[],
    env?: Record<string, string>,
  ): Promise<{ code: number; stdout: string; stderr: string }>;
}

async function openSandbox(
  options: { readonly withProject?: boolean } = {},
): Promise<Sandbox> {
  const folder = await Deno.makeTempDir({ prefix: "tercet-launch-" });
  const launcher = options.withProject === true
    ? await copyProject(`${folder}/project`)
    : LAUNCHER;
  const decoder = new TextDecoder();
  function command(
    args: readonly string[],
    env: Record<string, string> = {},
  ): Deno.Command {
    return new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-config", launcher, ...args],
      clearEnv: true,
      cwd: folder,
      env: {
        // The same value as for other runs, since the shared configuration
        // depends on it and no test may change that.
        CI: Deno.env.get("CI") ?? "",
        DENO_DIR: `${folder}/cache`,
        NO_COLOR: "1",
        ...env,
      },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    });
  }
  return {
    folder,
    command,
    async run(args, env) {
      const output = await command(args, env).output();
      return {
        code: output.code,
        stdout: decoder.decode(output.stdout),
        stderr: decoder.decode(output.stderr),
      };
    },
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}

/**
 * Copies the files that the launcher needs, without a lock file, which pins
 * versions of the real packages that a test's registry does not have.
 *
 * @returns The path of the launcher in the copy.
 */
async function copyProject(folder: string): Promise<string> {
  const root = new URL("../", import.meta.url);
  for (const name of ["scripts", "services"]) {
    await copyFolder(new URL(`${name}/`, root), `${folder}/${name}`);
  }
  for (const name of ["deno.json", ".deno-version"]) {
    await Deno.copyFile(new URL(name, root), `${folder}/${name}`);
  }
  return `${folder}/scripts/launch.ts`;
}

async function copyFolder(from: URL, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const { name, isDirectory, isFile } of Deno.readDir(from)) {
    if (isDirectory) {
      await copyFolder(new URL(`${name}/`, from), `${to}/${name}`);
    } else if (isFile) {
      await Deno.copyFile(new URL(name, from), `${to}/${name}`);
    }
  }
}

/** Starts a registry whose packages have the right names and are empty. */
async function startRegistry(
  folder: string,
): Promise<{ url: string } & AsyncDisposable> {
  const packages = new URL(`file://${folder}/packages/`);
  const modules = [["assert", "."], ["http", "./status"], ["yaml", "."]];
  for (const [name, entry] of modules) {
    const home = new URL(`${name}/`, packages);
    await Deno.mkdir(home, { recursive: true });
    await Deno.writeTextFile(new URL("mod.ts", home), "export {};");
    await Deno.writeTextFile(
      new URL("deno.json", home),
      JSON.stringify({
        name: `@std/${name}`,
        version: "1.0.0",
        exports: { [entry ?? "."]: "./mod.ts" },
      }),
    );
  }
  const registry = new URL(`file://${folder}/registry/`);
  await writeRegistry({ packages, folder: registry });
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const { pathname } = new URL(request.url);
      try {
        const file = new URL(pathname.slice(1), registry);
        return new Response(await Deno.readTextFile(file), {
          headers: { "content-type": "application/typescript" },
        });
      } catch {
        return new Response("no such file", { status: 404 });
      }
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}/`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

function countNotices(stderr: string): number {
  return stderr.split("\n").filter((line) => line.startsWith("@std: ")).length;
}

Deno.test("launch.ts runs nothing when TERCET_STD is neither of its values", async () => {
  await using sandbox = await openSandbox();
  const { code, stdout, stderr } = await sandbox.run(
    ["eval", "console.log('ran')"],
    { TERCET_STD: "online" },
  );
  assertEquals([code, stdout], [2, ""]);
  assertEquals(
    stderr,
    `Cannot use TERCET_STD: got "online", accepted are "jsr", "offline" and ` +
      "nothing at all\n",
  );
});

Deno.test("launch.ts says what to give it when there is no subcommand", async () => {
  await using sandbox = await openSandbox();
  const { code, stderr } = await sandbox.run([]);
  assertEquals(code, 2);
  assertStringIncludes(stderr, "no subcommand of Deno given");
});

Deno.test("launch.ts gives the stand-ins when it is told to, and passes the exit code on", async () => {
  await using sandbox = await openSandbox();
  const { code, stdout, stderr } = await sandbox.run(
    [
      "eval",
      `import { assertEquals } from "@std/assert";
       import { STATUS_TEXT } from "@std/http/status";
       assertEquals(STATUS_TEXT[200], "OK");
       console.log("ran");
       Deno.exit(5);`,
    ],
    { TERCET_STD: "offline" },
  );
  assertEquals([code, stdout], [5, "ran\n"], stderr);
  assertEquals(
    stderr,
    "@std: taking the stand-ins of scripts/offline, because TERCET_STD says so\n",
  );
});

Deno.test("launch.ts says it once when it runs itself", async () => {
  await using sandbox = await openSandbox();
  const { code, stdout, stderr } = await sandbox.run(
    ["run", "-A", LAUNCHER, "eval", `console.log("inner")`],
    { TERCET_STD: "offline" },
  );
  assertEquals([code, stdout], [0, "inner\n"], stderr);
  assertEquals(countNotices(stderr), 1);
});

Deno.test("launch.ts asks the registry first, and nobody once the packages are cached", async () => {
  await using sandbox = await openSandbox({ withProject: true });
  // The second run gets the same address, since Deno caches packages by the
  // address of their registry.
  let address = "";
  {
    await using registry = await startRegistry(sandbox.folder);
    address = registry.url;
    const asked = await sandbox.run(
      [
        "eval",
        `import "jsr:@std/assert@^1.0.0";
         import "jsr:@std/http@^1.0.0/status";
         import "jsr:@std/yaml@^1.0.0";`,
      ],
      { JSR_URL: address },
    );
    assertEquals(asked.code, 0, asked.stderr);
    assertStringIncludes(
      asked.stderr,
      `@std: taking the packages of JSR, because ${address} has them\n`,
    );
  }
  const cached = await sandbox.run(["eval", "1"], { JSR_URL: address });
  assertEquals(
    cached.stderr,
    "@std: taking the packages of JSR, because they are in Deno's cache\n",
  );
  const elsewhere = await sandbox.run(["eval", "1"], {
    JSR_URL: "http://127.0.0.1:1/",
  });
  assertStringIncludes(
    elsewhere.stderr,
    "taking the stand-ins of scripts/offline, because http://127.0.0.1:1/ " +
      "cannot be reached",
  );
});

Deno.test("launch.ts tells where the packages come from once, until it is elsewhere", async () => {
  await using sandbox = await openSandbox({ withProject: true });
  const readStderr = async (source: string): Promise<string> =>
    (await sandbox.run(["eval", "1"], { TERCET_STD: source })).stderr;
  assertEquals(countNotices(await readStderr("offline")), 1);
  assertEquals(countNotices(await readStderr("offline")), 0);
  assertEquals(countNotices(await readStderr("jsr")), 1);
});

Deno.test("launch.ts refuses an older Deno, and says which it needs", async () => {
  await using sandbox = await openSandbox({ withProject: true });
  const file = `${sandbox.folder}/project/.deno-version`;
  await Deno.writeTextFile(file, "99.1.2\n");
  const { code, stderr } = await sandbox.run(["eval", "1"]);
  assertEquals(code, 2);
  assertStringIncludes(stderr, "this project needs 99.1.2 or later");
  assertStringIncludes(stderr, "npx -y deno@99.1.2");
});

Deno.test("launch.ts hands SIGTERM on and waits for the end", async () => {
  await using sandbox = await openSandbox();
  await using child = sandbox.command(
    [
      "eval",
      `Deno.addSignalListener("SIGTERM", () => {
         console.log("stopping");
         Deno.exit(7);
       });
       setInterval(() => {}, 1000);
       console.log("ready");`,
    ],
    { TERCET_STD: "offline" },
  ).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  assertEquals((await reader.read()).value, "ready\n");
  child.kill("SIGTERM");
  assertEquals((await reader.read()).value, "stopping\n");
  assertEquals((await reader.read()).done, true);
  await child.stderr.cancel();
  assertEquals((await child.status).code, 7);
});
