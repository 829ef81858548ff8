/**
 * Reads what a source file imports and exports and how long it is, with the
 * TypeScript compiler.
 *
 * @module
 */

import ts from "typescript";

/** A name that a file imports from another one. */
export interface ImportedName {
  /** The path of the other file within the project. */
  readonly path: string;
  /**
   * The name under which the other file exports it; `*` for all of its exports.
   */
  readonly name: string;
}

/** Facts about one source file. */
export interface SourceFacts {
  /** The path of the file within the project. */
  readonly path: string;
  /** Number of lines. */
  readonly lines: number;
  /** Number of lines that hold code, not only a comment or nothing. */
  readonly codeLines: number;
  /** The names that the file exports from its own declarations. */
  readonly exports: readonly string[];
  /**
   * The names that the file imports, or re-exports, from other files of the
   * project.
   */
  readonly imports: readonly ImportedName[];
  /** Number of places that spread `{}` to leave out a member. */
  readonly optionalSpreads: number;
}

/** Reads the facts of a file with this path and text. */
export function readFacts(path: string, text: string): SourceFacts {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const exports: string[] = [];
  const imports: ImportedName[] = [];
  let optionalSpreads = 0;
  const takeFrom = (specifier: ts.Node | undefined, name: string): void => {
    if (specifier === undefined || !ts.isStringLiteral(specifier)) return;
    if (!specifier.text.startsWith(".")) return;
    imports.push({ path: resolve(path, specifier.text), name });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) {
      for (const name of namesOf(node)) takeFrom(node.moduleSpecifier, name);
    } else if (ts.isExportDeclaration(node)) {
      const { exportClause, moduleSpecifier } = node;
      if (exportClause === undefined || ts.isNamespaceExport(exportClause)) {
        takeFrom(moduleSpecifier, "*");
      } else {
        for (const { propertyName, name } of exportClause.elements) {
          const { text } = propertyName ?? name;
          if (moduleSpecifier === undefined) exports.push(text);
          else takeFrom(moduleSpecifier, text);
        }
      }
    } else if (isImportCall(node)) {
      takeFrom(node.arguments[0], "*");
    } else if (ts.isImportTypeNode(node)) {
      const { argument, qualifier } = node;
      if (ts.isLiteralTypeNode(argument)) {
        takeFrom(argument.literal, qualifier?.getText(source) ?? "*");
      }
    } else if (ts.isSpreadAssignment(node) && omitsMember(node.expression)) {
      optionalSpreads++;
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  for (const statement of source.statements) {
    exports.push(...declaredExports(statement));
  }
  return {
    path,
    lines: text.split("\n").length - 1,
    codeLines: countCodeLines(source),
    exports,
    imports,
    optionalSpreads,
  };
}

function resolve(from: string, specifier: string): string {
  return new URL(specifier, `file:///${from}`).pathname.slice(1);
}

function namesOf({ importClause }: ts.ImportDeclaration): readonly string[] {
  if (importClause === undefined) return ["*"];
  const { namedBindings, name } = importClause;
  const names = name === undefined ? [] : ["default"];
  if (namedBindings === undefined) return names;
  if (ts.isNamespaceImport(namedBindings)) return [...names, "*"];
  return [
    ...names,
    ...namedBindings.elements.map((one) => (one.propertyName ?? one.name).text),
  ];
}

function isImportCall(node: ts.Node): node is ts.CallExpression {
  return ts.isCallExpression(node) &&
    node.expression.kind === ts.SyntaxKind.ImportKeyword;
}

function omitsMember(expression: ts.Expression): boolean {
  let inner = expression;
  while (ts.isParenthesizedExpression(inner)) inner = inner.expression;
  return ts.isConditionalExpression(inner) &&
    [inner.whenTrue, inner.whenFalse].some((branch) =>
      ts.isObjectLiteralExpression(branch) && branch.properties.length === 0
    );
}

function declaredExports(statement: ts.Statement): readonly string[] {
  const isExported = ts.canHaveModifiers(statement) &&
    ts.getModifiers(statement)?.some(({ kind }) =>
      kind === ts.SyntaxKind.ExportKeyword
    );
  if (!isExported) return [];
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.flatMap(({ name }) =>
      ts.isIdentifier(name) ? [name.text] : []
    );
  }
  const declaration = statement as ts.DeclarationStatement;
  const { name } = declaration;
  return name !== undefined && ts.isIdentifier(name) ? [name.text] : [];
}

/** Counts the lines that contain a token or a part of one. */
function countCodeLines(source: ts.SourceFile): number {
  const lines = new Set<number>();
  const visit = (node: ts.Node): void => {
    if (ts.isJSDoc(node)) return;
    const children = node.getChildren(source);
    if (children.length > 0) return children.forEach(visit);
    if (node.getWidth(source) === 0) return;
    const first = source.getLineAndCharacterOfPosition(node.getStart(source));
    const last = source.getLineAndCharacterOfPosition(node.getEnd());
    for (let line = first.line; line <= last.line; line++) lines.add(line);
  };
  visit(source);
  return lines.size;
}
