/**
 * Names the tests that failed, and adds up what JUnit reports say, for the last lines
 * of CI: `count_tests.ts [--failed=<stages>] <report>...`. A stage that failed without
 * a report counts as one.
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
