import { assertEquals, assertNotEquals } from "@std/assert";
import { createAccessToken } from "../../../sdk/account.ts";
import type { HttpHeaders } from "../../shared/http/exchange.ts";
import { readCredential } from "./credential.ts";

const KEY = "a1".repeat(32);
const ACCOUNT = `0x${"b2".repeat(32)}`;

function fields(
  values: Readonly<Record<string, string | readonly string[]>> = {},
): HttpHeaders {
  const all = (name: string) =>
    [
      {
        authorization: `Bearer ${KEY}`,
        "x-memwal-account-id": ACCOUNT,
        ...values,
      }[name] ?? [],
    ].flat();
  return { all, get: (name) => all(name)[0] };
}

Deno.test("readCredential() reads key, account and namespace", () => {
  const read = readCredential(fields({ "x-memwal-namespace": "habits" }));
  if (read.kind !== "ok") throw new Error(read.reason);
  assertEquals(read.config, { key: KEY, accountId: ACCOUNT });
  assertEquals(read.namespace, "habits");
  const upper = readCredential(fields({
    authorization: `bearer ${KEY.toUpperCase()}`,
    "x-memwal-account-id": ACCOUNT.toUpperCase().replace("0X", "0x"),
  }));
  assertEquals(upper.kind === "ok" && upper.digest, read.digest);
  const other = readCredential(fields({ "x-memwal-account-id": "0x1" }));
  assertNotEquals(other.kind === "ok" && other.digest, read.digest);
});

Deno.test("readCredential() reads an access token, with or without its account", async () => {
  const { token } = await createAccessToken({
    ...{ key: KEY, accountId: ACCOUNT, access: "read" },
  });
  const authorization = `Bearer ${token}`;
  for (const account of [[], ACCOUNT]) {
    const read = readCredential(
      fields({ authorization, "x-memwal-account-id": account }),
    );
    if (read.kind !== "ok") throw new Error(read.reason);
    assertEquals(read.config, { accessToken: token });
    assertEquals([read.accountId, read.isPrivateKey], [ACCOUNT, false]);
  }
  const other = readCredential(
    fields({ authorization, "x-memwal-account-id": "0x1" }),
  );
  assertEquals(other.kind, "invalid");
  const cut = readCredential(fields({ authorization: `${authorization}.x` }));
  assertEquals(cut.kind, "invalid");
});

Deno.test("readCredential() refuses what is no credential, and does not repeat it", () => {
  const bad = [
    { authorization: "" },
    { authorization: `Bearer ${KEY}00` },
    { authorization: `Basic ${KEY}` },
    { authorization: `Bearer ${"z".repeat(64)}` },
    { authorization: [`Bearer ${KEY}`, `Bearer ${KEY}`] },
    { "x-memwal-account-id": "" },
    { "x-memwal-account-id": "0xyz" },
    { "x-memwal-account-id": `0x${"b2".repeat(33)}` },
    { "x-memwal-namespace": "" },
    { "x-memwal-namespace": "n".repeat(256) },
  ];
  for (const values of bad) {
    const read = readCredential(fields(values));
    assertEquals(read.kind, "invalid", JSON.stringify(values));
    const { reason } = read as { readonly reason: string };
    assertEquals(reason.includes(KEY.slice(0, 8)), false);
    assertEquals(reason.includes("zzzz"), false);
  }
});
