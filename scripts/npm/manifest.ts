/**
 * The package's `package.json`, from the project's `deno.json` and what the compiled
 * files import.
 *
 * @module
 */

/** What of the project's configuration the package is made from. */
export interface ProjectConfig {
  /** The package's name. */
  readonly name: string;
  /** Its version. */
  readonly version: string;
  /** Its licence. */
  readonly license: string;
  /** The modules by their paths in the package. */
  readonly exports: Readonly<Record<string, string>>;
  /** The packages of the project. */
  readonly imports: Readonly<Record<string, string>>;
}

/**
 * Packages of applications, which the SDK finds where they are installed. Npm installs
 * none of them by itself.
 */
export const PEERS: readonly string[] = ["@mysten/sui", "ai"];

/** The oldest Node that the tests run the package with. */
const NODE = ">=20";

/**
 * Makes the text of `package.json`.
 *
 * @param imported The packages that the compiled files name.
 * @throws {Error} When the project does not say which version of one of them.
 */
export function packageManifest(
  config: ProjectConfig,
  imported: readonly string[],
): string {
  const { name, version, license, exports } = config;
  const rangesOf = (names: readonly string[]) =>
    Object.fromEntries(names.map((one) => [one, npmRange(config, one)]));
  const peers = imported.filter((one) => PEERS.includes(one));
  const manifest = {
    name,
    version,
    description: "Clients for rate limits, scheduled tasks and memories",
    keywords: [
      ...["agents", "ai-sdk", "client", "memory", "queue", "rate-limit"],
      ...["scheduler", "sdk", "tasks", "tercet", "webhooks"],
    ],
    license,
    type: "module",
    sideEffects: false,
    engines: { node: NODE },
    exports: {
      ...Object.fromEntries(
        Object.entries(exports).map(([path, file]) => [path, {
          types: file.replace(/\.ts$/, ".d.ts"),
          default: file.replace(/\.ts$/, ".js"),
        }]),
      ),
      "./package.json": "./package.json",
    },
    files: ["mod.js", "mod.d.ts", "sdk/", "CHANGELOG.md"],
    dependencies: rangesOf(imported.filter((one) => !PEERS.includes(one))),
    peerDependencies: rangesOf(peers),
    peerDependenciesMeta: Object.fromEntries(
      peers.map((one) => [one, { optional: true }]),
    ),
    publishConfig: { access: "public" },
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

/**
 * The range of a package's versions that the project names.
 *
 * @throws {Error} When it names none.
 */
export function npmRange(
  { imports }: Pick<ProjectConfig, "imports">,
  name: string,
): string {
  const specifier = imports[name] ?? "";
  const prefix = `npm:${name}@`;
  if (specifier.startsWith(prefix)) return specifier.slice(prefix.length);
  throw new Error(
    `Cannot name a version of "${name}": the imports of deno.json have no ` +
      "npm: line for it; add one, or import nothing of it",
  );
}
