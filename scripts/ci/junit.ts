/**
 * Reads counts and failures from JUnit reports, as `deno test --junit-path`
 * writes them.
 *
 * @module
 */

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
    const failed = numberOf(attributes, "failures") +
      numberOf(attributes, "errors");
    const skipped = numberOf(attributes, "skipped") +
      numberOf(attributes, "disabled");
    const passed = numberOf(attributes, "tests") - failed - skipped;
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
      `${textOf(attributes, "classname")} => ${textOf(attributes, "name")}`,
      ...textOf(failure, "message").split("\n")
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

function textOf(attributes: string, name: string): string {
  const text = new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? "";
  return text
    .replaceAll("&quot;", '"')
    .replaceAll(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))
    .replaceAll("&apos;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}

function numberOf(attributes: string, name: string): number {
  return Number(new RegExp(`\\b${name}="(\\d+)"`).exec(attributes)?.[1] ?? 0);
}
