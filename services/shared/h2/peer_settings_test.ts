import { assert, assertEquals } from "@std/assert";
import { settingsFrame } from "../../../tests/support/h2_frames.ts";
import { DEFAULT_LIMITS } from "./limits.ts";
import { readSettings, serverSettings } from "./peer_settings.ts";

Deno.test("readSettings() reads what it knows and the last of what is told twice", () => {
  const outcome = read([
    [1, 0],
    [1, 8_192],
    [2, 1],
    [3, 7],
    [4, 5],
    [4, 70_000],
    [5, 16_777_215],
    [6, 1],
    [0x99, 0xffff_ffff],
  ]);
  assert(outcome.kind === "ok");
  assertEquals(outcome.change, {
    headerTableBytes: 8_192,
    leastHeaderTableBytes: 0,
    initialWindowBytes: 70_000,
    maxConcurrentStreams: 7,
  });
});

Deno.test("readSettings() refuses values that are not allowed", () => {
  for (
    const [id, value, code] of [
      [2, 2, 1],
      [4, 0x8000_0000, 3],
      [5, 16_383, 1],
      [5, 16_777_216, 1],
    ] as const
  ) assertEquals(read([[id, value]]), { kind: "failed", code });
  const bytes = new Uint8Array(5);
  assertEquals(readSettings({ bytes, start: 0, end: 5 }), {
    kind: "failed",
    code: 6,
  });
});

Deno.test("serverSettings() tells the limits", () => {
  const bytes = serverSettings({ ...DEFAULT_LIMITS, maxConcurrentStreams: 7 });
  const view = new DataView(bytes.buffer);
  const told = new Map<number, number>();
  for (let at = 0; at < bytes.length; at += 6) {
    told.set(view.getUint16(at), view.getUint32(at + 2));
  }
  assertEquals(told.get(3), 7);
  assertEquals(told.get(4), DEFAULT_LIMITS.streamWindowBytes);
  assertEquals(told.get(6), DEFAULT_LIMITS.maxHeaderListBytes);
});

function read(
  settings: readonly (readonly [number, number])[],
): ReturnType<typeof readSettings> {
  const bytes = settingsFrame(settings);
  return readSettings({ bytes, start: 9, end: bytes.length });
}
