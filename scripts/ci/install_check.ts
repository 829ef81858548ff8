/**
 * Tests `scripts/vm/install.sh` in a folder that takes the place of the root
 * folder, with stand-ins for `systemctl` and `curl`: a release is healthy when
 * its file contains that word.
 *
 * @module
 */

import { print, tell, toMessage } from "../terminal.ts";

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
    // So is one that is interrupted while it waits for health.
    await machine.run([
      ...["install", "ratelimit", "--executable", "slow"],
      ...["--settings", "other.env"],
    ], 3);
    await machine.holds("current", "healthy 1");
    await machine.holds("settings", "PORT=1");
    // And one that has no room for its unit.
    await machine.withoutRoom(["install", "ratelimit", "--executable", "bad"]);
    await machine.holds("current", "healthy 1");
    // The port is read as systemd reads it.
    for (const file of ["quoted.env", "spaced.env"]) {
      const settings = ["--executable", "good_1", "--settings", file];
      await machine.run(["install", "ratelimit", ...settings], 0);
    }
    // Health of another program does not count.
    await machine.run([
      ...["install", "ratelimit", "--executable", "good_2"],
      ...["--settings", "taken.env"],
    ], 1);
    await machine.holds("current", "healthy 1");
    await machine.run(["install", "ratelimit", "--executable", "good_1"], 0);
    await machine.whileLocked(async () => {
      await machine.run(["install", "ratelimit", "--executable", "good_2"], 1);
      await machine.run(["rollback", "ratelimit"], 1);
      await machine.run(["uninstall", "ratelimit"], 1);
    });
    await machine.holds("current", "healthy 1");
    await machine.run(
      [
        ...["install", "ratelimit", "--executable", "good_1"],
        ...["--settings", "first.env"],
      ],
      0,
    );
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
      slow: "interrupted",
      "first.env": "PORT=1",
      "other.env": "PORT=2",
      "quoted.env": "PORT='3'\r\n",
      "spaced.env": ' PORT = "4" \n',
      "taken.env": "PORT=5",
      "bin/systemctl": "#!/bin/sh\nexit 0\n",
      // Answers whether the installed release is healthy, at the port that its
      // settings have; at port 5 another program is healthy.
      "bin/curl": `#!/bin/sh
for url; do :; done
case $url in *:5/*) exit 0 ;; esac
if grep -q interrupted ${folder}/root/opt/tercet/*/current; then kill -TERM $PPID; fi
port=$(tr -dc 0-9 < ${folder}/root/etc/tercet/ratelimit.env)
case $url in *:$port/*) ;; *) exit 7 ;; esac
cat ${folder}/root/opt/tercet/*/current | grep -q healthy
`,
      // Has no room for what is not in its list.
      "full/install": `#!/bin/sh
case "$*" in *tercet@.service*) echo "No space left on device" >&2; exit 1 ;; esac
exec /usr/bin/install "$@"
`,
    };
    await Deno.mkdir(`${folder}/bin`);
    await Deno.mkdir(`${folder}/full`);
    for (const [name, text] of Object.entries(files)) {
      await Deno.writeTextFile(`${folder}/${name}`, text, { mode: 0o755 });
    }
    const etc = `${folder}/root/etc/tercet`;
    await Deno.mkdir(etc, { recursive: true });
    await Deno.copyFile(`${folder}/first.env`, `${etc}/ratelimit.env`);
    return new Machine(folder);
  }

  /** Runs the script while the unit cannot be written. */
  async withoutRoom(args: readonly string[]): Promise<void> {
    await this.run(args, 3, `${this.#folder}/full:`);
  }

  /** Does something while another script changes ratelimit. */
  async whileLocked(act: () => Promise<void>): Promise<void> {
    const other = new Deno.Command("flock", {
      args: [
        `${this.#folder}/root/opt/tercet/ratelimit`,
        ...["sh", "-c", "echo held; cat"],
      ],
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    try {
      const reader = other.stdout.getReader();
      await reader.read();
      reader.releaseLock();
      await act();
    } finally {
      await other.stdin.close();
      await other.output();
    }
  }

  /** Runs the script, which has to exit with this code. */
  async run(
    args: readonly string[],
    code: number,
    path = "",
  ): Promise<void> {
    const output = await new Deno.Command("sh", {
      args: [SCRIPT, ...args, "--root", `${this.#folder}/root`, "--wait", "0"],
      cwd: this.#folder,
      env: {
        PATH: `${path}${this.#folder}/bin:${Deno.env.get("PATH") ?? ""}`,
      },
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
    tell(`Install check failed: ${toMessage(error)}`);
    Deno.exit(1);
  }
}
