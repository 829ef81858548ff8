/**
 * Which version this is, and what was built.
 *
 * @module
 */

/** The version of all programs; a test compares it with `deno.json`. */
export const VERSION = "0.1.0";

/** What a program was built from. */
export interface Build {
  /**
   * The commit, such as `ee3df210`; with `+` behind it where files differed.
   */
  readonly commit: string;
}

/**
 * One line for `--version`.
 *
 * @param program The program's name.
 * @param build What it was built from; undefined where it runs from source.
 */
export function versionLine(program: string, build: Build | undefined): string {
  const from = build === undefined ? "source" : `commit ${build.commit}`;
  return `${program} ${VERSION} (${from}, Deno ${Deno.version.deno})`;
}
