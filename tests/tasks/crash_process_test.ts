import { assert, assertEquals } from "@std/assert";
import { DataFolder } from "./data_folder.ts";
import { runChaos } from "./chaos/chaos_run.ts";

Deno.test("tasks keeps what it has answered for when it is killed in the middle of load", async () => {
  await using folder = await DataFolder.make();
  // The seed decides what is sent and when the service dies, not what the
  // system makes of it.
  const outcome = await runChaos({ dataDir: folder.path, kills: 5, seed: 7 });
  assertEquals(outcome.faults, []);
  assert(outcome.tasks > 100, `only ${outcome.tasks} tasks`);
  assert(outcome.successes > 100, `only ${outcome.successes} successes`);
  assert(outcome.replays > 20, `only ${outcome.replays} replays`);
});
