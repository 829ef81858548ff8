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
  return systemFolder(user, {
    windows: ["LOCALAPPDATA", "AppData/Local"],
    xdg: ["XDG_DATA_HOME", ".local/share"],
  });
}

/**
 * Where programs keep settings of a user (on Linux by the XDG rule).
 *
 * @throws {Error} when the environment names no home folder
 */
export function configFolder(user: UserPlace): string {
  return systemFolder(user, {
    windows: ["APPDATA", "AppData/Roaming"],
    xdg: ["XDG_CONFIG_HOME", ".config"],
  });
}

/** A variable, and the folder in the home folder when it is not set. */
type Named = readonly [variable: string, folder: string];

function systemFolder(
  user: UserPlace,
  { windows, xdg }: { readonly windows: Named; readonly xdg: Named },
): string {
  if (user.os === "darwin") {
    return `${homeFolder(user)}/Library/Application Support`;
  }
  const [variable, folder] = user.os === "windows" ? windows : xdg;
  const named = user.readVariable(variable) ?? "";
  // The XDG rule ignores relative paths.
  return named.startsWith("/") || (user.os === "windows" && named !== "")
    ? named
    : `${homeFolder(user)}/${folder}`;
}
