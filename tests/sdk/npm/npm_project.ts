/**
 * A temporary project that uses npm packages, as an application does.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
/**
 * A folder with a `package.json` and the packages that were installed into it.
 */
export class NpmProject implements AsyncDisposable {
  /** The path of the folder. */
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** Creates an empty project. */
  static async make(): Promise<NpmProject> {
    const project = new NpmProject(
      await Deno.makeTempDir({ prefix: "npm_project_" }),
    );
    await project.write(
      "package.json",
      JSON.stringify({ private: true, type: "module" }),
    );
    return project;
  }

  /** Writes a file of the project. */
  async write(name: string, text: string): Promise<void> {
    await Deno.writeTextFile(`${this.folder}/${name}`, text);
  }

  /**
   * Installs packages in addition to those already installed, without running
   * their install scripts.
   *
   * @param specifiers Packages in the form that `npm install` takes.
   */
  async install(...specifiers: readonly string[]): Promise<void> {
    await this.npm("install", "--ignore-scripts", ...specifiers);
  }

  /** Runs npm in the project, and returns its stdout. */
  async npm(...args: readonly string[]): Promise<string> {
    // The folder is named, since a task that npx started has variables which
    // make npm use another folder.
    const own = ["--prefix", this.folder, "--no-audit", "--no-fund"];
    return await this.run("npm", [...args, ...own]);
  }

  /**
   * Runs a program in the project and returns its stdout; fails when the
   * program does not succeed.
   *
   * @param command A program on the path, or a path such as
   * `node_modules/.bin/esbuild`.
   */
  async run(command: string, args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await new Deno.Command(
      command.startsWith("node_modules/")
        ? `${this.folder}/${command}`
        : command,
      {
        args: [...args],
        cwd: this.folder,
        env: { NO_COLOR: "1" },
        stdin: "null",
        stdout: "piped",
        stderr: "piped",
      },
    ).output();
    const [out, said] = [stdout, stderr].map((bytes) =>
      new TextDecoder().decode(bytes)
    );
    assertEquals(code, 0, `${command} ${args.join(" ")}:\n${out}${said}`);
    return out ?? "";
  }

  /** Returns the names of the installed packages, sorted. */
  async packages(): Promise<readonly string[]> {
    const names: string[] = [];
    const folder = `${this.folder}/node_modules`;
    for (const name of await list(folder)) {
      if (name.startsWith(".")) continue;
      names.push(
        ...name.startsWith("@")
          ? (await list(`${folder}/${name}`)).map((one) => `${name}/${one}`)
          : [name],
      );
    }
    return names.sort();
  }

  /** Removes the folder, which takes a while. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.folder, { recursive: true });
  }
}

async function list(folder: string): Promise<readonly string[]> {
  const entries = await Array.fromAsync(Deno.readDir(folder));
  return entries.map(({ name }) => name);
}
