/**
 * Runs the conformance suites of counter stores as steps of one test, for
 * stores whose servers take long to start.
 *
 * @module
 */

import {
  type ConformanceSubject,
  counterStoreConformance,
} from "../../services/ratelimit/counters/testing/counter_store_conformance.ts";
import {
  type PacedBench,
  pacedConformance,
} from "../../services/ratelimit/counters/testing/paced_conformance.ts";

/** Runs the conformance suite of fixed windows as steps of a test. */
export async function conformanceSteps(
  context: Deno.TestContext,
  makeStore: () => Promise<ConformanceSubject>,
): Promise<void> {
  await steps(context, (register) => {
    counterStoreConformance("the", makeStore, { register });
  });
}

/** Runs the conformance suite of the other algorithms as steps of a test. */
export async function pacedSteps(
  context: Deno.TestContext,
  makeStore: (bench: PacedBench) => Promise<ConformanceSubject>,
): Promise<void> {
  await steps(context, (register) => {
    pacedConformance("the", makeStore, { register });
  });
}

async function steps(
  context: Deno.TestContext,
  collect: (register: (definition: Deno.TestDefinition) => void) => void,
): Promise<void> {
  const definitions: Deno.TestDefinition[] = [];
  collect((definition) => definitions.push(definition));
  for (const { name, fn } of definitions) {
    // The test itself checks for leaks at its end; checking after each step
    // takes long.
    const ignored = { sanitizeOps: false, sanitizeResources: false };
    await context.step({ name, fn, ...ignored });
  }
}
