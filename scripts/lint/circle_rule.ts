/**
 * The lint rule against circles: no file imports itself by way of others, since
 * such files can only be understood, tested and moved together.
 *
 * @module
 */

import { importedFile } from "./imports.ts";
import { toPath, visitImports } from "./rule_context.ts";

/** Returns the files that a file imports, as paths within the project. */
export type ImportsOf = (path: string) => readonly string[];

/**
 * Returns a function that looks for circles through one file. It takes a file
 * that this one imports, and returns by way of which others that one imports
 * this one again, on a shortest way; undefined when it does not.
 */
export function circleSearch(
  file: string,
  listImports: ImportsOf,
): (imported: string) => readonly string[] | undefined {
  /** Files from which no way leads back, so that each is followed once. */
  const harmless = new Set<string>();
  return (imported) => {
    if (imported === file) return [];
    const importers = new Map<string, string | undefined>();
    importers.set(imported, undefined);
    // The loop also reaches the files that are added in it.
    for (const path of importers.keys()) {
      for (const next of harmless.has(path) ? [] : listImports(path)) {
        if (next === file) return wayTo(path, importers);
        if (!importers.has(next)) importers.set(next, path);
      }
    }
    for (const path of importers.keys()) harmless.add(path);
    return undefined;
  };
}

/** Returns the way to a file by its importers, without its beginning. */
function wayTo(
  end: string,
  importers: ReadonlyMap<string, string | undefined>,
): readonly string[] {
  const importer = importers.get(end);
  return importer === undefined ? [] : [...wayTo(importer, importers), end];
}

/**
 * A file is formatted, so each `from` is on the line on which its import or
 * export begins or ends.
 */
const IMPORTS =
  /(?:^(?:import|export|\})[^"\n]*\bfrom |^import |\bimport\(\s*)"([^"]+)"/gm;

/**
 * Returns the files of the project that a file with this path and text imports
 * or exports from, also types alone and with `import()`.
 */
export function importedFiles(path: string, text: string): readonly string[] {
  return [...text.matchAll(IMPORTS)].flatMap(([, specifier = ""]) =>
    importedFile(path, specifier) ?? []
  );
}

/** Reads which files a file of the project imports. */
export function readImports(path: string): readonly string[] {
  if (!/\.tsx?$/.test(path)) return [];
  try {
    const file = new URL(`../../${path}`, import.meta.url);
    return importedFiles(path, Deno.readTextFileSync(file));
  } catch (error) {
    // The type check reports imports of files that do not exist.
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

/**
 * Milliseconds after which what other files import is read again. A run takes
 * no such pause; an editor keeps the plugin while its files change.
 */
const PAUSE_MS = 1_000;

/**
 * Makes the rule, which reports each import that closes a circle. It remembers
 * what files import, so that a run reads each file once.
 */
export function circleRule(
  listImports: ImportsOf,
): (context: Deno.lint.RuleContext) => Deno.lint.LintVisitor {
  const known = new Map<string, readonly string[]>();
  let lastMs = 0;
  const remembered = (path: string): readonly string[] => {
    const imports = known.get(path) ?? listImports(path);
    known.set(path, imports);
    return imports;
  };
  return (context) => {
    const nowMs = Date.now();
    if (nowMs - lastMs > PAUSE_MS) known.clear();
    lastMs = nowMs;
    const path = toPath(context);
    const search = circleSearch(path, remembered);
    return visitImports(({ node, specifier }) => {
      const imported = importedFile(path, specifier);
      const way = imported === undefined ? undefined : search(imported);
      if (way === undefined) return;
      const others = way.length === 0 ? "" : ` by way of ${way.join(", ")}`;
      const fault = `it imports this file again${others}`;
      context.report({
        node,
        message: `Cannot import "${specifier}" here: ${fault}`,
      });
    });
  };
}
