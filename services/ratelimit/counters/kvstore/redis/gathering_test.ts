import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../../../tests/support/fake_clock.ts";
import { Gathering, type GatheringOptions } from "./gathering.ts";

interface Subject {
  readonly gathering: Gathering;
  readonly clock: FakeClock;
  /** Numbers of commands that left together. */
  readonly left: number[];
  /** Takes note of commands. */
  readonly add: (commands: number) => void;
  /** Ends a turn of the event loop. */
  readonly endTurn: () => void;
}

function makeSubject(options: Partial<GatheringOptions> = {}): Subject {
  const clock = new FakeClock();
  const left: number[] = [];
  let gathered = 0;
  let afterTurn: Array<() => void> = [];
  const gathering = new Gathering({
    clock,
    afterTurn: (callback) => afterTurn.push(callback),
    ...options,
  }, () => {
    left.push(gathered);
    gathered = 0;
  });
  return {
    gathering,
    clock,
    left,
    add(commands) {
      gathered += commands;
      gathering.add(commands);
    },
    endTurn() {
      const callbacks = afterTurn;
      afterTurn = [];
      for (const callback of callbacks) callback();
    },
  };
}

Deno.test("Gathering.add() lets the commands of one turn leave together when there is no window", () => {
  for (const pipelineWindowMs of [0, 0.15]) {
    const subject = makeSubject({ pipelineWindowMs });
    subject.add(2);
    subject.add(3);
    assertEquals(subject.left, []);
    assertEquals(subject.gathering.isUnderWay, true);
    subject.endTurn();
    assertEquals(subject.left, [5]);
    assertEquals(subject.gathering.isUnderWay, false);
    subject.add(1);
    subject.endTurn();
    assertEquals(subject.left, [5, 1]);
    assertEquals(subject.clock.pendingTimers, 0);
  }
});

Deno.test("Gathering.add() waits for the end of the window", async () => {
  const subject = makeSubject({ pipelineWindowMs: 5 });
  subject.add(2);
  await subject.clock.advanceAsync(4);
  subject.add(1);
  subject.endTurn();
  assertEquals(subject.left, []);
  await subject.clock.advanceAsync(1);
  assertEquals(subject.left, [3]);
  subject.add(3);
  await subject.clock.advanceAsync(5);
  assertEquals(subject.left, [3, 3]);
  assertEquals(subject.clock.pendingTimers, 0);
});

Deno.test("Gathering.add() waits no longer once there are enough commands", async () => {
  const subject = makeSubject({ pipelineWindowMs: 5, pipelineLimit: 4 });
  for (const commands of [2, 1, 1, 9, 1]) subject.add(commands);
  assertEquals(subject.left, [4, 9]);
  await subject.clock.advanceAsync(5);
  assertEquals(subject.left, [4, 9, 1]);
  assertEquals(subject.clock.pendingTimers, 0);
});

Deno.test("Gathering.add() begins another turn's waiting when the limit ended one", () => {
  const subject = makeSubject({ pipelineLimit: 2 });
  for (const commands of [1, 1, 1]) subject.add(commands);
  assertEquals(subject.left, [2]);
  subject.endTurn();
  assertEquals(subject.left, [2, 1]);
});

Deno.test("Gathering.stop() forgets what was gathered", async () => {
  const windowed = makeSubject({ pipelineWindowMs: 5 });
  windowed.add(1);
  windowed.gathering.stop();
  await windowed.clock.advanceAsync(5);
  assertEquals(windowed.left, []);
  const turned = makeSubject();
  turned.add(1);
  turned.gathering.stop();
  turned.endTurn();
  assertEquals(turned.left, []);
});
