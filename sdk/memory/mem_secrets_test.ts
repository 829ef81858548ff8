import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { FakeClock } from "../../tests/support/fake_clock.ts";
import { encodeHex } from "./encodings.ts";
import { Mem } from "./mem.ts";
import { ALL_CALLS } from "./testing/all_calls.ts";
import { StubRelayer } from "./testing/stub_relayer.ts";

const SEED = Uint8Array.from({ length: 32 }, (_, index) => 160 + index);
const HEX = encodeHex(SEED);
const ENCODED =
  "suiprivkey1qqrswpc8qurswpc8qurswpc8qurswpc8qurswpc8qurswpc8qurswxzszc4";

/** Returns the forms that a log or a crash report may write a value in. */
function everyForm(value: unknown): string {
  const forms = [
    String(value),
    JSON.stringify(value),
    Deno.inspect(value, { depth: 20, showHidden: true, getters: true }),
    ...(value instanceof Error
      ? [value.stack ?? "", everyForm(value.cause)]
      : [JSON.stringify({ ...Object(value) })]),
  ];
  return forms.join("\n");
}

function checkSecret(value: unknown, secrets: readonly string[]): void {
  const form = everyForm(value).toLowerCase();
  for (const secret of secrets) {
    // A part of the key must not appear either.
    for (let at = 0; at + 12 <= secret.length; at++) {
      const part = secret.slice(at, at + 12).toLowerCase();
      assertEquals(form.includes(part), false, `"${part}" is in ${form}`);
    }
  }
}

Deno.test("Mem shows no key when it is printed, spread, cloned or written as JSON", async () => {
  const { fetch } = new StubRelayer();
  for (const key of [HEX, `0x${HEX}`, SEED]) {
    const mem = Mem.create({ key, accountId: "0xa", fetch });
    checkSecret(mem, [HEX, SEED.join(", ")]);
    checkSecret(structuredClone(mem), [HEX, SEED.join(", ")]);
    await mem.getPublicKeyHex();
    checkSecret(mem, [HEX, SEED.join(", ")]);
    assertEquals(JSON.stringify(mem), "{}");
    assertEquals(structuredClone({ mem }), { mem: {} as unknown as Mem });
    mem.destroy();
  }
});

Deno.test("Mem leaves the caller's bytes of the key alone", () => {
  const key = SEED.slice();
  Mem.create({ key, accountId: "0xa" }).destroy();
  assertEquals(key, SEED);
});

Deno.test("Mem.create() shows no key in what it says of a bad one", () => {
  for (
    const key of [HEX + "aa", HEX.slice(2), `${HEX.slice(0, 62)}zz`, `x${HEX}`]
  ) {
    const error = assertThrows(
      () => Mem.create({ key, accountId: "0xa" }),
      TypeError,
    );
    checkSecret(error, [HEX]);
  }
  const slip = `${ENCODED.slice(0, -1)}5`;
  checkSecret(
    assertThrows(() => Mem.create({ key: slip, accountId: "0xa" }), TypeError),
    [ENCODED.slice("suiprivkey".length)],
  );
  const short = SEED.subarray(1);
  checkSecret(
    assertThrows(() => Mem.create({ key: short, accountId: "0xa" }), TypeError),
    [SEED.join(", "), SEED.join(",")],
  );
});

Deno.test("Mem shows no key in the error of any call, however it fails", async () => {
  const scripts = [
    { status: 401, json: {} },
    { status: 500, json: { error: "oops" } },
    { status: 200, json: { odd: true } },
    { error: new TypeError("connection reset") },
  ];
  for (const script of scripts) {
    const stub = new StubRelayer();
    const version = stub.fetch;
    const failing = new StubRelayer();
    const mem = Mem.create({
      key: HEX,
      accountId: "0xa",
      clock: new FakeClock(),
      fetch: async (url, init) => {
        const { pathname } = new URL(url);
        if (pathname === "/version") return await version(url, init);
        failing.on(`${init.method} ${pathname}`, script);
        return await failing.fetch(url, init);
      },
    });
    for (const [name, call] of ALL_CALLS) {
      // Waits do not end with such an error, and the other calls show it as
      // well.
      if (/wait|compatibility/i.test(name)) continue;
      checkSecret(await assertRejects(() => call(mem)), [HEX]);
    }
    mem.destroy();
  }
});
