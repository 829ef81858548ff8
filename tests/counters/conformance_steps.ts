/**
 * The conformance suite as steps of one test, for stores whose servers take long
 * to start.
 *
 * @module
 */

import {
  type ConformanceSubject,
  counterStoreConformance,
} from "../../services/ratelimit/counters/testing/counter_store_conformance.ts";

/** Runs the whole suite within the test `context`. */
export async function conformanceSteps(
  context: Deno.TestContext,
  makeStore: () => Promise<ConformanceSubject>,
): Promise<void> {
  const definitions: Deno.TestDefinition[] = [];
  counterStoreConformance("the", makeStore, {
    register: (definition) => definitions.push(definition),
  });
  for (const { name, fn } of definitions) {
    // The test looks for leaks at its end; after each step that takes long.
    const ignored = { sanitizeOps: false, sanitizeResources: false };
    await context.step({ name, fn, ...ignored });
  }
}
