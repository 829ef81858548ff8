/**
 * Tests `scripts/vm/install.sh` in a folder that takes the place of the root
 * folder, with stand-ins for `systemctl` and `curl`: a release is healthy when
 * its file contains that word.
 *
 * @module
 */

import { messageOf, print, tell } from "../terminal.ts";

const SCRIPT = decodeURIComponent(
  new URL("../vm/install.sh", import.meta.url).pathname,
);

async function check(): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "tercet-install-" });
  try {
    const machine = await Machine.make(folder);
    await machine.run(["install", "ratelimit", "--executable", "good_1"], 0);
    await machine.holds("current", "healthy 1");
    await machine.holds("settings", "PORT=1");
    // Installing the same release again changes nothing.
    await machine.run(["install", "ratelimit", "--executable", "good_1"], 0);
    await machine.holds("current", "healthy 1");
    // A release that does not become healthy is rolled back, together with its
    // settings.
    await machine.run([
      ...["install", "ratelimit", "--executable", "bad"],
      ...["--settings", "other.env"],
    ], 3);
    await machine.holds("current", "healthy 1");
    await machine.holds("settings", "PORT=1");
    await machine.run(["install", "ratelimit", "--executable", "good_2"], 0);
    await machine.holds("current", "healthy 2");
    await machine.run(["rollback", "ratelimit"], 0);
    await machine.holds("current", "healthy 1");
    await machine.run(["uninstall", "ratelimit"], 0);
    await machine.holds("settings", "PORT=1");
    await machine.holds("current", undefined);
    await machine.run(["uninstall", "ratelimit", "--purge"], 0);
    await machine.holds("settings", undefined);
    // A first release that does not become healthy leaves nothing installed.
    await machine.run(["install", "tasks", "--executable", "bad"], 1);
    await machine.run(["install", "other", "--executable", "bad"], 2);
    await machine.run(["install", "tasks", "--dry-run"], 2);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** A folder that takes the place of a machine's root folder. */
class Machine {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async make(folder: string): Promise<Machine> {
    const files: Readonly<Record<string, string>> = {
      good_1: "healthy 1",
      good_2: "healthy 2",
      bad: "broken",
      "first.env": "PORT=1",
      "other.env": "PORT=2",
      "bin/systemctl": "#!/bin/sh\nexit 0\n",
      // Answers whether the installed release is healthy, whatever the URL is.
      "bin/curl": `#!/bin/sh
cat ${folder}/root/opt/tercet/*/current | grep -q healthy
`,
    };
    await Deno.mkdir(`${folder}/bin`);
    for (const [name, text] of Object.entries(files)) {
      await Deno.writeTextFile(`${folder}/${name}`, text, { mode: 0o755 });
    }
    const etc = `${folder}/root/etc/tercet`;
    await Deno.mkdir(etc, { recursive: true });
    await Deno.copyFile(`${folder}/first.env`, `${etc}/ratelimit.env`);
    return new Machine(folder);
  }

  /** Runs the script, which has to exit with this code. */
  async run(args: readonly string[], code: number): Promise<void> {
    const output = await new Deno.Command("sh", {
      args: [SCRIPT, ...args, "--root", `${this.#folder}/root`, "--wait", "0"],
      cwd: this.#folder,
      env: { PATH: `${this.#folder}/bin:${Deno.env.get("PATH") ?? ""}` },
    }).output();
    if (output.code === code) return;
    const said = new TextDecoder().decode(output.stderr);
    throw new Error(
      `"${args.join(" ")}" ended with ${output.code}, not ${code}: ${said}`,
    );
  }

  /**
   * Checks the content of the release in use, or of the settings; `undefined`
   * when there must not be any.
   */
  async holds(
    what: "current" | "settings",
    expected: string | undefined,
  ): Promise<void> {
    const path = what === "current"
      ? "opt/tercet/ratelimit/current"
      : "etc/tercet/ratelimit.env";
    const text = await readIfThere(`${this.#folder}/root/${path}`);
    if (text === expected) return;
    throw new Error(`${what} holds "${text}", not "${expected}"`);
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

if (import.meta.main) {
  try {
    await check();
    print("Install check passed");
  } catch (error) {
    tell(`Install check failed: ${messageOf(error)}`);
    Deno.exit(1);
  }
}
