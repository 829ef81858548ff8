import { serviceTest } from "../support/services.ts";
import { checkRuntime } from "./runtime_round_trip.ts";

serviceTest(["node"], {
  name: "the SDK remembers, waits, recalls and deletes in Node",
  fn: () => checkRuntime("node", 20),
});
