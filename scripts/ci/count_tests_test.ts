import { assertEquals, assertThrows } from "@std/assert";
import { addCounts, countReport, failedTests } from "./count_tests.ts";

Deno.test("countReport() adds up all suites", () => {
  const report = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="deno test" tests="9" failures="1" errors="0" time="0.01">
    <testsuite name="./a_test.ts" tests="6" disabled="2" errors="0" failures="1">
        <testcase name="x" classname="./a_test.ts" time="0.000" line="1" col="6">
            <failure message="&lt;testsuite tests=&quot;9&quot;&gt;">text</failure>
        </testcase>
    </testsuite>
    <testsuite name="./b_test.ts" tests="3" disabled="0" errors="1" failures="0">
    </testsuite>
</testsuites>`;
  assertEquals(countReport(report), { passed: 5, failed: 2, skipped: 2 });
});

Deno.test("countReport() finds nothing in a report without suites", () => {
  assertEquals(countReport(`<testsuites name="deno test"></testsuites>`), {
    passed: 0,
    failed: 0,
    skipped: 0,
  });
});

Deno.test("countReport() throws when the text is no report", () => {
  for (const text of ["", "<html></html>"]) {
    assertThrows(() => countReport(text), SyntaxError);
  }
});

Deno.test("addCounts() adds each number", () => {
  assertEquals(
    addCounts(
      { passed: 1, failed: 2, skipped: 3 },
      { passed: 10, failed: 20, skipped: 30 },
    ),
    { passed: 11, failed: 22, skipped: 33 },
  );
});

Deno.test("failedTests() names the tests that failed or were cancelled, and says why", () => {
  const report = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="deno test" tests="3" failures="1" errors="1" time="0.01">
    <testsuite name="./a_test.ts" tests="3" disabled="0" errors="1" failures="1">
        <testcase name="is &quot;x&quot; &amp;lt;" classname="./a_test.ts" time="0">
            <failure message="Not &lt;equal&gt;:

 1&#10; 2">text</failure>
        </testcase>
        <testcase name="good" classname="./a_test.ts" time="0">
        </testcase>
        <testcase name="late" classname="./a_test.ts" time="0">
            <error message="Cancelled"/>
        </testcase>
    </testsuite>
</testsuites>`;
  assertEquals(
    failedTests(report),
    [
      './a_test.ts => is "x" &lt;\n    Not <equal>:\n     1\n     2',
      "./a_test.ts => late\n    Cancelled",
    ],
  );
});
