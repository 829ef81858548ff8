/**
 * Compiles the SDK's modules with the TypeScript compiler to JavaScript and
 * declarations, for other runtimes and type checkers.
 *
 * @module
 */

import ts from "npm:typescript@^5.9.3";

/** What to compile, and how. */
export interface CompileOptions {
  /** The path of the project's folder. */
  readonly root: string;
  /** The entry modules, by their paths in the project. */
  readonly entries: readonly string[];
  /**
   * A folder whose `node_modules` contains the packages that the modules
   * import.
   */
  readonly packages: string;
  /** The value of `compilerOptions` in the project's configuration. */
  readonly compilerOptions: unknown;
}

/** The outcome of a compilation. */
export type CompileOutcome =
  | {
    readonly kind: "compiled";
    /** The compiled texts by their paths, such as `sdk/account.js`. */
    readonly files: ReadonlyMap<string, string>;
  }
  /** `faults` are the compiler's messages, with the places in the source. */
  | { readonly kind: "failed"; readonly faults: string };

/** A language version that every runtime supported by the package has. */
const TARGET = {
  target: "es2022",
  module: "esnext",
  moduleResolution: "bundler",
  lib: ["es2023", "esnext.disposable", "dom", "dom.iterable"],
  types: [],
  declaration: true,
  rewriteRelativeImportExtensions: true,
  // Bundlers compile each file alone, so every file must allow that.
  isolatedModules: true,
  // The compiler does not know Deno's own form of JSX; the SDK has none.
  jsx: "react-jsx",
  noEmitOnError: true,
  skipLibCheck: true,
  newLine: "lf",
} as const;

/** Compiles the entry modules and all modules that they import. */
export function compileSdk(options: CompileOptions): CompileOutcome {
  const { root, entries, compilerOptions } = options;
  const { options: parsed, errors } = ts.convertCompilerOptionsFromJson({
    ...Object(compilerOptions),
    ...TARGET,
    rootDir: root,
    outDir: root,
  }, root);
  const host = createHost(parsed, options);
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
 * Returns the compiler's own host, except that it resolves packages from the
 * folder which has a `node_modules`, since the project has none.
 */
function createHost(
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
 * Makes declarations import each other as `.js`, since type checkers look for
 * declarations beside the JavaScript; the compiler itself renames imports only
 * in JavaScript.
 */
const nameOutputs: ts.TransformerFactory<ts.SourceFile | ts.Bundle> = (
  context,
) => {
  const { factory } = context;
  // The parent is passed along, since nodes that the compiler creates have no
  // `parent`.
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

/** Returns whether a string in the node is the path of a module. */
function isFrom(node: ts.Node): boolean {
  return ts.isImportDeclaration(node) || ts.isExportDeclaration(node) ||
    ts.isImportTypeNode(node);
}

/**
 * Adds a reference to the library of a type that is not in the targets of
 * users' programs; otherwise they would have to add the library themselves.
 */
function withLibrary(path: string, text: string): string {
  return path.endsWith(".d.ts") &&
      /\b(?:asyncDispose|AsyncDisposable)\b/.test(text)
    ? `/// <reference lib="esnext.disposable" />\n${text}`
    : text;
}

/**
 * Returns the names of the packages that the files import, sorted; imports of
 * types count as well.
 */
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
