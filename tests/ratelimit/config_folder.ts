/**
 * A temporary folder with rules files, which a rate limit service reads as its
 * runtime root.
 *
 * @module
 */

/** The content of each file, by its name. */
export type ConfigFiles = Readonly<Record<string, string>>;

/** A runtime root whose folder `config` the service reads. */
export class ConfigFolder {
  /** The temporary folder; tests may create further roots and links in it. */
  readonly base: string;

  private constructor(base: string) {
    this.base = base;
  }

  /** Creates a root with these files. */
  static async make(files: ConfigFiles = {}): Promise<ConfigFolder> {
    const base = await Deno.makeTempDir({ prefix: "ratelimit_config_" });
    const folder = new ConfigFolder(base);
    await folder.makeRoot("root", files);
    return folder;
  }

  /** The path that `RUNTIME_ROOT` is set to. */
  get root(): string {
    return `${this.base}/root`;
  }

  /** Creates a further root beside the first; returns its path. */
  async makeRoot(name: string, files: ConfigFiles): Promise<string> {
    const root = `${this.base}/${name}`;
    await Deno.mkdir(`${root}/config`, { recursive: true });
    for (const [file, text] of Object.entries(files)) {
      await Deno.writeTextFile(`${root}/config/${file}`, text);
    }
    return root;
  }

  /** Overwrites a file of the first root in place. */
  async write(file: string, text: string): Promise<void> {
    await Deno.writeTextFile(`${this.root}/config/${file}`, text);
  }

  /** Makes the link at `path` point to `target`, in one step. */
  async swapLink(path: string, target: string): Promise<void> {
    const next = `${path}.next`;
    await Deno.symlink(target, next);
    await Deno.rename(next, path);
  }

  /** Removes the temporary folder. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.base, { recursive: true });
  }
}
