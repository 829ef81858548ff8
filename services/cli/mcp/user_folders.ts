/**
 * Where programs keep what belongs to a user, on each system.
 *
 * @module
 */

import type { ReadVariable } from "../../shared/settings.ts";

/** The machine and the user's environment. */
export interface UserPlace {
  /** The system, as `Deno.build.os` names it. */
  readonly os: typeof Deno.build.os;
  /** Reads the environment. */
  readonly readVariable: ReadVariable;
}

/**
 * The user's home folder.
 *
 * @throws {Error} when the environment names none
 */
export function homeFolder({ os, readVariable }: UserPlace): string {
  const name = os === "windows" ? "USERPROFILE" : "HOME";
  const home = readVariable(name) ?? "";
  if (home !== "") return home;
  throw new Error(
    `Cannot find your home folder: ${name} is not set; set it, or name the ` +
      "folder or file",
  );
}

/**
 * The folder of the local memory for which no other one is named.
 *
 * @throws {Error} when the environment names no home folder
 */
export function defaultMemoryFolder(user: UserPlace): string {
  return `${dataFolder(user)}/tercet/memory`;
}

/** Where programs keep data of a user (on Linux by the XDG rule). */
function dataFolder(user: UserPlace): string {
  const named = (name: string): string | undefined =>
    user.readVariable(name) || undefined;
  switch (user.os) {
    case "windows":
      return named("LOCALAPPDATA") ?? `${homeFolder(user)}/AppData/Local`;
    case "darwin":
      return `${homeFolder(user)}/Library/Application Support`;
    default: {
      const data = named("XDG_DATA_HOME");
      // The rule ignores relative paths.
      return data?.startsWith("/") ? data : `${homeFolder(user)}/.local/share`;
    }
  }
}
