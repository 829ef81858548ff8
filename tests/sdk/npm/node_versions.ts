/**
 * Provides Node in the versions that the package supports. The one on the path
 * is used where its version fits; others are downloaded as the npm packages
 * that contain Node for one kind of machine.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import type { NpmProject } from "./npm_project.ts";

/** An installed version of Node. */
export interface NodeVersion {
  /** The major version. */
  readonly major: number;
  /** The executable: its path, or a name on the path. */
  readonly command: string;
}

/**
 * Returns a Node for each major version; downloaded ones are stored in the
 * project's folder.
 */
export async function nodeVersions(
  project: NpmProject,
  majors: readonly number[],
): Promise<readonly NodeVersion[]> {
  const own = await readMajor(project, "node");
  const versions: NodeVersion[] = [];
  for (const major of majors) {
    const command = major === own ? "node" : await fetchNode(project, major);
    assertEquals(await readMajor(project, command), major);
    versions.push({ major, command });
  }
  return versions;
}

/**
 * Extracts only the executable from the package, which has thousands of files.
 */
async function fetchNode(project: NpmProject, major: number): Promise<string> {
  const folder = `${project.folder}/node-${major}`;
  await Deno.mkdir(folder);
  const { os, arch } = Deno.build;
  const name = `node-${os}-${arch === "aarch64" ? "arm64" : "x64"}@${major}`;
  await project.npm("pack", name, "--pack-destination", folder);
  const [tarball] = await Array.fromAsync(Deno.readDir(folder));
  const file = "package/bin/node";
  await project.run("tar", [
    ...["-xzf", `${folder}/${tarball?.name}`, "-C", folder, file],
  ]);
  return `${folder}/${file}`;
}

async function readMajor(project: NpmProject, node: string): Promise<number> {
  const version = await project.run(node, ["--version"]);
  return Number(/^v(\d+)\./.exec(version)?.[1]);
}
