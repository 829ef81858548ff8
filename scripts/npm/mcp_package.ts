/**
 * The npm package `@tercet/mcp`: one program, bundled with all that it needs, so
 * that `npx` fetches nothing else.
 *
 * @module
 */

import { decidedSource, runDeno, withStd } from "../launch/deno_process.ts";
import { NODE, type ProjectConfig } from "./manifest.ts";

/** The name of the program's file in the package. */
const PROGRAM = "mcp.mjs";

/**
 * Bundles the program for Node; returns its text, or undefined when the bundler
 * fails, which prints why.
 *
 * @param root The path of the project's folder.
 */
export async function bundleMcp(root: string): Promise<string | undefined> {
  await Deno.mkdir(`${root}.tercet`, { recursive: true });
  const folder = await Deno.makeTempDir({
    dir: `${root}.tercet`,
    prefix: "npm_mcp_",
  });
  try {
    const entry = `${folder}/entry.ts`;
    await Deno.writeTextFile(
      entry,
      `import process from "node:process";
import { runInNode } from "${root}services/cli/mcp/npm_main.ts";

process.exitCode = await runInNode(process.argv.slice(2), process.env);
`,
    );
    const output = `${folder}/${PROGRAM}`;
    const args = ["bundle", "--quiet", "--output", output, entry];
    const code = await runDeno(withStd(args, decidedSource()));
    if (code !== 0) return undefined;
    return `#!/usr/bin/env node\n${await Deno.readTextFile(output)}`;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Returns the files of the package by their names, without its papers. */
export function mcpFiles(
  { version, license }: Pick<ProjectConfig, "version" | "license">,
  program: string,
): ReadonlyMap<string, string> {
  const manifest = {
    name: "@tercet/mcp",
    version,
    description: "Memories for agents over the Model Context Protocol",
    keywords: ["agents", "mcp", "memory", "model-context-protocol", "tercet"],
    license,
    type: "module",
    engines: { node: NODE },
    bin: { "tercet-mcp": PROGRAM },
    files: [PROGRAM],
    publishConfig: { access: "public" },
  };
  return new Map([
    ["package.json", `${JSON.stringify(manifest, null, 2)}\n`],
    [PROGRAM, program],
  ]);
}
