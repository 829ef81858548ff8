/**
 * What to say where the runtime withholds a permission. Its own words name flags
 * of its command line, which an executable does not have.
 *
 * @module
 */

/** What each permission of the runtime is for, in words. */
const ACTS: Readonly<Record<string, string>> = {
  read: "to read",
  write: "to write to",
  net: "to connect to or listen on",
  env: "to read the variable",
  run: "to run",
  sys: "to ask the system for",
  ffi: "to load",
  import: "to import",
};

/**
 * Says without the runtime's flags what an error of a missing permission says.
 *
 * @param message The runtime's own words.
 */
export function withheldPermission(message: string): string {
  const found = /^Requires (\w+) access(?: to ("[^"]*"))?/.exec(message);
  const [, name = "", target = ""] = found ?? [];
  // It is never given to a program that has its permissions one by one.
  if (name === "all" && target !== "") {
    return `${target} is a special file, which the program may not open`;
  }
  const act = ACTS[name];
  if (act === undefined) {
    return "the program was started without a permission that this needs";
  }
  const whole = target === "" && name === "env" ? "to read variables" : act;
  return `the program was started without the permission ${whole}` +
    (target === "" ? "" : ` ${target}`);
}
