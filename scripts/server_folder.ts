/**
 * Folders of servers that tests and benchmarks start.
 *
 * @module
 */

/** The user whom Debian's package of PostgreSQL makes. */
const USER = "postgres";

/**
 * A temporary folder of a server that refuses to run as root. Where root runs
 * the tests, the folder and the server belong to the user whom Debian's package
 * makes.
 */
export class ServerFolder {
  /** The folder. */
  readonly path: string;
  readonly #owner: { readonly uid: number; readonly gid: number } | undefined;

  private constructor(
    path: string,
    owner: { readonly uid: number; readonly gid: number } | undefined,
  ) {
    this.path = path;
    this.#owner = owner;
  }

  /** Makes the folder. */
  static async make(prefix: string): Promise<ServerFolder> {
    const path = await Deno.makeTempDir({ prefix });
    if ((await Deno.stat(path)).uid !== 0) {
      return new ServerFolder(path, undefined);
    }
    const users = await Deno.readTextFile("/etc/passwd");
    const ids = new RegExp(`^${USER}:[^:]*:(\\d+):(\\d+):`, "m").exec(users);
    if (ids === null) throw new Error(`Cannot find the user "${USER}"`);
    const owner = { uid: Number(ids[1]), gid: Number(ids[2]) };
    await Deno.chown(path, owner.uid, owner.gid);
    return new ServerFolder(path, owner);
  }

  /** Writes a file that only the server can read, and returns its path. */
  async write(name: string, text: string): Promise<string> {
    const path = `${this.path}/${name}`;
    await Deno.writeTextFile(path, text, { mode: 0o600 });
    if (this.#owner !== undefined) {
      await Deno.chown(path, this.#owner.uid, this.#owner.gid);
    }
    return path;
  }

  /** What runs a program as the owner of the folder. */
  commandLine(program: string, args: readonly string[]): readonly string[] {
    const user = this.#owner === undefined
      ? []
      : ["setpriv", `--reuid=${USER}`, `--regid=${USER}`, "--clear-groups"];
    return [...user, program, ...args];
  }

  /** A command as the owner of the folder, and in it. */
  command(program: string, args: readonly string[]): Deno.Command {
    const [first = program, ...rest] = this.commandLine(program, args);
    return new Deno.Command(first, {
      args: rest,
      cwd: this.path,
      stdin: "null",
      stdout: "null",
      stderr: "null",
    });
  }

  /** Runs a command to its end. */
  async run(program: string, args: readonly string[]): Promise<void> {
    const { code } = await this.command(program, args).output();
    if (code !== 0) {
      throw new Error(`Cannot run ${program}: it failed (${code})`);
    }
  }

  /** Removes the folder. */
  async remove(): Promise<void> {
    await Deno.remove(this.path, { recursive: true });
  }
}
