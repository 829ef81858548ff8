/**
 * Finds and reads all Markdown pages, except those in folders of test data.
 *
 * @module
 */

import { type MarkdownPage, parsePage } from "./markdown_page.ts";

/** A page and its path. */
export interface PlacedPage {
  /** The path of the page within the project. */
  readonly path: string;
  /** The parsed page. */
  readonly page: MarkdownPage;
}

/** The root of the project, with a slash at its end. */
export const PROJECT = decodeURIComponent(
  new URL("../../", import.meta.url).pathname,
);

const FOLDERS = ["deploy", "docs", "scripts", "services"];
const SKIPPED = /(^|\/)(\.[^/]*|node_modules|testdata|[^/]*-data)$/;

/** Reads all pages, in the order of their paths. */
export async function readPages(): Promise<readonly PlacedPage[]> {
  const paths: string[] = [];
  for await (const { name, isFile } of Deno.readDir(PROJECT)) {
    if (isFile && name.endsWith(".md")) paths.push(name);
  }
  for (const folder of FOLDERS) await addPages(paths, folder);
  return await Promise.all(
    paths.toSorted().map(async (path) => ({
      path,
      page: parsePage(await Deno.readTextFile(PROJECT + path)),
    })),
  );
}

async function addPages(paths: string[], folder: string): Promise<void> {
  for await (
    const { name, isFile, isDirectory } of Deno.readDir(PROJECT + folder)
  ) {
    const path = `${folder}/${name}`;
    if (SKIPPED.test(path)) continue;
    if (isDirectory) await addPages(paths, path);
    if (isFile && name.endsWith(".md")) paths.push(path);
  }
}
