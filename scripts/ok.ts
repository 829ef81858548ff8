/**
 * Runs all checks of CI one after the other, and stops at the first failure.
 * `--skip=<step>` leaves a step out, and may be repeated.
 *
 * @module
 */

import { parseArgs } from "node:util";
import { decidedSource, runDeno, withStd } from "./launch/deno_process.ts";
import { exitWith, tell } from "./terminal.ts";

/** The checks by their names: the subcommand of Deno that runs each. */
const STEPS: Readonly<Record<string, readonly string[]>> = {
  fmt: ["task", "fmt", "--check"],
  lint: ["task", "lint"],
  check: ["task", "check"],
  "doc lint": ["task", "doc:lint"],
  test: ["task", "test"],
  "publish dry run": ["publish", "--dry-run", "--allow-dirty"],
};

if (import.meta.main) await exitWith(main);

async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { skip: { type: "string", multiple: true } },
  });
  const skipped = values.skip ?? [];
  const unknown = skipped.find((name) => !Object.hasOwn(STEPS, name));
  if (unknown !== undefined) {
    throw new RangeError(
      `Cannot skip "${unknown}": the steps are ${
        Object.keys(STEPS).join(", ")
      }`,
    );
  }
  const steps = Object.entries(STEPS)
    .filter(([name]) => !skipped.includes(name));
  for (const [index, [name, args]] of steps.entries()) {
    tell(`\n== ${index + 1}/${steps.length} ${name} ==`);
    const isTask = args[0] === "task";
    const code = await runDeno(isTask ? args : withStd(args, decidedSource()));
    if (code !== 0) {
      tell(`\nNot ok: ${name} ended with ${code}`);
      return code;
    }
  }
  tell("\nOk");
  return 0;
}
