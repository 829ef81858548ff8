/**
 * Checks that the examples in the SDK's doc comments have the types that they
 * say.
 *
 * @module
 */

import { sourceFiles } from "./source_files.ts";

const ROOT = new URL("../", import.meta.url);

/** A module with a wrong example, which proves that the check finds errors. */
const WRONG = `/**
 * \`\`\`ts
 * import { Mem } from "@tercet/sdk";
 *
 * await Mem.create({ key: 5 }).remember("tea");
 * \`\`\`
 *
 * @module
 */
`;

/**
 * Returns what the type checker says of the SDK's examples; empty when they are
 * right.
 *
 * @throws {Error} When it does not find the fault of a wrong example.
 */
export async function exampleFaults(): Promise<string> {
  const examples = (await sourceFiles())
    .filter((path) => path === "mod.ts" || path.startsWith("sdk/"));
  const folder = await Deno.makeTempDir({ prefix: "examples_" });
  try {
    const config = `${folder}/deno.json`;
    await Deno.writeTextFile(config, JSON.stringify(await exampleConfig()));
    const wrong = `${folder}/wrong.ts`;
    await Deno.writeTextFile(wrong, WRONG);
    const { stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        "check",
        "--quiet",
        "--doc",
        "--config",
        config,
        ...examples.map((path) =>
          decodeURIComponent(new URL(path, ROOT).pathname)
        ),
        wrong,
      ],
      env: { NO_COLOR: "1" },
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).output();
    const said = new TextDecoder().decode(stderr);
    const faults = said.split(/^(?=TS\d+ )/m).filter((part) =>
      /^TS/.test(part)
    );
    const others = faults.filter((fault) => !fault.includes(wrong));
    if (others.length === faults.length) {
      throw new Error(
        `Cannot check examples: a wrong one is not found\n${said}`,
      );
    }
    return others.join("");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/**
 * Returns the project's configuration with one change: unused names are
 * allowed, since an example is checked together with imports of everything that
 * its file exports.
 */
export async function exampleConfig(): Promise<unknown> {
  const text = await Deno.readTextFile(new URL("deno.json", ROOT));
  const { name, exports, imports, compilerOptions } = JSON.parse(text);
  const packages = [
    ...["@noble/ciphers", "@noble/hashes", "@noble/curves"],
    ...["@mysten/sui", "ai"],
  ];
  const entries = Object.entries<string>(exports).map(([path, file]) =>
    [`${name}${path.slice(1)}`, new URL(file, ROOT).href] as const
  );
  return {
    imports: {
      ...Object.fromEntries(entries),
      ...Object.fromEntries(packages.map((one) => [one, imports[one]])),
    },
    compilerOptions: { ...compilerOptions, noUnusedLocals: false },
  };
}
