import { assert, assertEquals } from "@std/assert";
import { countRounds } from "../support/rounds.ts";
import { serviceTest } from "../support/services.ts";
import { RelayerCluster, SingleRelayer } from "./chaos/chaos_relayers.ts";
import { runChaos } from "./chaos/chaos_run.ts";

Deno.test("relayer keeps what it has answered for when it is killed in the middle of load", async () => {
  // The seed determines the requests and the times of the kills, but not how
  // the system schedules them. The number of kills is limited, since the check
  // after each one covers everything that came before.
  const kills = Math.min(5, countRounds(2));
  const maxLoadMs = Math.min(1_050, countRounds(350));
  const outcome = await runChaos({
    relayers: await SingleRelayer.start(),
    ...{ kills, seed: 11, maxLoadMs },
  });
  assertEquals(outcome.faults, [], `${kills} kills, seed 11`);
  assert(outcome.memories > 20 * kills, `only ${outcome.memories} memories`);
  assert(outcome.deleted > 0, "none was deleted");
  assert(outcome.superseded > 0, "none was superseded");
});

serviceTest(["postgres"], {
  name:
    "relayers on PostgreSQL keep what they have answered for when relayers and servers die",
  async fn() {
    const relayers = await RelayerCluster.start({
      instances: 2,
      harms: ["kill primary", "kill instance"],
      maxOutageMs: 30_000,
    });
    const outcome = await runChaos({
      ...{ relayers, kills: 2, seed: 5, maxLoadMs: 200, pairs: 10 },
      // A soak does it.
      restores: false,
    });
    assertEquals(outcome.faults, [], "seed 5");
    assertEquals(relayers.writesAgainMs.length, 1, "failovers");
    assert(outcome.memories > 40, `only ${outcome.memories} memories`);
    assert(outcome.deletedPairs > 0, "none was deleted");
  },
});
