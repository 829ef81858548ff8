/**
 * Checks that every export has a doc comment, in every file that is not a test,
 * that those of the package say more than a name, and that the SDK's examples
 * have the types that they say.
 *
 * @module
 */

import ts from "npm:typescript@^5.9.3";
import { repeatsName } from "../services/shared/openapi/testing/description.ts";
import { exampleFaults } from "./example_types.ts";
import { decidedSource, runDeno } from "./launch/deno_process.ts";
import { writeRegistry } from "./offline/registry.ts";
import { packageEntries, sourceFiles } from "./source_files.ts";
import { tell } from "./terminal.ts";

/**
 * The error for an exported declaration that refers to a type which is not
 * exported. It is ignored in files that the package does not export, whose
 * readers have the whole source. In what the package exports it counts, since
 * readers of the documentation would not find that type.
 */
const PRIVATE_TYPE = "error[private-type-ref]";

if (import.meta.main) Deno.exit(await main());

async function main(): Promise<number> {
  const root = new URL("../", import.meta.url);
  const files = await sourceFiles();
  tell(`${files.length} files`);
  const code = decidedSource() === "jsr"
    ? await lintDocs(files, {})
    : await lintDocsOffline(files, root);
  const faults = [...await emptyIn(root, files), await exampleFaults()]
    .filter((fault) => fault !== "");
  for (const fault of faults) tell(fault);
  return faults.length === 0 ? code : 1;
}

/** What of the comments that readers of the package see says only a name. */
async function emptyIn(
  root: URL,
  files: readonly string[],
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const path of files.filter((file) => /^(?:sdk\/|mod\.ts$)/.test(file))) {
    found.push(
      ...emptyComments(path, await Deno.readTextFile(new URL(path, root))),
    );
  }
  return found;
}

/**
 * Checks offline: `deno doc` does not support linked packages, so a local
 * registry serves the stand-ins.
 */
async function lintDocsOffline(
  files: readonly string[],
  root: URL,
): Promise<number> {
  const folder = await Deno.makeTempDir({ prefix: "tercet-registry-" });
  try {
    const registry = new URL(`file://${folder}/`);
    await writeRegistry({
      packages: new URL("scripts/offline/", root),
      folder: registry,
    });
    return await lintDocs(files, { JSR_URL: registry.href });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function lintDocs(
  files: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<number> {
  const args = ["doc", "--lint", "--no-lock"];
  const code = await runDeno([...args, ...await packageEntries()], { env });
  const { stderr, success } = await new Deno.Command(Deno.execPath(), {
    args: [...args, ...files],
    env: { ...env, NO_COLOR: "1" },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).output();
  const text = new TextDecoder().decode(stderr);
  const faults = text.split(/^(?=error\[)/m).filter((fault) =>
    fault.startsWith("error[")
  );
  const missing = faults.filter((fault) => !fault.startsWith(PRIVATE_TYPE));
  for (const fault of missing) tell(fault.trimEnd());
  if (!success && faults.length === 0) tell(text);
  const isWell = success || faults.length > 0 && missing.length === 0;
  return code === 0 && !isWell ? 1 : code;
}

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
