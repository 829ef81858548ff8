/**
 * Writes services/relayer/console/bundle.json: the page of the relayer's console
 * with the SDK that it runs, as minified modules for browsers. Run `deno task
 * console` after `services/relayer/browser/`, the kit of consoles or the SDK has
 * changed; a test tells when that is to be done.
 *
 * @module
 */

import { createHash } from "node:crypto";

const ROOT = new URL("../", import.meta.url);
const TARGET = new URL("services/relayer/console/bundle.json", ROOT);
const ENTRY = "app";

/** Texts of modules by their names, which have a hash of the text. */
export interface ConsoleBundle {
  /** The name of the module that starts the page. */
  readonly entry: string;
  /** The modules that the entry loads at once. */
  readonly first: readonly string[];
  /** The text of each module. */
  readonly modules: Readonly<Record<string, string>>;
}

/**
 * Bundles the page.
 *
 * @throws {Error} When the bundler fails.
 */
export async function bundleConsole(): Promise<ConsoleBundle> {
  await Deno.mkdir(new URL(".tercet/", ROOT), { recursive: true });
  const folder = await Deno.makeTempDir({
    dir: new URL(".tercet/", ROOT).pathname,
    prefix: "console_",
  });
  try {
    const config = JSON.parse(
      await Deno.readTextFile(new URL("deno.json", ROOT)),
    );
    // Precompiled templates are for servers: browsers build their nodes.
    config.compilerOptions.jsx = "react-jsx";
    await Deno.writeTextFile(`${folder}/deno.json`, JSON.stringify(config));
    await Deno.writeTextFile(
      `${folder}/${ENTRY}.ts`,
      `import { startApp } from "../../services/relayer/browser/app.tsx";
startApp(document);
`,
    );
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        ...["bundle", "--quiet", "--minify", "--platform=browser"],
        ...[`--config=${folder}/deno.json`, "--code-splitting"],
        `--lock=${new URL("deno.lock", ROOT).pathname}`,
        ...[`--outdir=${folder}/out`, `${folder}/${ENTRY}.ts`],
      ],
    }).output();
    if (!success) {
      throw new Error(
        `Cannot bundle the console: ${new TextDecoder().decode(stderr)}`,
      );
    }
    const texts = new Map<string, string>();
    for await (const { name } of Deno.readDir(`${folder}/out`)) {
      texts.set(name, await Deno.readTextFile(`${folder}/out/${name}`));
    }
    return named(texts);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Renders the file that the relayer loads. */
export function bundleText(bundle: ConsoleBundle): string {
  return `${JSON.stringify(bundle, null, 2)}\n`;
}

/**
 * Names modules by their texts, those first that import no other: the names
 * that the bundler gives depend on the folder of the checkout.
 */
function named(texts: Map<string, string>): ConsoleBundle {
  const modules: Record<string, string> = {};
  let entry = "";
  while (texts.size > 0) {
    const names = [...texts.keys()];
    const ready = names.filter((name) =>
      names.every((other) => other === name || !mentions(texts, [name, other]))
    );
    if (ready.length === 0) {
      throw new Error("Cannot name modules: they import each other");
    }
    for (const name of ready) {
      const text = texts.get(name) ?? "";
      const hash = createHash("sha256").update(text).digest("hex").slice(0, 12);
      const stem = name.replace(/(-[A-Z0-9]{8})?\.js$/, "");
      const fresh = `${stem}-${hash}.js`;
      modules[fresh] = text;
      if (stem === ENTRY) entry = fresh;
      texts.delete(name);
      for (const [other, its] of texts) {
        texts.set(other, its.replaceAll(`"./${name}"`, `"./${fresh}"`));
      }
    }
  }
  const sorted = Object.fromEntries(Object.entries(modules).sort());
  return { entry, first: staticImports(entry, sorted), modules: sorted };
}

function mentions(
  texts: ReadonlyMap<string, string>,
  [name, other]: readonly [string, string],
): boolean {
  return texts.get(name)?.includes(`"./${other}"`) ?? false;
}

/** The modules that one imports at once, directly or by others. */
function staticImports(
  entry: string,
  modules: Readonly<Record<string, string>>,
): readonly string[] {
  const found = new Set<string>();
  const look = (name: string): void => {
    const text = modules[name] ?? "";
    for (
      const [, other = ""] of text.matchAll(/(?:from|import)"\.\/([^"]+)"/g)
    ) {
      if (found.has(other)) continue;
      found.add(other);
      look(other);
    }
  };
  look(entry);
  return [...found].sort();
}

if (import.meta.main) {
  await Deno.writeTextFile(TARGET, bundleText(await bundleConsole()));
}
