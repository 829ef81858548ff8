/**
 * Registers the conformance tests that every store has to pass.
 *
 * @module
 */

import { claimCases } from "./conformance/claim_cases.ts";
import type {
  ConformanceSubject,
  StoreCase,
} from "./conformance/store_case.ts";
import { drawnCases } from "./conformance/drawn_cases.ts";
import { dueCases } from "./conformance/due_cases.ts";
import { historyFoldCases } from "./conformance/history_fold_cases.ts";
import { eventCases, severalEventCases } from "./conformance/event_cases.ts";
import { historyCases } from "./conformance/history_cases.ts";
import { keptCases } from "./conformance/kept_cases.ts";
import { listCases } from "./conformance/list_cases.ts";
import { listOrderCases } from "./conformance/list_order_cases.ts";
import { quotaCases } from "./conformance/quota_cases.ts";
import { recordCases } from "./conformance/record_cases.ts";
import {
  type SeveralStores,
  severalStoresCases,
} from "./conformance/several_stores_cases.ts";
import { rowCases } from "./conformance/row_cases.ts";
import { sideTableCases } from "./conformance/side_table_cases.ts";
import { startCases } from "./conformance/start_cases.ts";
import { statusCases } from "./conformance/status_cases.ts";
import { tagCases } from "./conformance/tag_cases.ts";
import { taskCases } from "./conformance/task_cases.ts";
import { taskLinkCases } from "./conformance/task_link_cases.ts";
import { transactionCases } from "./conformance/transaction_cases.ts";

export type { ConformanceSubject } from "./conformance/store_case.ts";

/**
 * Registers the conformance tests of a store.
 *
 * @param open opens an empty store and starts it; its clock has to be somewhere
 * between 2020 and 2089
 * @param register registers a test, as {@linkcode Deno.test} does
 */
export function storeConformance(
  name: string,
  open: () => Promise<ConformanceSubject>,
  register: (test: Deno.TestDefinition) => void = Deno.test,
): void {
  const cases: readonly StoreCase[] = [
    ...transactionCases(),
    ...taskCases(),
    ...taskLinkCases(),
    ...drawnCases(),
    ...recordCases(),
    ...rowCases(),
    ...sideTableCases(),
    ...quotaCases(),
    ...startCases(),
    ...claimCases(),
    ...dueCases(),
    ...listCases(),
    ...listOrderCases(),
    ...tagCases(),
    ...statusCases(),
    ...keptCases(),
    ...historyCases(),
    ...historyFoldCases(),
    ...eventCases(),
  ];
  for (const { title, run } of cases) {
    register({
      name: `${name} store ${title}`,
      fn: () => runOn(open, run),
    });
  }
}

/**
 * Registers the conformance tests of a store that several instances may have on
 * the same data.
 *
 * @param open as for {@linkcode storeConformance}
 * @param register as for {@linkcode storeConformance}
 */
export function severalStoresConformance(
  name: string,
  open: () => Promise<SeveralStores>,
  register: (test: Deno.TestDefinition) => void = Deno.test,
): void {
  for (
    const { title, run } of [...severalStoresCases(), ...severalEventCases()]
  ) {
    register({
      name: `several ${name} stores ${title}`,
      fn: () => runOn(open, run),
    });
  }
}

async function runOn<Subject extends ConformanceSubject>(
  open: () => Promise<Subject>,
  run: (subject: Subject) => Promise<void>,
): Promise<void> {
  const subject = await open();
  try {
    await run(subject);
  } finally {
    await subject.close();
  }
}
