import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { ByteBudget } from "../byte_budget.ts";
import { MessageIntake } from "./message_intake.ts";

const MAX_BYTES = 1_000;

interface IntakeTest {
  readonly intake: MessageIntake;
  readonly budget: ByteBudget;
  readonly emptied: () => number;
}

function intakeOf(budgetBytes = 1_000_000): IntakeTest {
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

function spanOf(bytes: Uint8Array) {
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
    const { intake, budget } = intakeOf();
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
  const { intake, emptied } = intakeOf();
  const one = Uint8Array.of(1);
  assertEquals(intake.append(spanOf(framed(one, one, one))), undefined);
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
  const large = intakeOf();
  assertEquals(
    large.intake.append(spanOf(framed(new Uint8Array(MAX_BYTES + 1)))),
    "too_large",
  );
  const crowded = intakeOf(150);
  const hundred = framed(new Uint8Array(100));
  assertEquals(crowded.intake.append(spanOf(hundred)), undefined);
  assertEquals(crowded.intake.append(spanOf(hundred)), "no_room");
  const empty = intakeOf();
  const many = new Uint8Array(5 * 1_000);
  assertEquals(empty.intake.append(spanOf(many)), undefined);
  assertEquals(empty.intake.append(spanOf(new Uint8Array(5))), "no_room");
  const flagged = intakeOf();
  assertEquals(
    flagged.intake.append(spanOf(Uint8Array.of(2, 0, 0, 0, 0))),
    "bad_flag",
  );
});

Deno.test("MessageIntake.close() ends the iteration and gives all memory back", async () => {
  const { intake, budget } = intakeOf();
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
  assertEquals(intake.append(spanOf(framed(new Uint8Array(100)))), undefined);
  assertEquals(budget.usedBytes, 0);
});
