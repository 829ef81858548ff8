import { assert, assertEquals } from "@std/assert";
import { findClauseSubjects } from "../../scripts/lint/clause_subjects.ts";
import { parsePage } from "./markdown_page.ts";
import { PROJECT, readPages } from "./pages.ts";

/**
 * Number of blocks that no test runs, by page. A new one has to be added here,
 * with its reason in the page.
 */
const NOT_RUN: Readonly<Record<string, number>> = {
  "CONTRIBUTING.md": 1,
  "README.md": 4,
  "deploy/kubernetes/tercet/README.md": 2,
  "docs/how-to/build_an_executable.md": 2,
  "docs/how-to/deploy_on_a_vm.md": 2,
  "docs/how-to/embeddings_from_a_file.md": 1,
  "docs/how-to/enqueue_in_your_transaction.md": 4,
  "docs/how-to/move_memories_to_postgresql.md": 5,
  "docs/how-to/move_to_postgresql.md": 4,
  "docs/how-to/python.md": 2,
  "docs/how-to/run_in_containers.md": 6,
  "docs/how-to/upgrade.md": 1,
  "docs/reference/alerts.md": 1,
  "docs/reference/events.md": 1,
  "docs/reference/sdk.md": 11,
  "docs/reference/webhooks.md": 1,
  "docs/reference/workers.md": 1,
  "scripts/offline/README.md": 1,
  "services/keyserver/README.md": 1,
  "services/ratelimit/README.md": 1,
  "services/relayer/README.md": 1,
  "services/tasks/README.md": 1,
};

/** Languages of blocks that are run, checked, or not meant to be run. */
const LANGUAGES = new Set([
  "sh",
  "ts",
  "js",
  "output",
  "setup",
  "yaml",
  "text",
  "ini",
  "nginx",
  "caddyfile",
]);

Deno.test("relative links in pages lead to files and headings that are there", async () => {
  const pages = new Map((await readPages()).map((one) => [one.path, one.page]));
  const broken: string[] = [];
  for (const [path, page] of pages) {
    for (const { target, line } of page.links) {
      if (/^[a-z]+:/.test(target)) continue;
      const [file = "", anchor] = target.split("#");
      const url = new URL(file, `file://${PROJECT}${path}`);
      const full = decodeURIComponent(url.pathname);
      const found = file === "" ? path : full.slice(PROJECT.length);
      const fault = full.startsWith(PROJECT) && await exists(full)
        ? anchor !== undefined && !await hasAnchor(found, anchor) &&
          `has no heading "${anchor}"`
        : "is not there";
      if (fault) broken.push(`${path}:${line}: ${target} ${fault}`);
    }
  }
  assertEquals(broken, []);

  async function hasAnchor(path: string, anchor: string): Promise<boolean> {
    const page = pages.get(path) ??
      (path.endsWith(".md")
        ? parsePage(await Deno.readTextFile(PROJECT + path))
        : undefined);
    return page?.anchors.has(anchor) ?? false;
  }
});

Deno.test("pages have no more blocks that no test runs than are counted here", async () => {
  const counts: Record<string, number> = {};
  for (const { path, page } of await readPages()) {
    const marked = page.blocks.filter(({ use }) =>
      use.kind === "not_run" || use.kind === "checked_only"
    );
    if (marked.length > 0) counts[path] = marked.length;
  }
  assertEquals(counts, NOT_RUN);
});

Deno.test("pages have no sentence whose subject is a clause", async () => {
  const found = (await readPages()).flatMap(({ path, page }) =>
    findClauseSubjects(page.prose).map((sentence) => `${path}: ${sentence}`)
  );
  assertEquals(found, []);
});

Deno.test("blocks of pages name a language that tests know", async () => {
  const unknown = (await readPages()).flatMap(({ path, page }) =>
    page.blocks.filter(({ language }) => !LANGUAGES.has(language))
      .map(({ language, line }) => `${path}:${line}: "${language}"`)
  );
  assertEquals(unknown, []);
});

Deno.test("every page of docs is reached from its map", async () => {
  const pages = new Map((await readPages()).map((one) => [one.path, one.page]));
  const reached = new Set<string>(["docs/README.md"]);
  for (const path of reached) {
    for (const { target } of pages.get(path)?.links ?? []) {
      if (/^[a-z]+:/.test(target)) continue;
      const url = new URL(target.split("#")[0] ?? "", `file:///${path}`);
      const found = decodeURIComponent(url.pathname).slice(1);
      if (found.startsWith("docs/") && pages.has(found)) reached.add(found);
    }
  }
  const lost = [...pages.keys()].filter((path) =>
    path.startsWith("docs/") && !reached.has(path)
  );
  assertEquals(lost, []);
  assert(pages.has("docs/README.md"));
});

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
