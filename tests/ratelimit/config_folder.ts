/**
 * A runtime root for the service, in a temporary folder.
 *
 * @module
 */

/** File name to content. */
export type ConfigFiles = Readonly<Record<string, string>>;

/** A root with a folder `config`, which the service reads. */
export class ConfigFolder {
  /** The temporary folder; further roots and links may be made in it. */
  readonly base: string;

  private constructor(base: string) {
    this.base = base;
  }

  /** Makes a root with these files. */
  static async make(files: ConfigFiles = {}): Promise<ConfigFolder> {
    const base = await Deno.makeTempDir({ prefix: "ratelimit_config_" });
    const folder = new ConfigFolder(base);
    await folder.makeRoot("root", files);
    return folder;
  }

  /** What `RUNTIME_ROOT` is set to. */
  get root(): string {
    return `${this.base}/root`;
  }

  /** Makes a further root beside the first; gives its path. */
  async makeRoot(name: string, files: ConfigFiles): Promise<string> {
    const root = `${this.base}/${name}`;
    await Deno.mkdir(`${root}/config`, { recursive: true });
    for (const [file, text] of Object.entries(files)) {
      await Deno.writeTextFile(`${root}/config/${file}`, text);
    }
    return root;
  }

  /** Writes a file of the first root in place. */
  async write(file: string, text: string): Promise<void> {
    await Deno.writeTextFile(`${this.root}/config/${file}`, text);
  }

  /** Points the link at `path` to `target`, in one step. */
  async swapLink(path: string, target: string): Promise<void> {
    const next = `${path}.next`;
    await Deno.symlink(target, next);
    await Deno.rename(next, path);
  }

  /** Removes everything. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.base, { recursive: true });
  }
}
