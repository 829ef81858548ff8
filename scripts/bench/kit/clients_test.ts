import { assertEquals, assertThrows } from "@std/assert";
import { readH2Load, readWrk } from "./clients.ts";

Deno.test("readH2Load() tells calls and rate, and refuses failures", () => {
  const line = (failed: number, done: number): string =>
    `finished in 3.00s, 84778.67 req/s, 4.13MB/s
requests: ${done} total, ${done} started, ${done} done, ${done} succeeded, ` +
    `${failed} failed, ${failed} errored, 0 timeout\nstatus codes: 2xx`;
  const seconds = 3;
  const told = { calls: 300, perSecond: 100 };
  assertEquals(readH2Load(line(0, 300), { seconds }), told);
  assertThrows(() => readH2Load(line(1, 300), { seconds }), Error, "1 failed");
  assertThrows(() => readH2Load("refused", { seconds }), Error, "refused");
});

Deno.test("readWrk() tells rate and latencies, and refuses failures", () => {
  const line = (bad: number): string =>
    "Running 3s test\n" +
    `{"count":300,"us":3000000,"bad":${bad},"p50Us":1500,"p99Us":4000}\n`;
  assertEquals(readWrk(line(0)), {
    ...{ calls: 300, perSecond: 100, p50Ms: 1.5, p99Ms: 4 },
  });
  assertThrows(() => readWrk(line(5)), Error, '"bad":5');
  assertThrows(() => readWrk(""), Error, "wrk told");
  const none = line(0).replace("300,", "0,");
  assertThrows(() => readWrk(none), Error, "wrk told");
  assertEquals(readWrk(none, { takesRefusals: true }).perSecond, 0);
});
