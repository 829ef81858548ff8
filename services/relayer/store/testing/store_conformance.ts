/**
 * Registers the tests that every implementation of the store has to pass.
 *
 * @module
 */

import { feedCases } from "./conformance/feed_cases.ts";
import { jobCases } from "./conformance/job_cases.ts";
import { memoryCases } from "./conformance/memory_cases.ts";
import { sideCases } from "./conformance/side_cases.ts";
import type { ConformanceSubject } from "./conformance/store_case.ts";

export type { ConformanceSubject } from "./conformance/store_case.ts";

/**
 * Registers the tests of a store.
 *
 * @param open Opens and starts an empty store whose clock is at the time of the
 * sample rows.
 */
export function storeConformance(
  name: string,
  open: () => Promise<ConformanceSubject>,
): void {
  const cases = [
    ...jobCases(),
    ...sideCases(),
    ...memoryCases(),
    ...feedCases(),
  ];
  for (const { title, run } of cases) {
    Deno.test(`${name} store ${title}`, async () => {
      const subject = await open();
      try {
        await run(subject);
      } finally {
        await subject.close();
      }
    });
  }
}
