/**
 * Lint rules about globals: which of them pure folders and the SDK may not use,
 * and who may read the environment.
 *
 * @module
 */

import {
  findRoom,
  isPureFile,
  isServiceMain,
  isTestCode,
} from "./project_file.ts";
import { isMember, toPath } from "./rule_context.ts";

const IMPURE_OBJECTS: readonly string[] = [
  "Deno",
  "console",
  "crypto",
  "performance",
  "process",
];

const IMPURE_FUNCTIONS: readonly string[] = [
  "fetch",
  "queueMicrotask",
  "setInterval",
  "setTimeout",
];

/** Reports I/O, clocks and random values in a pure folder. */
export function checkPurity(
  context: Deno.lint.RuleContext,
): Deno.lint.LintVisitor {
  if (!isPureFile(toPath(context))) return {};
  function report(node: Deno.lint.Node, what: string): void {
    context.report({
      node,
      message: `Cannot use ${what} here: a pure folder has no I/O, no clock ` +
        "and no chance; take the value as an argument",
    });
  }
  return {
    MemberExpression(node) {
      const { object } = node;
      if (
        object.type === "Identifier" && IMPURE_OBJECTS.includes(object.name)
      ) {
        report(node, object.name);
      }
      if (isMember(node, "Date", "now")) report(node, "Date.now");
      if (isMember(node, "Math", "random")) report(node, "Math.random");
    },
    CallExpression(node) {
      const { callee } = node;
      if (callee.type !== "Identifier") return;
      if (IMPURE_FUNCTIONS.includes(callee.name)) report(node, callee.name);
      if (callee.name === "Date") report(node, "Date()");
    },
    NewExpression(node) {
      const { callee } = node;
      if (callee.type !== "Identifier" || callee.name !== "Date") return;
      if (node.arguments.length === 0) report(node, "new Date()");
    },
  };
}

/** Reports globals in the SDK that browsers or Node do not have. */
export function checkPlatform(
  context: Deno.lint.RuleContext,
): Deno.lint.LintVisitor {
  const path = toPath(context);
  if (findRoom(path).kind !== "sdk" || isTestCode(path)) return {};
  return {
    MemberExpression(node) {
      const { object } = node;
      if (object.type !== "Identifier") return;
      if (object.name !== "Deno" && object.name !== "process") return;
      context.report({
        node,
        message:
          `Cannot use ${object.name} here: the SDK runs in Deno, Node, ` +
          "Bun and browsers",
      });
    },
  };
}

/**
 * Reports files that read the environment without being a service's main.ts.
 */
export function checkEnvironment(
  context: Deno.lint.RuleContext,
): Deno.lint.LintVisitor {
  const path = toPath(context);
  const room = findRoom(path).kind;
  if (room === "scripts" || room === "tests") return {};
  if (isServiceMain(path) || isTestCode(path)) return {};
  return {
    MemberExpression(node) {
      if (!isMember(node, "Deno", "env") && !isMember(node, "process", "env")) {
        return;
      }
      context.report({
        node,
        message:
          "Cannot read the environment here: only a service's main.ts does",
      });
    },
  };
}
