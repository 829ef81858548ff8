/**
 * Tests the npm package of the SDK as applications use it: built, installed
 * from its tarball, and used in every runtime and by the type checker.
 * `deno task test:npm` runs it. Not part of `deno task test`, as it downloads
 * runtimes from the registry.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { bundle } from "../bundle.ts";
import { openPage } from "../chromium.ts";
import { WANTED } from "../module_uses.ts";
import { runProgram } from "../run_program.ts";
import { TempFolder } from "../temp_folder.ts";
import { buildPackage } from "./build_package.ts";
import { type NodeVersion, nodeVersions } from "./node_versions.ts";
import { checkFrameworkTypes, tryFrameworks } from "./framework_trial.ts";
import { NpmProject } from "./npm_project.ts";
import { tryReactNative } from "./react_native_trial.ts";
import { tryRelayer } from "./relayer_trial.ts";

/**
 * Time limit in milliseconds; long enough to download some hundred megabytes.
 */
const TIMEOUT_MS = 900_000;
/**
 * Files other than modules that the tarball has to contain, such as the
 * licence.
 */
const PAPERS = ["CHANGELOG.md", "LICENSE", "README.md", "package.json"];
/** The major versions of Node that the package supports. */
const NODES = [20, 22, 24] as const;
/** The runtime that the tests fetch, whether the machine has one or not. */
const BUN = "bun@1.4.5";
/** The ways in which a compiler may resolve modules. */
const NODE10 = { module: "esnext", moduleResolution: "node10" };
const NODENEXT = { module: "nodenext", moduleResolution: "nodenext" };
const BUNDLER = { module: "esnext", moduleResolution: "bundler" };
/**
 * The oldest compiler that can read the declarations, the project's own, and
 * the newest.
 */
const COMPILERS: readonly Compiler[] = [
  { version: "5.7", resolution: NODENEXT },
  { version: "5.7", resolution: NODE10 },
  { version: "5.9", resolution: BUNDLER },
  { version: "7", resolution: NODENEXT },
  { version: "7", resolution: BUNDLER },
];
/** Packages that users and the tests need beside the SDK. */
const TOOLS: readonly string[] = [
  ...["5.7", "5.9", "7"].map((one) =>
    `typescript-${one}@npm:typescript@${one}`
  ),
  ...["ai@7", "esbuild@0.28", "publint@0.3"],
];

/** A TypeScript compiler that a user may have. */
interface Compiler {
  /** The version of the compiler. */
  readonly version: string;
  /** The compiler options for resolving modules. */
  readonly resolution: {
    readonly module: string;
    readonly moduleResolution: string;
  };
}

/** A package under test, and a project that uses it. */
interface Trial {
  /** Runs a step of the test. */
  readonly step: (name: string, fn: () => Promise<void>) => Promise<void>;
  /** The path of the package's tarball. */
  readonly tarball: string;
  /** The project in which the package is installed. */
  readonly project: NpmProject;
}

Deno.test({
  name: "the npm package of the SDK",
  timeout: TIMEOUT_MS,
  fn: async (test) => {
    await using folder = await TempFolder.make();
    await using project = await NpmProject.make();
    const tarball = await buildPackage("sdk", `${folder.path}/first`);
    const step = async (name: string, fn: () => Promise<void>) => {
      await test.step(name, fn);
    };
    const trial = { step, tarball, project };
    await tryContents(trial);
    await tryAlone(trial);
    await tryBeside(trial);
    const [again, nodes] = await Promise.all([
      buildPackage("sdk", `${folder.path}/second`),
      nodeVersions(project, NODES),
      project.install(...TOOLS),
    ]);
    await step("is the same bytes when it is built again", async () => {
      const files = [tarball, again].map((path) => Deno.readFile(path));
      const [first, second] = await Promise.all(files);
      assertEquals(first, second);
    });
    await tryRuntimes(trial, nodes);
    await step(
      "remembers, and makes an account with the ledger's package",
      async () => {
        await project.install("@mysten/sui@2");
        await tryRelayer(project);
      },
    );
    await step(
      "limits requests of Express, Hono and fetch",
      () => tryFrameworks(project),
    );
    await step(
      "works in Hermes, from a bundle of Metro, without WebCrypto",
      () => tryReactNative(tarball),
    );
    await tryTypes(trial);
  },
});

