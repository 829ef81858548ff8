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

/** Numbers of tests, by how they ended. */
export interface TestCounts {
  /** Tests that passed. */
  readonly passed: number;
  /** Tests that failed, by an assertion or otherwise. */
  readonly failed: number;
  /** Tests that were not run. */
  readonly skipped: number;
}

/**
 * Counts the tests of a report by the attributes of its suites.
 *
 * @throws {SyntaxError} When the text is not a JUnit report.
 */
export function countReport(xml: string): TestCounts {
  if (!xml.includes("<testsuites")) {
    throw new SyntaxError("Cannot count tests: this is no JUnit report");
  }
  // Comments and texts of a report escape "<", so a match is really a tag.
  const suites = xml.matchAll(/<testsuite\s([^>]*)>/g);
  let counts: TestCounts = { passed: 0, failed: 0, skipped: 0 };
  for (const [, attributes = ""] of suites) {
    const failed = readNumber(attributes, "failures") +
      readNumber(attributes, "errors");
    const skipped = readNumber(attributes, "skipped") +
      readNumber(attributes, "disabled");
    const passed = readNumber(attributes, "tests") - failed - skipped;
    counts = addCounts(counts, { passed, failed, skipped });
  }
  return counts;
}

/**
 * The most lines that are shown of a failure, and the most characters of a
 * line.
 */
const MAX_LINES = 12;
const MAX_COLUMNS = 300;

/**
 * Returns the tests of a report that failed, each as `<file> => <test>` and the
 * first lines of its message.
 */
export function failedTests(xml: string): readonly string[] {
  const cases = xml.matchAll(
    /<testcase\s([^>]*[^/])>\s*<(?:failure|error)\b([^>]*)>/g,
  );
  return [...cases].map(([, attributes = "", failure = ""]) =>
    [
      `${readText(attributes, "classname")} => ${readText(attributes, "name")}`,
      ...readText(failure, "message").split("\n")
        .filter((line) => line.trim() !== "").slice(0, MAX_LINES)
        .map((line) => `    ${line.slice(0, MAX_COLUMNS)}`),
    ].join("\n")
  );
}

/** Adds two counts. */
export function addCounts(a: TestCounts, b: TestCounts): TestCounts {
  return {
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    skipped: a.skipped + b.skipped,
  };
}

function readText(attributes: string, name: string): string {
  const text = new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? "";
  return text
    .replaceAll("&quot;", '"')
    .replaceAll(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))
    .replaceAll("&apos;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}

function readNumber(attributes: string, name: string): number {
  return Number(new RegExp(`\\b${name}="(\\d+)"`).exec(attributes)?.[1] ?? 0);
}

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

// At the end of the file, so that all constants above are initialized.
if (import.meta.main) Deno.exit(await main(Deno.args));
