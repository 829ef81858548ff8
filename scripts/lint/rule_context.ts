/**
 * Helpers that the rules of the lint plugin share.
 *
 * @module
 */

import { pathWithin } from "./project_file.ts";

/** The folder of `deno.json`, with a slash at its end. */
const ROOT = decodeURIComponent(new URL("../../", import.meta.url).pathname);

/** Returns the path within the project of the file that is being checked. */
export function pathOf(context: Deno.lint.RuleContext): string {
  return pathWithin(context.filename, ROOT);
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
