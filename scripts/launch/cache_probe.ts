/**
 * The look into Deno's cache for the real `@std` packages.
 *
 * @module
 */

/** Where {@linkcode isStdCached} looks. */
export interface CacheProbeOptions {
  /** The folder of `deno.json`, with a slash at its end. */
  readonly root: URL;
  /** What to import, such as `jsr:@std/yaml@^1.0.0`. */
  readonly specifiers: readonly string[];
}

/**
 * Tells whether a run that imports `specifiers` would find all of it in Deno's
 * cache. A second Deno imports them with the cache alone, which is the only
 * answer that is right for every layout of the cache. It works on a copy of the
 * lock file: versions pinned there count, and the file itself stays as it is.
 */
export async function isStdCached(
  options: CacheProbeOptions,
): Promise<boolean> {
  const folder = await Deno.makeTempDir({ prefix: "tercet-std-" });
  try {
    const source = options.specifiers
      .map((specifier) => `import ${JSON.stringify(specifier)};\n`).join("");
    const probe = `${folder}/probe.ts`;
    const lock = `${folder}/deno.lock`;
    await Deno.writeTextFile(probe, source);
    await copyIfPresent(new URL("deno.lock", options.root), lock);
    const { success } = await new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--quiet",
        "--no-config",
        "--no-check",
        "--cached-only",
        `--lock=${lock}`,
        probe,
      ],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).output();
    return success;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function copyIfPresent(from: URL, to: string): Promise<void> {
  try {
    await Deno.copyFile(from, to);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
