/**
 * Follows every Markdown page as a reader would: its commands and scripts are
 * run, and the output that it shows is compared. `deno task test:docs`, or
 * `deno task test:docs -- PATH` for the pages whose path contains PATH. Not
 * part of `deno task test`, as it takes minutes.
 *
 * @module
 */

import type { PlacedPage } from "./pages.ts";
import { PROJECT, readPages } from "./pages.ts";
import { Reader } from "./reader.ts";

/** Longest time for a page, in milliseconds. */
const PAGE_TIMEOUT_MS = 600_000;

const wanted = Deno.args[0] ?? "";
const pages = (await readPages()).filter(({ path, page }) =>
  path.includes(wanted) &&
  page.blocks.some(({ language }) => ["sh", "ts"].includes(language))
);

for (const page of pages) {
  const isRun = page.page.blocks.some(({ language, use }) =>
    ["sh", "ts"].includes(language) && use.kind !== "not_run" &&
    use.kind !== "checked_only"
  );
  if (!isRun) continue;
  Deno.test({
    name: `${page.path} does what it says`,
    timeout: PAGE_TIMEOUT_MS,
    fn: () =>
      withCheckout((checkout, scratch) =>
        new Reader(page, { checkout, scratch }).follow()
      ),
  });
}

Deno.test({
  name: "scripts of pages have the right types",
  timeout: PAGE_TIMEOUT_MS,
  fn: () => withCheckout((checkout) => checkTypes(checkout, pages)),
});

/** A package of the reader, which the project has for its tests alone. */
const READERS_PACKAGE = /"(@ai-sdk\/openai-compatible)"/;

/**
 * Type-checks all scripts at once, including those that are only checked and
 * not run.
 */
async function checkTypes(
  checkout: string,
  pages: readonly PlacedPage[],
): Promise<void> {
  const files = await Promise.all(
    pages.flatMap(({ path, page }) =>
      page.blocks.filter(({ language, use }) =>
        language === "ts" && use.kind !== "not_run"
      ).map(async ({ text, line }) => {
        const name = `${path.replaceAll(/\W/g, "_")}_${line}.ts`;
        await Deno.writeTextFile(
          `${checkout}/${name}`,
          text.replace(READERS_PACKAGE, `"npm:$1@^3.0.0"`),
        );
        return name;
      })
    ),
  );
  if (files.length === 0) return;
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["task", "--quiet", "check", ...files],
    cwd: checkout,
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  if (!success) throw new TypeError(new TextDecoder().decode(stderr));
}

/**
 * Runs `use` on a copy of the project, as a reader has it, and removes the copy
 * afterwards.
 */
async function withCheckout(
  use: (checkout: string, scratch: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "tercet-docs-" });
  try {
    const checkout = `${folder}/tercet`;
    const scratch = `${folder}/scratch`;
    await Deno.mkdir(checkout);
    await Deno.mkdir(scratch);
    const { success, stderr } = await new Deno.Command("bash", {
      args: [
        "-c",
        "set -o pipefail; git ls-files -z --cached --others --exclude-standard | " +
        'while IFS= read -r -d "" file; do [ -e "$file" ] && printf "%s\\0" "$file"; done | ' +
        'tar -c --null -T - | tar -x -C "$1"',
        "copy",
        checkout,
      ],
      cwd: PROJECT,
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).output();
    if (!success) {
      throw new Error(
        `Cannot copy the project: ${new TextDecoder().decode(stderr)}`,
      );
    }
    await use(checkout, scratch);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
