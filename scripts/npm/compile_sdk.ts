/**
 * The SDK's modules as other runtimes and type checkers take them: JavaScript and
 * declarations, made by the TypeScript compiler.
 *
 * @module
 */

import ts from "typescript";

/** What is compiled, and how. */
export interface CompileOptions {
  /** The project's folder. */
  readonly root: string;
  /** The modules to begin with, by their paths in the project. */
  readonly entries: readonly string[];
  /** A folder whose `node_modules` has the packages that the modules import. */
  readonly packages: string;
  /** `compilerOptions` of the project's configuration. */
  readonly compilerOptions: unknown;
}

/** What became of it. */
export type CompileOutcome =
  | {
    readonly kind: "compiled";
    /** The texts by their paths, such as `sdk/account.js`. */
    readonly files: ReadonlyMap<string, string>;
  }
  /** `faults` are what the compiler says, with places. */
  | { readonly kind: "failed"; readonly faults: string };

/** What every runtime that the package promises has. */
const TARGET = {
  target: "es2022",
  module: "esnext",
  moduleResolution: "bundler",
  lib: ["es2023", "esnext.disposable", "dom", "dom.iterable"],
  types: [],
  declaration: true,
  rewriteRelativeImportExtensions: true,
  // A file that cannot be compiled alone is one that bundlers stumble over.
  isolatedModules: true,
  noEmitOnError: true,
  skipLibCheck: true,
  newLine: "lf",
} as const;

/** Compiles the modules and all that they reach. */
export function compileSdk(options: CompileOptions): CompileOutcome {
  const { root, entries, compilerOptions } = options;
  const { options: parsed, errors } = ts.convertCompilerOptionsFromJson({
    ...Object(compilerOptions),
    ...TARGET,
    rootDir: root,
    outDir: root,
  }, root);
  const host = hostOf(parsed, options);
  const files = new Map<string, string>();
  const program = ts.createProgram({
    rootNames: entries.map((entry) => root + entry),
    options: parsed,
    host,
  });
  const found = [...errors, ...ts.getPreEmitDiagnostics(program)];
  if (found.length === 0) {
    const { diagnostics } = program.emit(
      undefined,
      (path, text) => {
        files.set(path.slice(root.length), withLibrary(path, text));
      },
      undefined,
      false,
      { afterDeclarations: [nameOutputs] },
    );
    found.push(...diagnostics);
  }
  if (found.length === 0) return { kind: "compiled", files };
  return { kind: "failed", faults: ts.formatDiagnostics(found, host) };
}

/**
 * The compiler's own host, but for packages: the project has no `node_modules`, so
 * they are looked for from the folder that has.
 */
function hostOf(
  parsed: ts.CompilerOptions,
  { root, packages }: CompileOptions,
): ts.CompilerHost {
  const host = ts.createCompilerHost(parsed);
  return {
    ...host,
    getCurrentDirectory: () => root,
    resolveModuleNameLiterals: (literals, containingFile) =>
      literals.map(({ text }) => {
        const isOurs = text.startsWith(".") || !containingFile.startsWith(root);
        const from = isOurs ? containingFile : `${packages}/module.ts`;
        return ts.resolveModuleName(text, from, parsed, host);
      }),
  };
}

/**
 * Makes the declarations name each other as `.js`, which the compiler does by itself in
 * JavaScript alone: readers look for the declarations beside it.
 */
const nameOutputs: ts.TransformerFactory<ts.SourceFile | ts.Bundle> = (
  context,
) => {
  const { factory } = context;
  // Nodes that the compiler makes do not know what they stand in.
  const renameIn = (outer: ts.Node) => (node: ts.Node): ts.Node => {
    if (ts.isStringLiteral(node) && isFrom(outer)) {
      return factory.createStringLiteral(
        node.text.replace(/^(\.\.?\/.*)\.ts$/, "$1.js"),
      );
    }
    const isBetween = ts.isLiteralTypeNode(node) && isFrom(outer);
    return ts.visitEachChild(
      node,
      renameIn(isBetween ? outer : node),
      context,
    );
  };
  return (file) => ts.visitEachChild(file, renameIn(file), context);
};

/** Tells whether a text in the node is the path of a module. */
function isFrom(node: ts.Node): boolean {
  return ts.isImportDeclaration(node) || ts.isExportDeclaration(node) ||
    ts.isImportTypeNode(node);
}

/**
 * Names the library of a type that is not in what users' programs target, or they would
 * have to name it themselves.
 */
function withLibrary(path: string, text: string): string {
  return path.endsWith(".d.ts") &&
      /\b(?:asyncDispose|AsyncDisposable)\b/.test(text)
    ? `/// <reference lib="esnext.disposable" />\n${text}`
    : text;
}

/** The packages that the files name, in order; types count as well. */
export function importedPackages(texts: Iterable<string>): readonly string[] {
  const names = new Set<string>();
  for (const text of texts) {
    for (const { fileName } of ts.preProcessFile(text).importedFiles) {
      if (fileName.startsWith(".")) continue;
      const [first = "", second] = fileName.split("/");
      names.add(first.startsWith("@") ? `${first}/${second}` : first);
    }
  }
  return [...names].sort();
}
