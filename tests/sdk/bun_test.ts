import { serviceTest } from "../support/services.ts";
import { checkRuntime } from "./runtime_round_trip.ts";

serviceTest(["bun"], {
  name: "the SDK remembers, waits, recalls and deletes in Bun",
  fn: () => checkRuntime("bun", 1),
});
