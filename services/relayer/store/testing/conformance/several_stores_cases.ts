import type { SeveralStores, StoreCase } from "./store_case.ts";
/** x */
export function severalStoresCases(): readonly StoreCase<SeveralStores>[] {
  return [];
}
