/**
 * Registers the tests that every implementation of the store has to pass.
 *
 * @module
 */

import { feedCases } from "./conformance/feed_cases.ts";
import { jobCases } from "./conformance/job_cases.ts";
import { memoryCases } from "./conformance/memory_cases.ts";
import { severalStoresCases } from "./conformance/several_stores_cases.ts";
import { sideCases } from "./conformance/side_cases.ts";
import type {
  ConformanceSubject,
  SeveralStores,
  StoreCase,
} from "./conformance/store_case.ts";

export type {
  ConformanceSubject,
  SeveralStores,
} from "./conformance/store_case.ts";

/** Registers a test, as {@linkcode Deno.test} does. */
type Register = (test: Deno.TestDefinition) => void;

/**
 * Registers the tests of a store.
 *
 * @param open Opens and starts an empty store whose clock is at the time of the
 * sample rows.
 */
export function storeConformance(
  name: string,
  open: () => Promise<ConformanceSubject>,
  register: Register = Deno.test,
): void {
  const cases = [
    ...jobCases(),
    ...sideCases(),
    ...memoryCases(),
    ...feedCases(),
  ];
  registerAll(cases, { name: `${name} store`, open, register });
}

/**
 * Registers the tests of a store that several instances may have on the same
 * data.
 *
 * @param open as for {@linkcode storeConformance}
 */
export function severalStoresConformance(
  name: string,
  open: () => Promise<SeveralStores>,
  register: Register = Deno.test,
): void {
  registerAll(severalStoresCases(), {
    ...{ name: `several ${name} stores`, open, register },
  });
}

function registerAll<Subject extends ConformanceSubject>(
  cases: readonly StoreCase<Subject>[],
  { name, open, register }: {
    readonly name: string;
    readonly open: () => Promise<Subject>;
    readonly register: Register;
  },
): void {
  for (const { title, run } of cases) {
    register({
      name: `${name} ${title}`,
      async fn() {
        const subject = await open();
        try {
          await run(subject);
        } finally {
          await subject.close();
        }
      },
    });
  }
}
