import { assertEquals } from "@std/assert";
import { decodeHex } from "../memory/encodings.ts";
import {
  buildIdentity,
  deriveLocalAccountId,
  identityFault,
} from "./memory_identity.ts";

const OWNER = `0x${"a1".repeat(32)}`;
const OTHER = `0x${"b2".repeat(32)}`;

function parseHex(hex: string): Uint8Array {
  return decodeHex(hex) ?? new Uint8Array();
}

Deno.test("buildIdentity() is namespace, owner and count, the count in little-endian", () => {
  assertEquals(
    buildIdentity("hé", { owner: OWNER, accessCounter: 258n }),
    parseHex(`68c3a9${"a1".repeat(32)}0201000000000000`),
  );
  assertEquals(
    buildIdentity("n", { owner: OWNER, accessCounter: undefined }),
    parseHex(`6e${"a1".repeat(32)}`),
  );
});

Deno.test("identityFault() takes the account's namespace in every form, and nothing else", () => {
  const account = { owner: OWNER, accessCounter: 3n };
  const findFault = (id: Uint8Array, namespace = "n") =>
    identityFault(id, { namespace, account });
  const made = (namespace: string, owner: string, accessCounter?: bigint) =>
    buildIdentity(namespace, { owner, accessCounter });
  for (
    const id of [
      ...[made("n", OWNER), made("n", OWNER, 0n), made("n", OWNER, 3n)],
      ...[made("", OWNER), made("", OWNER, 3n)],
    ]
  ) assertEquals(findFault(id), undefined);
  const faults: readonly (readonly [Uint8Array, string])[] = [
    [made("n", OTHER), "it is encrypted for another owner"],
    [made("n", OTHER, 3n), "it is encrypted for another owner"],
    [made("m", OWNER, 3n), "it is encrypted for another namespace"],
    [made("nn", OWNER), "it is encrypted for another namespace"],
    [made("n", OWNER, 4n), "it is encrypted for a time to come"],
    [new Uint8Array(), "it is encrypted for another owner"],
    [made("n", OWNER).subarray(0, 32), "it is encrypted for another owner"],
    [
      Uint8Array.of(...made("n", OWNER, 1n), 0),
      "it is encrypted for another owner",
    ],
  ];
  for (const [id, fault] of faults) assertEquals(findFault(id), fault);
  // An owner's address used as a namespace must not make a longer identity pass
  // as another's.
  const twice = Uint8Array.of(...parseHex("a1".repeat(32)), ...made("", OWNER));
  assertEquals(findFault(twice), "it is encrypted for another namespace");
});

Deno.test("deriveLocalAccountId() is SHA-256 of the word, package and owner, as the embedded ledger has it", async () => {
  assertEquals(
    await deriveLocalAccountId(OTHER, OWNER),
    "0xe81e106200e25b53203f8871be6648b8fb90ddf4d91da5f274751338ece33437",
  );
});
