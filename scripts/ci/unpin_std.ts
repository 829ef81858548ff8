/**
 * Removes the JSR packages from a `deno.lock`, for a clone that gets other
 * packages under the same names: `unpin_std.ts <deno.lock>`.
 *
 * @module
 */

import { tell } from "../terminal.ts";

if (import.meta.main) Deno.exit(await main(Deno.args));

async function main(args: readonly string[]): Promise<number> {
  const [path] = args;
  if (path === undefined) {
    tell("Usage: unpin_std.ts <deno.lock>");
    return 2;
  }
  await Deno.writeTextFile(path, unpin(await Deno.readTextFile(path)));
  return 0;
}

function unpin(text: string): string {
  const lock: unknown = JSON.parse(text);
  if (typeof lock !== "object" || lock === null) {
    throw new SyntaxError("Cannot unpin: this is no lock file");
  }
  const { jsr: _jsr, specifiers, ...rest } = lock as Record<string, unknown>;
  const kept = Object.entries(specifiers ?? {})
    .filter(([specifier]) => !specifier.startsWith("jsr:"));
  return JSON.stringify(
    { ...rest, specifiers: Object.fromEntries(kept) },
    null,
    2,
  ) + "\n";
}
