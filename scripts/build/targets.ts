/**
 * The machines that executables can be built for.
 *
 * @module
 */

/** All targets for which `deno compile` has a runtime. */
export const TARGETS = [
  "x86_64-unknown-linux-gnu",
  "aarch64-unknown-linux-gnu",
  "x86_64-apple-darwin",
  "aarch64-apple-darwin",
  "x86_64-pc-windows-msvc",
] as const;

/** The processor, vendor, system and C library of a machine. */
export type Target = typeof TARGETS[number];

/** Returns whether `deno compile` has a runtime for such a machine. */
export function isTarget(text: string): text is Target {
  return TARGETS.some((target) => target === text);
}

/**
 * Returns the file name of an executable; on Windows with its ending.
 *
 * @param name The name on other systems.
 * @param target The machine; one like this when undefined.
 */
export function executableName(
  name: string,
  target: Target | undefined,
): string {
  const isWindows = target === undefined
    ? Deno.build.os === "windows"
    : target.includes("windows");
  return isWindows && !name.endsWith(".exe") ? `${name}.exe` : name;
}
