import { assert, assertEquals } from "@std/assert";
import { encodeMessage } from "../../../tests/support/h2_frames.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { ByteBudget } from "../connection_memory.ts";
import { type MessageFault, MessageIntake, MessageReader } from "./messages.ts";

Deno.test("MessageReader puts a message together however it is cut", () => {
  const random = new SeededRandom(6);
  const budget = new ByteBudget(1_000_000);
  for (let round = 0; round < 200; round++) {
    const message = random.bytes(random.below(400));
    const reader = new MessageReader(400, budget);
    const body = encodeMessage(message);
    for (let at = 0; at < body.length;) {
      assertEquals(reader.message, undefined);
      const end = Math.min(body.length, at + 1 + random.below(50));
      assertEquals(append(reader, body.subarray(at, end)), undefined);
      at = end;
    }
    assertEquals(reader.message, message);
    reader.release();
  }
  assertEquals(budget.usedBytes, 0);
});

Deno.test("MessageReader tells faults as soon as they show", () => {
  const over = new Uint8Array([0, 0, 0, 0, 11]);
  for (
    const [bytes, fault] of [
      [Uint8Array.of(1), "compressed"],
      [Uint8Array.of(2), "bad_flag"],
      [over, "too_large"],
      [encodeMessage(new Uint8Array(11)), "too_large"],
      [new Uint8Array([...encodeMessage(Uint8Array.of(1)), 0]), "several"],
      [new Uint8Array([...encodeMessage(new Uint8Array(0)), 0]), "several"],
    ] as const
  ) {
    const budget = new ByteBudget(1_000);
    const reader = new MessageReader(10, budget);
    assertEquals(append(reader, bytes), fault);
    reader.release();
    assertEquals(budget.usedBytes, 0);
  }
});

Deno.test("MessageReader keeps what has come, not what is announced", () => {
  const budget = new ByteBudget(1_000_000);
  const reader = new MessageReader(1_000_000, budget);
  append(reader, encodeMessage(new Uint8Array(900_000)).subarray(0, 25));
  assert(budget.usedBytes < 100, `${budget.usedBytes} bytes are kept`);
});

Deno.test("MessageReader stops where the budget ends", () => {
  const budget = new ByteBudget(100);
  const reader = new MessageReader(1_000, budget);
  const body = encodeMessage(new Uint8Array(500));
  assertEquals(append(reader, body.subarray(0, 85)), undefined);
  assertEquals(append(reader, body.subarray(85, 205)), "no_room");
  reader.release();
  assertEquals(budget.usedBytes, 0);
});

function append(
  reader: MessageReader,
  bytes: Uint8Array,
): MessageFault | undefined {
  return reader.append({ bytes, start: 0, end: bytes.length });
}

const MAX_BYTES = 1_000;

interface IntakeTest {
  readonly intake: MessageIntake;
  readonly budget: ByteBudget;
  readonly emptied: () => number;
}

function createIntake(budgetBytes = 1_000_000): IntakeTest {
  const budget = new ByteBudget(budgetBytes);
  let emptied = 0;
  const intake = new MessageIntake({
    maxBytes: MAX_BYTES,
    budget,
    onEmpty: () => emptied++,
  });
  return { intake, budget, emptied: () => emptied };
}

function framed(...messages: readonly Uint8Array[]): Uint8Array {
  const parts = messages.flatMap((message) => {
    const prefix = new Uint8Array(5);
    new DataView(prefix.buffer).setUint32(1, message.length);
    return [...prefix, ...message];
  });
  return Uint8Array.from(parts);
}

function toSpan(bytes: Uint8Array) {
  return { bytes, start: 0, end: bytes.length };
}

async function all(intake: MessageIntake): Promise<readonly number[][]> {
  const messages: number[][] = [];
  for await (const message of intake.messages()) messages.push([...message]);
  return messages;
}

Deno.test("MessageIntake gives the same messages however the bytes are cut", async () => {
  const seeded = new SeededRandom(14);
  const random = (): number => seeded.next();
  for (let round = 0; round < 100; round++) {
    const { intake, budget } = createIntake();
    const messages = Array.from(
      { length: 1 + Math.floor(random() * 20) },
      () => new Uint8Array(Math.floor(random() * 40)).fill(random() * 256),
    );
    const bytes = framed(...messages);
    const got = all(intake);
    for (let at = 0; at < bytes.length;) {
      const to = Math.min(bytes.length, at + 1 + Math.floor(random() * 30));
      assertEquals(intake.append({ bytes, start: at, end: to }), undefined);
      at = to;
      if (random() < 0.2) await Promise.resolve();
    }
    assertEquals(intake.isBetween, true);
    intake.end();
    assertEquals(await got, messages.map((message) => [...message]));
    assertEquals(budget.usedBytes, 0);
  }
});

Deno.test("MessageIntake tells when no message waits", async () => {
  const { intake, emptied } = createIntake();
  const one = Uint8Array.of(1);
  assertEquals(intake.append(toSpan(framed(one, one, one))), undefined);
  assertEquals(intake.isEmpty, false);
  const messages = intake.messages();
  await messages.next();
  await messages.next();
  assertEquals(emptied(), 0);
  await messages.next();
  assertEquals([emptied(), intake.isEmpty], [1, true]);
  intake.close();
  assertEquals((await messages.next()).done, true);
});

Deno.test("MessageIntake keeps no more than it may", () => {
  const large = createIntake();
  assertEquals(
    large.intake.append(toSpan(framed(new Uint8Array(MAX_BYTES + 1)))),
    "too_large",
  );
  const crowded = createIntake(150);
  const hundred = framed(new Uint8Array(100));
  assertEquals(crowded.intake.append(toSpan(hundred)), undefined);
  assertEquals(crowded.intake.append(toSpan(hundred)), "no_room");
  const empty = createIntake();
  const many = new Uint8Array(5 * 1_000);
  assertEquals(empty.intake.append(toSpan(many)), undefined);
  assertEquals(empty.intake.append(toSpan(new Uint8Array(5))), "no_room");
  const flagged = createIntake();
  assertEquals(
    flagged.intake.append(toSpan(Uint8Array.of(2, 0, 0, 0, 0))),
    "bad_flag",
  );
});

Deno.test("MessageIntake.close() ends the iteration and gives all memory back", async () => {
  const { intake, budget } = createIntake();
  const bytes = framed(new Uint8Array(100), new Uint8Array(100));
  assertEquals(
    intake.append({ bytes, start: 0, end: bytes.length - 1 }),
    undefined,
  );
  assert(budget.usedBytes > 0);
  assertEquals(intake.isBetween, false);
  intake.close();
  intake.close();
  assertEquals(budget.usedBytes, 0);
  assertEquals(await all(intake), []);
  assertEquals(intake.append(toSpan(framed(new Uint8Array(100)))), undefined);
  assertEquals(budget.usedBytes, 0);
});