async function tryContents({ step, tarball, project }: Trial): Promise<void> {
  await step("holds modules, declarations and papers alone", async () => {
    const names = await namesIn(project, tarball);
    const modules = names.filter((name) => !PAPERS.includes(name));
    assertEquals(names.filter((name) => PAPERS.includes(name)), PAPERS);
    const odd = modules.filter((name) =>
      !/^(?:mod|sdk\/.*)(?:\.d\.ts|\.js)$/.test(name) ||
      /_test\.|\/testing\//.test(name)
    );
    assertEquals(odd, []);
  });
  await step("would be published", async () => {
    // Offline, so that it does not matter which versions the registry already
    // has.
    const text = await project.npm(
      ...["publish", tarball, "--dry-run", "--json", "--offline"],
    );
    assert(text.includes('"@tercet/sdk@'), text);
  });
}

/** Tests the package without the optional packages that applications have. */
async function tryAlone({ step, tarball, project }: Trial): Promise<void> {
  await step("is installed with the packages that it needs alone", async () => {
    await project.install(tarball);
    assertEquals(await project.packages(), [
      ...["@noble/ciphers", "@noble/curves", "@noble/hashes"],
      "@tercet/sdk",
    ]);
  });
  await step("works in Node without packages of applications", async () => {
    const { "./ai": _, ...wanted } = WANTED;
    await useAll(project, { command: "node", wanted });
  });
  await step(
    "tells the oldest Node and TypeScript that are tried",
    async () => {
      const { engines, typesVersions } = JSON.parse(
        await Deno.readTextFile(
          `${project.folder}/node_modules/@tercet/sdk/package.json`,
        ),
      );
      assertEquals(engines, { node: `>=${Math.min(...NODES)}` });
      assertEquals(Object.keys(typesVersions), [`>=${COMPILERS[0]?.version}`]);
    },
  );
  await step(
    "draws no warning at a thousand calls with one signal",
    async () => {
      await project.write("many_calls.mjs", MANY_CALLS);
      assertEquals(await project.run("node", ["many_calls.mjs"]), "");
    },
  );
}

/**
 * Makes many calls at once, ends most of them by their signal, and prints the
 * warnings of the runtime and the calls that ended in another way.
 */
const MANY_CALLS = `
import { createServer } from "node:http";
import { Mem, RateLimitClient } from "@tercet/sdk";
import { TasksClient } from "@tercet/sdk/tasks";
process.on("warning", ({ name }) => console.log(name));
const server = createServer((_, response) => {
  setTimeout(() => response.end("{}"), 200);
}).listen(0, "127.0.0.1", async () => {
  const serverUrl = "http://127.0.0.1:" + server.address().port;
  const key = "07".repeat(32);
  const mem = Mem.create({ key, accountId: "0xa11ce", serverUrl });
  const limits = new RateLimitClient({ url: serverUrl });
  const tasks = new TasksClient({ url: serverUrl, key: "dk_1" });
  const entries = [{ key: "login", value: "ada" }];
  const request = { domain: "edge", descriptors: [{ entries }] };
  const ending = new AbortController();
  const { signal } = ending;
  const makers = [
    (at) => mem.recall({ query: "tea " + at, signal }),
    () => limits.check(request, { signal }),
    (at) => tasks.get("tsk_" + at, { signal }),
  ];
  const ended = makers.flatMap((make) =>
    Array.from({ length: 1_000 }, (_, at) => make(at))
  );
  ending.abort("enough");
  for (const { reason } of await Promise.allSettled(ended)) {
    if (reason !== "enough") console.log(reason);
  }
  const calls = Array.from({ length: 100 }, (_, at) => mem.recall("tea " + at));
  await Promise.allSettled(calls);
  mem.destroy();
  server.close();
  // One that a client opened and ended without a request is not idle.
  server.closeAllConnections();
});
`;

/** Packages that applications have in these versions, and want to keep. */
const NEIGHBOURS: readonly (readonly string[])[] = [
  ["ai@5"],
  ["ai@6"],
  ["ai@7"],
  ["@mysten/sui@1"],
  ["@mysten/sui@2"],
  ["ai@5", "@mysten/sui@1"],
];

/** Tests that npm takes the package beside what applications have already. */
async function tryBeside({ step, tarball }: Trial): Promise<void> {
  for (const neighbours of NEIGHBOURS) {
    await step(`is installed beside ${neighbours.join(" and ")}`, async () => {
      await using project = await NpmProject.make();
      await project.npm("install", "--package-lock-only", ...neighbours);
      await project.npm("install", "--package-lock-only", tarball);
    });
  }
}

