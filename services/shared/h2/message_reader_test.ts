import { assert, assertEquals } from "@std/assert";
import { messageOf } from "../../../tests/support/h2_frames.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { ByteBudget } from "../byte_budget.ts";
import { type MessageFault, MessageReader } from "./message_reader.ts";

Deno.test("MessageReader puts a message together however it is cut", () => {
  const random = new SeededRandom(6);
  const budget = new ByteBudget(1_000_000);
  for (let round = 0; round < 200; round++) {
    const message = random.bytes(random.below(400));
    const reader = new MessageReader(400, budget);
    const body = messageOf(message);
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
      [messageOf(new Uint8Array(11)), "too_large"],
      [new Uint8Array([...messageOf(Uint8Array.of(1)), 0]), "several"],
      [new Uint8Array([...messageOf(new Uint8Array(0)), 0]), "several"],
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
  append(reader, messageOf(new Uint8Array(900_000)).subarray(0, 25));
  assert(budget.usedBytes < 100, `${budget.usedBytes} bytes are kept`);
});

Deno.test("MessageReader stops where the budget ends", () => {
  const budget = new ByteBudget(100);
  const reader = new MessageReader(1_000, budget);
  const body = messageOf(new Uint8Array(500));
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
