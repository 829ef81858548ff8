/**
 * Lint rules about files: how they are named and how they export.
 *
 * @module
 */

import { toPath } from "./rule_context.ts";

/** File names that do not say what the file contains. */
const EMPTY_NAMES: readonly string[] = ["index", "util", "utils", "helpers"];

/** Reports default exports. */
export function checkExports(
  context: Deno.lint.RuleContext,
): Deno.lint.LintVisitor {
  const message = "Cannot export a default: give the export a name";
  return {
    ExportDefaultDeclaration: (node) => context.report({ node, message }),
    ExportSpecifier(node) {
      const { exported } = node;
      if (exported.type === "Identifier" && exported.name === "default") {
        context.report({ node, message });
      }
    },
  };
}

/**
 * Reports file names that do not say what the file contains, or are not in
 * snake_case.
 */
export function checkFileName(
  context: Deno.lint.RuleContext,
): Deno.lint.LintVisitor {
  const name = toPath(context).split("/").pop() ?? "";
  const stem = name.replace(/\.[^.]*$/, "").replace(/_test$/, "");
  return {
    Program(node) {
      if (EMPTY_NAMES.includes(stem)) {
        context.report({
          node,
          message: `Cannot call a file "${name}": name the idea it holds`,
        });
      }
      if (!/^[a-z0-9_]+(\.d)?$/.test(stem)) {
        context.report({
          node,
          message: `Cannot call a file "${name}": use snake_case`,
        });
      }
    },
  };
}
