/**
 * The lint rule that checks every import with {@linkcode importFault}.
 *
 * @module
 */

import { importFault } from "./imports.ts";
import { pathOf, visitImports } from "./rule_context.ts";

/** Reports imports that are not allowed between their two folders. */
export function checkImports(
  context: Deno.lint.RuleContext,
): Deno.lint.LintVisitor {
  const from = pathOf(context);
  return visitImports(({ node, specifier, isDynamic }) => {
    const fault = importFault({ from, specifier, isDynamic });
    if (fault === undefined) return;
    context.report({
      node,
      message: `Cannot import "${specifier}" here: ${fault}`,
    });
  });
}
