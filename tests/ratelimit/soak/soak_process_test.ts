import { assert, assertEquals } from "@std/assert";
import { serviceTest } from "../../support/services.ts";
import { soak } from "./soak.ts";

serviceTest(["redis-server"], {
  name:
    "ratelimit decides with everything on: TLS, discovery, sentinels, traces and metrics",
  async fn() {
    const result = await soak({
      minutes: 0.05,
      rate: 100,
      samplingRate: 1,
      certificateMs: 1_000,
      // The speed and the memory depend on the machine, so they are not judged.
      leastShare: 0,
      rssMb: () => Promise.resolve(0),
      tell: () => {},
    });
    assertEquals(result.faults, []);
    assert(result.reloads > 0 && result.certificates > 0);
  },
});
