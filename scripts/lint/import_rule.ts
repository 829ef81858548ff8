/**
 * The lint rule that checks every import with {@linkcode importFault}.
 *
 * @module
 */

import { importFault } from "./imports.ts";
import { pathOf } from "./rule_context.ts";

/** Reports imports that are not allowed between their two folders. */
export function checkImports(
  context: Deno.lint.RuleContext,
): Deno.lint.LintVisitor {
  const from = pathOf(context);
  function check(
    node: Deno.lint.Node,
    source: Deno.lint.Node | null,
    isDynamic: boolean,
  ): void {
    if (source?.type !== "Literal" || typeof source.value !== "string") return;
    const fault = importFault({ from, specifier: source.value, isDynamic });
    if (fault === undefined) return;
    context.report({
      node,
      message: `Cannot import "${source.value}" here: ${fault}`,
    });
  }
  return {
    ImportDeclaration: (node) => check(node, node.source, false),
    ExportAllDeclaration: (node) => check(node, node.source, false),
    ExportNamedDeclaration: (node) => check(node, node.source, false),
    ImportExpression: (node) => check(node, node.source, true),
  };
}
