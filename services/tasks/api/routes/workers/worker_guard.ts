/**
 * The guard of the number of a tenant's workers.
 *
 * @module
 */

import type { EngineParts } from "../../../engine/parts.ts";
import type { Write } from "../../../store/store.ts";

const ID = "guard:workers";

/**
 * Reads the guard. To be called before workers are counted; its write, in the
 * unit that adds one, conflicts when somebody else has added one meanwhile.
 */
export async function readWorkerGuard(
  { store }: Pick<EngineParts, "store">,
  tenantId: string,
): Promise<Write> {
  const found = await store.record("service", tenantId, ID);
  const expectedVersion = found?.version ?? 0;
  return {
    kind: "record",
    recordKind: "service",
    tenantId,
    id: ID,
    expectedVersion,
    next: {
      kind: "service",
      tenantId,
      id: ID,
      version: expectedVersion + 1,
      text: "",
    },
  };
}
