/**
 * Runs all checks of CI one after the other, and stops at the first failure.
 * `--skip=<step>` leaves a step out, and may be repeated.
 *
 * @module
 */

import { parseArgs } from "node:util";
import { decidedSource, runDeno, withStd } from "./launch/deno_process.ts";
import { runDenoTest } from "./launch/test_run.ts";
import { expandPermissions } from "./permissions.ts";
import { exitWith, tell } from "./terminal.ts";

/** A check: its name, and the subcommand of Deno that runs it. */
interface Step {
  readonly name: string;
  readonly args: readonly string[];
}

const STEPS: readonly Step[] = [
  { name: "fmt", args: ["fmt", "--check"] },
  { name: "lint", args: ["lint"] },
  { name: "check", args: ["check"] },
  {
    name: "doc lint",
    args: ["run", "--permissions=script", "scripts/doc_lint.ts"],
  },
  {
    name: "test",
    args: [
      "test",
      "--permissions=test",
      "--parallel",
      "--preload=scripts/test_timeout.ts",
    ],
  },
  {
    name: "publish dry run",
    args: ["publish", "--dry-run", "--allow-dirty"],
  },
];

if (import.meta.main) await exitWith(main);

async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { skip: { type: "string", multiple: true } },
  });
  const skipped = values.skip ?? [];
  const unknown = skipped.find((name) =>
    !STEPS.some((step) => step.name === name)
  );
  if (unknown !== undefined) {
    throw new RangeError(
      `Cannot skip "${unknown}": the steps are ` +
        STEPS.map((step) => step.name).join(", "),
    );
  }
  const steps = STEPS.filter((step) => !skipped.includes(step.name));
  for (const [index, step] of steps.entries()) {
    tell(`\n== ${index + 1}/${steps.length} ${step.name} ==`);
    const code = await runStep(step);
    if (code !== 0) {
      tell(`\nNot ok: ${step.name} ended with ${code}`);
      return code;
    }
  }
  tell("\nOk");
  return 0;
}

async function runStep(step: Step): Promise<number> {
  const args = expandPermissions(step.args, { execPath: Deno.execPath() });
  const source = decidedSource();
  const given = withStd(args, source);
  return args[0] === "test"
    ? await runDenoTest(given, { source })
    : await runDeno(given);
}
