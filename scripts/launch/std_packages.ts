/**
 * Lists the `@std` modules that the project imports, and checks whether they
 * are in Deno's cache.
 *
 * @module
 */

/** The modules, as the project writes them. */
export const STD_MODULES: readonly string[] = [
  "@std/assert",
  "@std/http/status",
  "@std/yaml",
];

/** The packages those modules belong to. */
export const STD_PACKAGES: readonly string[] = STD_MODULES.map(toPackage);

/**
 * Returns the specifier that `deno.json` maps each module to, such as
 * `jsr:@std/http@^1.0.0/status`.
 *
 * @throws {TypeError} When `deno.json` does not map one of the packages.
 */
export function stdSpecifiers(denoJson: string): readonly string[] {
  const config: unknown = JSON.parse(denoJson);
  const imports = property(config, "imports");
  return STD_MODULES.map((module) => {
    const name = toPackage(module);
    const target = property(imports, name);
    if (typeof target !== "string") {
      throw new TypeError(
        `Cannot find "${name}": "imports" of deno.json does not map it`,
      );
    }
    return target + module.slice(name.length);
  });
}

/**
 * Returns whether a run would find all `@std` packages in Deno's cache. A
 * second Deno imports them from the cache only: no other check is right for
 * every layout of the cache. It works on a copy of the lock file, so that the
 * versions pinned there count and the file itself stays unchanged.
 *
 * @param root The folder of `deno.json`, with a slash at its end.
 */
export async function isStdCached(root: URL): Promise<boolean> {
  const denoJson = await Deno.readTextFile(new URL("deno.json", root));
  const folder = await Deno.makeTempDir({ prefix: "tercet-std-" });
  try {
    const source = stdSpecifiers(denoJson)
      .map((specifier) => `import ${JSON.stringify(specifier)};\n`).join("");
    const probe = `${folder}/probe.ts`;
    const lock = `${folder}/deno.lock`;
    await Deno.writeTextFile(probe, source);
    await copyIfPresent(new URL("deno.lock", root), lock);
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

function toPackage(module: string): string {
  return module.split("/", 2).join("/");
}

function property(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? Reflect.get(value, name)
    : undefined;
}

async function copyIfPresent(from: URL, to: string): Promise<void> {
  try {
    await Deno.copyFile(from, to);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
