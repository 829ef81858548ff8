import { assert, assertEquals } from "@std/assert";
import { roundsOf } from "../support/rounds.ts";
import { runChaos } from "./chaos/chaos_run.ts";

Deno.test("relayer keeps what it has answered for when it is killed in the middle of load", async () => {
  // The seed decides what is sent and when the relayer dies, not what the
  // system makes of it.
  // What is checked after each grows with all that came before.
  const kills = Math.min(5, roundsOf(2));
  const outcome = await runChaos({ kills, seed: 11 });
  assertEquals(outcome.faults, [], `${kills} kills, seed 11`);
  assert(outcome.memories > 20 * kills, `only ${outcome.memories} memories`);
  assert(outcome.deleted > 0, "none was deleted");
  assert(outcome.superseded > 0, "none was superseded");
});
