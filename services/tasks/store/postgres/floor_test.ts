import { assertEquals } from "@std/assert";
import { DueFloors } from "./due_floors.ts";
import { Floor } from "./floor.ts";

Deno.test("Floor keeps the first place that a look has found", () => {
  const floor = new Floor(-Infinity);
  floor.look()(20);
  assertEquals(floor.at, 20);
  floor.look()(40);
  assertEquals(floor.at, 40);
});

Deno.test("Floor keeps the id among places that are the same, until one is written there", () => {
  const floor = new Floor(-Infinity);
  floor.look()(20, "b");
  assertEquals([floor.at, floor.id], [20, "b"]);
  floor.lower(30);
  assertEquals([floor.at, floor.id], [20, "b"]);
  floor.lower(20);
  assertEquals([floor.at, floor.id], [20, ""]);
  const end = floor.look();
  assertEquals([floor.at, floor.id], [20, ""]);
  end(20, "c");
  assertEquals([floor.at, floor.id], [20, "c"]);
  floor.look()(40);
  assertEquals([floor.at, floor.id], [40, ""]);
});

Deno.test("Floor is lowered by what is written, also during a look", () => {
  const floor = new Floor(50);
  floor.lower(30);
  assertEquals(floor.at, 30);
  const end = floor.look();
  floor.lower(10);
  end(60);
  assertEquals(floor.at, 10);
  floor.look()(10);
  assertEquals(floor.at, 10);
});

Deno.test("Floor leaves out what a look finds that another one has followed", () => {
  const floor = new Floor(0);
  const first = floor.look();
  floor.lower(-5);
  const second = floor.look();
  second(-5);
  // It began before the write and has not seen it.
  first(70);
  assertEquals(floor.at, -5);
});

Deno.test("DueFloors forgets the groups of a queue after a second", () => {
  let nowMs = 0;
  const floors = new DueFloors(() => nowMs);
  const queue = { lane: 1, job: undefined };
  assertEquals(floors.groups(queue), undefined);
  assertEquals(floors.mayLack(queue), true);
  floors.found(queue, ["b", ""], 0);
  assertEquals(floors.groups(queue), ["", "b"]);
  assertEquals(floors.mayLack(queue), false);
  nowMs = 100;
  assertEquals(floors.mayLack(queue), true);
  nowMs = 999;
  assertEquals(floors.groups(queue), ["", "b"]);
  nowMs = 1_000;
  assertEquals(floors.groups(queue), undefined);
});

Deno.test("DueFloors relies on a look for longer where it took long", () => {
  let nowMs = 0;
  const floors = new DueFloors(() => nowMs);
  const queue = { lane: 1, job: undefined };
  floors.found(queue, [""], 200);
  nowMs = 3_999;
  assertEquals(floors.groups(queue), [""]);
  assertEquals(floors.mayLack(queue), false);
  nowMs = 4_000;
  assertEquals(floors.groups(queue), undefined);
});

Deno.test("DueFloors adds the group of a task that is written, for all jobs and its own", () => {
  const floors = new DueFloors(() => 0);
  const all = { lane: 1, job: undefined };
  const mail = { lane: 1, job: "mail" };
  const other = { lane: 1, job: "other" };
  for (const queue of [all, mail, other]) floors.found(queue, [], 0);
  floors.lower(1, { job: "mail", group: "g", rank: 5 });
  assertEquals(floors.groups(all), ["g"]);
  assertEquals(floors.groups(mail), ["g"]);
  assertEquals(floors.groups(other), []);
  assertEquals(floors.floor(all, "g").at, 5);
});

Deno.test("DueFloors drops a group that a look has found empty, unless something was written", () => {
  const floors = new DueFloors(() => 0);
  const queue = { lane: 1, job: undefined };
  floors.found(queue, ["a", "b"], 0);
  floors.floor(queue, "a").look()(Infinity);
  floors.empty(queue, "a");
  assertEquals(floors.groups(queue), ["b"]);
  const end = floors.floor(queue, "b").look();
  floors.lower(1, { job: "j", group: "b", rank: 3 });
  end(Infinity);
  floors.empty(queue, "b");
  assertEquals(floors.groups(queue), ["b"]);
});

Deno.test("DueFloors orders groups by their bytes, and finds many groups anew", () => {
  const floors = new DueFloors(() => 0);
  const queue = { lane: 1, job: undefined };
  floors.found(queue, ["\ud83d\ude00", "\uffee", "z"], 0);
  assertEquals(floors.groups(queue), ["z", "\uffee", "\ud83d\ude00"]);
  floors.found(queue, Array.from({ length: 1_001 }, (_, at) => `g${at}`), 0);
  assertEquals(floors.groups(queue), undefined);
});
