/**
 * Reads the YAML files of the forge and of container engines as plain values.
 *
 * @module
 */

import { parse, parseAll } from "@std/yaml";

/** A map in a YAML file. */
export type Tree = Readonly<Record<string, unknown>>;

/** The root of the project, with a slash at its end. */
export const PROJECT: string = decodeURIComponent(
  new URL("../../", import.meta.url).pathname,
);

/** Reads a file of the project, by its path within the project. */
export async function readText(path: string): Promise<string> {
  return await Deno.readTextFile(PROJECT + path);
}

/** Reads a YAML file of the project whose root is a map. */
export async function readTree(path: string): Promise<Tree> {
  return toTree(parse(await readText(path)), path);
}

/** Reads a YAML file of the project that holds several maps. */
export async function readTrees(path: string): Promise<readonly Tree[]> {
  return treesIn(await readText(path), path);
}

/** Returns the maps of a YAML text, without documents that are empty. */
export function treesIn(text: string, where: string): readonly Tree[] {
  return [parseAll(text)].flat()
    .filter((one) => one !== null)
    .map((one) => toTree(one, where));
}

/** Returns the names of the files in a folder, sorted. */
export async function namesIn(path: string): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { name } of Deno.readDir(PROJECT + path)) names.push(name);
  return names.toSorted();
}

/**
 * Returns a value as a map.
 *
 * @throws {TypeError} When the value is not a map.
 */
export function toTree(value: unknown, where: string): Tree {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new TypeError(`Cannot read ${where}: it is not a map`);
  }
  return { ...value };
}

/**
 * Returns the entries of a value that is a map of maps; empty when the value is
 * missing.
 *
 * @throws {TypeError} When the value is not a map of maps.
 */
export function toTrees(
  value: unknown,
  where: string,
): readonly (readonly [name: string, tree: Tree])[] {
  return Object.entries(toTree(value ?? {}, where))
    .map(([name, inner]) => [name, toTree(inner ?? {}, `${where} ${name}`)]);
}

/**
 * Returns a value as a list; empty when the value is missing.
 *
 * @throws {TypeError} When the value is not a list.
 */
export function toList(value: unknown, where: string): readonly unknown[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) {
    throw new TypeError(`Cannot read ${where}: it is not a list`);
  }
  return value;
}

/** Returns a value as a list of strings; empty when the value is missing. */
export function toTexts(value: unknown, where: string): readonly string[] {
  return toList(value, where).map(String);
}
