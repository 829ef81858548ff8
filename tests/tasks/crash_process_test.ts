import { assert, assertEquals } from "@std/assert";
import { countRounds } from "../support/rounds.ts";
import { runTasks } from "../support/tasks_process.ts";
import { DataFolder } from "./data_folder.ts";
import { serviceTest } from "../support/services.ts";
import { runChaos } from "./chaos/chaos_run.ts";
import { SingleService, startCluster } from "./chaos/chaos_service.ts";

Deno.test("tasks keeps what it has answered for when it is killed in the middle of load", async () => {
  await using folder = await DataFolder.make();
  // The seed determines the requests and the times of the kills, but not how
  // the system schedules them. The number of kills is limited, since the check
  // after each one covers everything that came before.
  const kills = Math.min(5, countRounds(2));
  const outcome = await runChaos({
    service: await SingleService.start(folder.path),
    kills,
    seed: 7,
    maxLoadMs: Math.min(1_500, countRounds(500)),
  });
  assertEquals(outcome.faults, [], `${kills} kills, seed 7`);
  assert(outcome.tasks > 20 * kills, `only ${outcome.tasks} tasks`);
  assert(outcome.successes > 20 * kills, `only ${outcome.successes} successes`);
  assert(outcome.replays > 4 * kills, `only ${outcome.replays} replays`);
  // Stored counts and hashes must agree with the data that they cover.
  const check = await runTasks({
    dataDir: folder.path,
    args: ["check", "--json"],
  });
  assertEquals(JSON.parse(check.stdout), { faults: [] });
});

serviceTest(["postgres"], {
  name:
    "tasks on PostgreSQL keeps what it has answered for when instances and servers die",
  async fn() {
    await using folder = await DataFolder.make();
    const service = await startCluster({
      folder: folder.path,
      instances: 2,
      harms: ["kill primary", "kill instance"],
      maxOutageMs: 30_000,
    });
    const outcome = await runChaos({
      service,
      kills: 2,
      seed: 5,
      maxLoadMs: 400,
    });
    assertEquals(outcome.faults, [], "seed 5");
    assertEquals(service.writesAgainMs.length, 1, "failovers");
    assert(outcome.tasks > 40, `only ${outcome.tasks} tasks`);
  },
});
