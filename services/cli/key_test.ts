import { assertEquals, assertMatch } from "@std/assert";
import { delegateKeyToPublicKey } from "../../sdk/memory/private_key.ts";
import { runKey } from "./key.ts";

async function play(args: readonly string[]) {
  const texts = { out: "", err: "" };
  const code = await runKey(args, {
    out: (text) => texts.out += text,
    err: (text) => texts.err += text,
  });
  return { code, ...texts };
}

Deno.test("runKey() writes a private key and the public key that belongs to it when new is asked for", async () => {
  const { code, out } = await play(["new", "--json"]);
  assertEquals(code, 0);
  const { privateKey, publicKey, address } = JSON.parse(out);
  assertMatch(address, /^0x[0-9a-f]{64}$/);
  assertEquals((await delegateKeyToPublicKey(privateKey)).toHex(), publicKey);
});

Deno.test("runKey() refuses other words", async () => {
  const { code, err } = await play(["old"]);
  assertEquals(code, 2);
  assertMatch(err, /there is no such command/);
});
