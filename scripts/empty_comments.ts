/**
 * Finds doc comments that only repeat the name of what they stand at.
 *
 * @module
 */

import ts from "npm:typescript@^5.9.3";
import { repeatsName } from "../services/shared/openapi/testing/description.ts";

/**
 * Returns the places, as `path:line`, of the comments in a file that say only
 * the name: those of what it exports, and of the members of that. One with a
 * tag, such as a default, says more.
 */
export function emptyComments(path: string, text: string): readonly string[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const check = (node: ts.Node, name: string, at: ts.Node): void => {
    const comment = ts.getJSDocCommentsAndTags(at).findLast(ts.isJSDoc);
    if (comment === undefined || (comment.tags?.length ?? 0) > 0) return;
    const said = ts.getTextOfJSDocComment(comment.comment) ?? "";
    if (!repeatsName(name, said)) return;
    const { line } = source.getLineAndCharacterOfPosition(node.getStart());
    found.push(`${path}:${line + 1}: "${said}" only repeats "${name}"`);
  };
  const visit = (node: ts.Node): void => {
    const { name } = node as ts.NamedDeclaration;
    if (name !== undefined) {
      const at = ts.isVariableDeclaration(node) ? node.parent.parent : node;
      check(node, name.getText(source), at);
    }
    if (ts.isFunctionLike(node) && !ts.isTypeNode(node)) return;
    ts.forEachChild(node, visit);
  };
  for (const statement of source.statements) {
    const isExported = ts.canHaveModifiers(statement) &&
      ts.getModifiers(statement)?.some(({ kind }) =>
        kind === ts.SyntaxKind.ExportKeyword
      );
    if (isExported === true) visit(statement);
  }
  return found;
}