async function tryRuntimes(
  { step, project }: Trial,
  nodes: readonly NodeVersion[],
): Promise<void> {
  for (const { major, command } of nodes) {
    await step(`works in Node ${major}`, async () => {
      await useAll(project, { command });
      // Loads the module with `require`, as CommonJS modules do.
      await project.run(command, [
        ...["--input-type=commonjs", "--eval"],
        'new (require("@tercet/sdk/ratelimit").RateLimitClient)({ url: "http://a" })',
      ]);
    });
  }
  await step("works in Bun", async () => {
    await using own = await NpmProject.make();
    await own.npm("install", BUN);
    const command = `${own.folder}/node_modules/.bin/bun`;
    await useAll(project, { command, flags: ["--no-install"] });
  });
  await step("works in Deno", async () => {
    await useAll(project, {
      command: Deno.execPath(),
      flags: ["run", "-A", "--no-lock", "--node-modules-dir=manual"],
    });
  });
  await step("works in a page of Chromium, from a bundle", async () => {
    await writeProgram(project, WANTED);
    await project.run("node_modules/.bin/esbuild", [
      ...["--bundle", "--minify", "--format=esm", "--platform=browser"],
      ...["--log-level=error", "program.mjs", "--outfile=page/program.mjs"],
    ]);
    const report = await openPage({
      folder: `${project.folder}/page`,
      optionsAt: () => ({}),
    });
    assertEquals(report, WANTED);
  });
}

async function tryTypes({ step, tarball, project }: Trial): Promise<void> {
  for (const compiler of COMPILERS) {
    const { version, resolution } = compiler;
    await step(
      `has whole declarations for TypeScript ${version}, ${resolution.moduleResolution}`,
      () => checkTypes(project, compiler),
    );
  }
  await step(
    "has declarations that fit those of Express and Hono",
    async () => {
      for (const version of ["5.7", "7"]) {
        await checkFrameworkTypes(project, toCompilerPath(version));
      }
    },
  );
  await step("has nothing that publint finds", async () => {
    await project.run("node_modules/.bin/publint", [
      ...["run", tarball, "--strict"],
    ]);
  });
}

/** Returns the names of the files in a tarball, sorted. */
async function namesIn(
  project: NpmProject,
  tarball: string,
): Promise<readonly string[]> {
  const text = await project.run("tar", ["-tzf", tarball]);
  return text.trim().split("\n").map((name) => name.replace(/^package\//, ""))
    .sort();
}

/**
 * Uses modules of the installed package in a process of a runtime, and checks
 * the results.
 */
async function useAll(
  project: NpmProject,
  { command, flags, wanted = WANTED }: {
    readonly command: string;
    readonly flags?: readonly string[];
    readonly wanted?: Readonly<Record<string, unknown>>;
  },
): Promise<void> {
  await writeProgram(project, wanted);
  const report = await runProgram(command, {
    folder: project.folder,
    flags: flags ?? [],
  });
  assertEquals(report, wanted);
}

/**
 * Writes a program that uses the modules whose paths are the keys of `wanted`.
 */
async function writeProgram(
  project: NpmProject,
  wanted: Readonly<Record<string, unknown>>,
): Promise<void> {
  await bundle("tests/sdk/module_uses.ts", {
    into: `${project.folder}/module_uses.mjs`,
  });
  const paths = Object.keys(wanted);
  const imports = paths.map((path, index) =>
    `import * as module${index} from "@tercet/sdk${path.slice(1)}";`
  );
  const uses = paths.map((path, index) =>
    `"${path}": await useModule("${path}", module${index}),`
  );
  await project.write(
    "program.mjs",
    [
      'import { useModule } from "./module_uses.mjs";',
      ...imports,
      ...["export const run = async () => ({", ...uses, "});"],
    ].join("\n"),
  );
}

/** Checks an application and the declarations themselves with a compiler. */
async function checkTypes(
  project: NpmProject,
  { version, resolution }: Compiler,
): Promise<void> {
  const application = new URL("application.ts", import.meta.url);
  await Deno.copyFile(application, `${project.folder}/application.ts`);
  const compilerOptions = {
    ...resolution,
    ...{ target: "es2022", lib: ["es2022", "dom"], types: [] },
    ...{ strict: true, noEmit: true, skipLibCheck: false },
  };
  await project.write(
    "tsconfig.json",
    JSON.stringify({ compilerOptions, files: ["application.ts"] }),
  );
  await project.run("node", [toCompilerPath(version), "--project", "."]);
}

function toCompilerPath(version: string): string {
  return `node_modules/typescript-${version}/bin/tsc`;
}
