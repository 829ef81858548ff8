/**
 * The rules about files: what they are called and how they export.
 *
 * @module
 */

import { pathOf } from "./rule_context.ts";

/** Names that say nothing of what is inside. */
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

/** Reports file names that name no idea. */
export function checkFileName(
  context: Deno.lint.RuleContext,
): Deno.lint.LintVisitor {
  const name = pathOf(context).split("/").pop() ?? "";
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
