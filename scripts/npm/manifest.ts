/**
 * Makes the `package.json` of the npm package, from the project's `deno.json`
 * and the imports of the compiled files.
 *
 * @module
 */

/** The parts of `deno.json` that the package is made from. */
export interface ProjectConfig {
  /** The name of the package. */
  readonly name: string;
  /** The version of the package. */
  readonly version: string;
  /** The licence of the package. */
  readonly license: string;
  /** The path of each entry module, by its name in the package. */
  readonly exports: Readonly<Record<string, string>>;
  /** The import map of the project, which holds the versions of packages. */
  readonly imports: Readonly<Record<string, string>>;
}

/**
 * Peer dependencies: packages that the application has, which the SDK imports
 * where they are installed. They are optional, so npm does not install them.
 * The ranges are wide: npm installs nothing at all beside a package that a
 * range leaves out, also for applications that use other parts of the SDK.
 */
const PEER_RANGES: Readonly<Record<string, string>> = {
  "@mysten/sui": ">=1",
};

/** Names of the peer dependencies. */
export const PEERS: readonly string[] = Object.keys(PEER_RANGES);

/** The oldest compiler that reads the declarations in the tests. */
const TYPESCRIPT = ">=5.7";

/** The oldest Node version that the tests run the packages with. */
export const NODE = ">=20";

/**
 * Returns the text of `package.json`.
 *
 * @param imported The packages that the compiled files import.
 * @throws {Error} When the project does not name the version of one of them.
 */
export function packageManifest(
  config: ProjectConfig,
  imported: readonly string[],
): string {
  const { name, version, license, exports } = config;
  const listRanges = (names: readonly string[]) =>
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
    // For resolvers that do not read exports.
    main: findMainModule(exports, "js"),
    types: findMainModule(exports, "d.ts"),
    typesVersions: {
      [TYPESCRIPT]: Object.fromEntries(
        Object.entries(exports).filter(([path]) => path !== ".")
          .map(([path, file]) => [
            path.slice(2),
            [file.replace(/\.ts$/, ".d.ts")],
          ]),
      ),
    },
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
    dependencies: listRanges(imported.filter((one) => !PEERS.includes(one))),
    peerDependencies: Object.fromEntries(
      peers.map((one) => [one, PEER_RANGES[one]]),
    ),
    peerDependenciesMeta: Object.fromEntries(
      peers.map((one) => [one, { optional: true }]),
    ),
    publishConfig: { access: "public" },
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

function findMainModule(
  exports: ProjectConfig["exports"],
  ending: "js" | "d.ts",
): string | undefined {
  return exports["."]?.replace(/\.ts$/, `.${ending}`);
}

/**
 * Returns the range of versions that the project's import map names for a
 * package.
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
