import { systemClock } from "../../../shared/clock.ts";
import { createMemoryStore } from "./memory_store.ts";
import { storeConformance } from "./store_conformance.ts";

storeConformance("memory", () => {
  const store = createMemoryStore({ clock: systemClock });
  return Promise.resolve({ store, close: () => store.stop() });
});
