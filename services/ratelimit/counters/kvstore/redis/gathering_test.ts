import { assertEquals } from "@std/assert";
import { HandClock } from "./fake_redis.ts";
import { Gathering, type GatheringOptions } from "./gathering.ts";

interface Subject {
  readonly gathering: Gathering;
  readonly clock: HandClock;
  /** Numbers of commands of the calls that were sent together. */
  readonly sent: number[][];
  /** Ends a turn of the event loop. */
  readonly endTurn: () => void;
}

function makeSubject(options: Partial<GatheringOptions>): Subject {
  const clock = new HandClock();
  const sent: number[][] = [];
  let afterTurn: Array<() => void> = [];
  const gathering = new Gathering({
    timeoutMs: 1_000,
    clock,
    afterTurn: (callback) => afterTurn.push(callback),
    ...options,
  }, (calls) => {
    sent.push(calls.map(({ commands }) => commands.length));
    for (const { commands, resolve } of calls) {
      resolve({ kind: "replied", replies: commands.map(() => 1) });
    }
  });
  function endTurn(): void {
    const callbacks = afterTurn;
    afterTurn = [];
    for (const callback of callbacks) callback();
  }
  return { gathering, clock, sent, endTurn };
}

function add({ gathering }: Subject, commands: number): void {
  gathering.add(new Array(commands).fill(["PING"]), Infinity);
}

Deno.test("Gathering is off without a window", () => {
  assertEquals(makeSubject({}).gathering.isOn, false);
  assertEquals(makeSubject({ pipelineLimit: 5 }).gathering.isOn, false);
  assertEquals(makeSubject({ pipelineWindowMs: 0.01 }).gathering.isOn, true);
});

Deno.test("Gathering.add() waits for the window and answers each call", async () => {
  const subject = makeSubject({ pipelineWindowMs: 5 });
  const { gathering, clock, sent } = subject;
  const first = gathering.add([["A"], ["B"]], Infinity);
  await clock.advance(4);
  const second = gathering.add([["C"]], Infinity);
  assertEquals(sent, []);
  await clock.advance(1);
  assertEquals(sent, [[2, 1]]);
  assertEquals(await first, { kind: "replied", replies: [1, 1] });
  assertEquals(await second, { kind: "replied", replies: [1] });
  add(subject, 3);
  await clock.advance(5);
  assertEquals(sent, [[2, 1], [3]]);
  assertEquals(clock.timers, 0);
});

Deno.test("Gathering.add() waits no longer once there are enough commands", async () => {
  const subject = makeSubject({ pipelineWindowMs: 5, pipelineLimit: 4 });
  for (const commands of [2, 1, 1, 9, 1]) add(subject, commands);
  assertEquals(subject.sent, [[2, 1, 1], [9]]);
  await subject.clock.advance(5);
  assertEquals(subject.sent, [[2, 1, 1], [9], [1]]);
  assertEquals(subject.clock.timers, 0);
});

Deno.test("Gathering.add() waits for the end of the turn below a millisecond", () => {
  const subject = makeSubject({ pipelineWindowMs: 0.15, pipelineLimit: 2 });
  add(subject, 1);
  add(subject, 1);
  add(subject, 1);
  assertEquals(subject.sent, [[1, 1]]);
  subject.endTurn();
  assertEquals(subject.sent, [[1, 1], [1]]);
  add(subject, 1);
  subject.endTurn();
  assertEquals(subject.sent, [[1, 1], [1], [1]]);
  assertEquals(subject.clock.timers, 0);
});

Deno.test("Gathering.add() waits at most for half of the time limit", async () => {
  const subject = makeSubject({ pipelineWindowMs: 5_000, timeoutMs: 100 });
  add(subject, 1);
  await subject.clock.advance(49);
  assertEquals(subject.sent, []);
  await subject.clock.advance(1);
  assertEquals(subject.sent, [[1]]);
});

Deno.test("Gathering.flush() hands over what there is, once", async () => {
  const subject = makeSubject({ pipelineWindowMs: 5 });
  add(subject, 1);
  subject.gathering.flush();
  subject.gathering.flush();
  await subject.clock.advance(5);
  assertEquals(subject.sent, [[1]]);
  assertEquals(subject.clock.timers, 0);
});
