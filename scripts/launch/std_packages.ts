/**
 * The `@std` modules that the project imports.
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
export const STD_PACKAGES: readonly string[] = STD_MODULES.map(packageOf);

/**
 * Returns where `deno.json` has each module come from, such as
 * `jsr:@std/http@^1.0.0/status`.
 *
 * @throws {TypeError} When `deno.json` does not map one of the packages.
 */
export function stdSpecifiers(denoJson: string): readonly string[] {
  const config: unknown = JSON.parse(denoJson);
  const imports = property(config, "imports");
  return STD_MODULES.map((module) => {
    const name = packageOf(module);
    const target = property(imports, name);
    if (typeof target !== "string") {
      throw new TypeError(
        `Cannot find "${name}": "imports" of deno.json does not map it`,
      );
    }
    return target + module.slice(name.length);
  });
}

function packageOf(module: string): string {
  return module.split("/", 2).join("/");
}

function property(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? Reflect.get(value, name)
    : undefined;
}
