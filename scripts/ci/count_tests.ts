/**
 * Prints the names of the tests that failed and the total counts of some JUnit
 * reports, for the last lines of a CI run:
 * `count_tests.ts [--failed=<stages>] <report>...`. A stage that failed without
 * writing a report counts as one failed test.
 *
 * @module
 */

import { parseArgs } from "node:util";
import { print } from "../terminal.ts";
import {
  addCounts,
  countReport,
  failedTests,
  type TestCounts,
} from "./junit.ts";

if (import.meta.main) Deno.exit(await main(Deno.args));

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { failed: { type: "string", default: "0" } },
  });
  const reports = await Promise.all(
    positionals.map((path) => Deno.readTextFile(path)),
  );
  const stages: TestCounts = {
    passed: 0,
    failed: Number(values.failed),
    skipped: 0,
  };
  const total = reports.map(countReport).reduce(addCounts, stages);
  for (const name of reports.flatMap(failedTests)) print(`Failed: ${name}`);
  print(
    `${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`,
  );
  return 0;
}
