/**
 * Files that the forge and container engines read, as trees of plain values.
 *
 * @module
 */

import { parse } from "@std/yaml";

/** A map of a file. */
export type Tree = Readonly<Record<string, unknown>>;

/** The root of the project, with a slash at its end. */
export const PROJECT: string = decodeURIComponent(
  new URL("../../", import.meta.url).pathname,
);

/** Reads a file of the project. */
export async function readText(path: string): Promise<string> {
  return await Deno.readTextFile(PROJECT + path);
}

/** Reads a file of the project that holds a map. */
export async function readTree(path: string): Promise<Tree> {
  return treeOf(parse(await readText(path)), path);
}

/** The names of a folder's files, in order. */
export async function namesIn(path: string): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { name } of Deno.readDir(PROJECT + path)) names.push(name);
  return names.toSorted();
}

/**
 * Takes a value for a map.
 *
 * @throws {TypeError} When it is none.
 */
export function treeOf(value: unknown, where: string): Tree {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new TypeError(`Cannot read ${where}: it is no map`);
  }
  return { ...value };
}

/**
 * Takes a value for a map of maps; one that is missing is empty.
 *
 * @throws {TypeError} When it is none.
 */
export function treesOf(
  value: unknown,
  where: string,
): readonly (readonly [name: string, tree: Tree])[] {
  return Object.entries(treeOf(value ?? {}, where))
    .map(([name, inner]) => [name, treeOf(inner ?? {}, `${where} ${name}`)]);
}

/**
 * Takes a value for a list; one that is missing is empty.
 *
 * @throws {TypeError} When it is none.
 */
export function listOf(value: unknown, where: string): readonly unknown[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) {
    throw new TypeError(`Cannot read ${where}: it is no list`);
  }
  return value;
}

/** The same, of texts. */
export function textsOf(value: unknown, where: string): readonly string[] {
  return listOf(value, where).map(String);
}
