import { assertEquals } from "@std/assert";
import { DueFloors } from "./due_floors.ts";

const QUEUE = { lane: 1, job: undefined };
const NONE = { count: 0, gapMs: 0 };

Deno.test("DueFloors.takeMisses() tells once what a look without floors finds below them", () => {
  const floors = new DueFloors(() => 0);
  const lookFromBeginning = (first: number): void => {
    floors.found(QUEUE, ["", "g"], 0);
    floors.floor(QUEUE, "").look()(first);
    floors.looked(QUEUE, "", first);
  };
  lookFromBeginning(1_000);
  assertEquals(floors.takeMisses(), NONE);
  lookFromBeginning(1_500);
  assertEquals(floors.takeMisses(), NONE);
  // Another instance has written it, and nobody told.
  lookFromBeginning(300);
  assertEquals(floors.takeMisses(), { count: 1, gapMs: 1_200 });
  assertEquals(floors.takeMisses(), NONE);
  // What was told is no miss, whenever that was.
  floors.lower(1, { job: "", group: "", rank: 200 });
  lookFromBeginning(200);
  floors.found(QUEUE, [""], 0);
  floors.lower(1, { job: "", group: "", rank: 100 });
  floors.looked(QUEUE, "", 100);
  assertEquals(floors.takeMisses(), NONE);
});
