/**
 * Helpers that the rules of the lint plugin share.
 *
 * @module
 */

import { pathWithin } from "./project_file.ts";

/** The folder of `deno.json`, with a slash at its end. */
const ROOT = decodeURIComponent(new URL("../../", import.meta.url).pathname);

/** Returns the path within the project of the file that is being checked. */
export function toPath(context: Deno.lint.RuleContext): string {
  return pathWithin(context.filename, ROOT);
}

/** An import or `export … from` whose specifier is written out. */
interface WrittenImport {
  /** The statement or expression. */
  readonly node: Deno.lint.Node;
  /** The specifier, as written. */
  readonly specifier: string;
  /** Whether it is an `import()` expression. */
  readonly isDynamic: boolean;
}

/** Returns a visitor that calls `check` with every import of a file. */
export function visitImports(
  check: (found: WrittenImport) => void,
): Deno.lint.LintVisitor {
  const take = (
    node: Deno.lint.Node,
    source: Deno.lint.Node | null,
    isDynamic: boolean,
  ): void => {
    if (source?.type !== "Literal" || typeof source.value !== "string") return;
    check({ node, specifier: source.value, isDynamic });
  };
  return {
    ImportDeclaration: (node) => take(node, node.source, false),
    ExportAllDeclaration: (node) => take(node, node.source, false),
    ExportNamedDeclaration: (node) => take(node, node.source, false),
    ImportExpression: (node) => take(node, node.source, true),
  };
}

/**
 * Returns whether a node is `object.property`, written with a dot or with a key
 * in brackets.
 */
export function isMember(
  node: Deno.lint.Node,
  object: string,
  property: string,
): boolean {
  if (node.type !== "MemberExpression") return false;
  if (node.object.type !== "Identifier" || node.object.name !== object) {
    return false;
  }
  return node.property.type === "Identifier"
    ? !node.computed && node.property.name === property
    : node.property.type === "Literal" && node.property.value === property;
}
