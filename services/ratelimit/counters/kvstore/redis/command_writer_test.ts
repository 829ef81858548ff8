import { assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import {
  CommandWriter,
  Gathering,
  type GatheringOptions,
} from "./command_writer.ts";
import { FakeClock } from "../../../../../tests/support/fake_clock.ts";

function writeText(write: (writer: CommandWriter) => void): string {
  const writer = new CommandWriter();
  write(writer);
  return Buffer.from(writer.take()).toString();
}

Deno.test("CommandWriter.add() writes arguments with their lengths in bytes", () => {
  const long = "ä".repeat(60);
  assertEquals(
    writeText((writer) => {
      writer.add(["PING"]);
      writer.add(["SET", Buffer.from("k"), "", "über", long]);
    }),
    "*1\r\n$4\r\nPING\r\n*5\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n" +
      `$5\r\nüber\r\n$120\r\n${long}\r\n`,
  );
});

Deno.test("CommandWriter writes numbers of any length and parts of bytes", () => {
  const most = Number.MAX_SAFE_INTEGER;
  for (const number of [0, 9, 10, 2_147_483_647, 2_147_483_648, 1e15, most]) {
    const text = String(number);
    assertEquals(
      writeText((writer) => {
        writer.number(number);
        writer.bytes(Buffer.from("xkeyx"), 1, 4);
      }),
      `$${text.length}\r\n${text}\r\n$3\r\nkey\r\n`,
    );
  }
});

Deno.test("CommandWriter grows with what is written, wherever its end is", () => {
  const key = Buffer.alloc(200, "k");
  for (let filler = 16_100; filler < 16_400; filler++) {
    const text = writeText((writer) => {
      writer.raw(new Uint8Array(filler).fill(0x2e));
      writer.bytes(key, 0, 200);
      writer.add([key, "short", "ü", "y".repeat(100)]);
      writer.number(7);
    });
    assertEquals(
      text.slice(filler),
      `$200\r\n${key}\r\n*4\r\n$200\r\n${key}\r\n$5\r\nshort\r\n$2\r\nü\r\n` +
        `$100\r\n${"y".repeat(100)}\r\n$1\r\n7\r\n`,
    );
  }
});

Deno.test("CommandWriter.take() leaves what was taken alone until it is given back", () => {
  const writer = new CommandWriter();
  writer.add(["A"]);
  const first = writer.take();
  writer.add(["B"]);
  assertEquals(Buffer.from(first).toString(), "*1\r\n$1\r\nA\r\n");
  writer.reuse(first);
  const second = writer.take();
  writer.add(["C"]);
  assertEquals(Buffer.from(second).toString(), "*1\r\n$1\r\nB\r\n");
  assertEquals(writer.length, 11);
  assertEquals(Buffer.from(writer.take()).toString(), "*1\r\n$1\r\nC\r\n");
});

interface Subject {
  readonly gathering: Gathering;
  readonly clock: FakeClock;
  /** Numbers of commands that were written together. */
  readonly left: number[];
  /** Adds commands to the gathering. */
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
