import { assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { CommandWriter } from "./command_writer.ts";

function textOf(write: (writer: CommandWriter) => void): string {
  const writer = new CommandWriter();
  write(writer);
  return Buffer.from(writer.take()).toString();
}

Deno.test("CommandWriter.add() writes arguments with their lengths in bytes", () => {
  const long = "ä".repeat(60);
  assertEquals(
    textOf((writer) => {
      writer.add(["PING"]);
      writer.add(["SET", Buffer.from("k"), "", "über", long]);
    }),
    "*1\r\n$4\r\nPING\r\n*5\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n" +
      `$5\r\nüber\r\n$120\r\n${long}\r\n`,
  );
});

Deno.test("CommandWriter writes numbers of any length and the parts before them", () => {
  const most = Number.MAX_SAFE_INTEGER;
  for (const number of [0, 9, 10, 2_147_483_647, 2_147_483_648, 1e15, most]) {
    const text = String(number);
    assertEquals(
      textOf((writer) => {
        writer.number(number);
        writer.numbered(Buffer.from("xkeyx"), { start: 1, end: 4, number });
      }),
      `$${text.length}\r\n${text}\r\n$${text.length + 3}\r\nkey${text}\r\n`,
    );
  }
});

Deno.test("CommandWriter grows with what is written, wherever its end is", () => {
  const key = Buffer.alloc(200, "k");
  for (let filler = 16_100; filler < 16_400; filler++) {
    const text = textOf((writer) => {
      writer.raw(new Uint8Array(filler).fill(0x2e));
      writer.numbered(key, { start: 0, end: 200, number: 42 });
      writer.add([key, "short", "ü", "y".repeat(100)]);
      writer.number(7);
    });
    assertEquals(
      text.slice(filler),
      `$202\r\n${key}42\r\n*4\r\n$200\r\n${key}\r\n$5\r\nshort\r\n$2\r\nü\r\n` +
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
