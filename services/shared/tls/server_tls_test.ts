import { assert, assertEquals } from "@std/assert";
import { createTestAuthority } from "../../../tests/support/test_certificates.ts";
import { prepareServerTls, type ServerTlsTexts } from "./server_tls.ts";

const authority = createTestAuthority();
const { certPem: cert, keyPem: key } = authority.issue("a.test");

function problemOf(texts: ServerTlsTexts): string | undefined {
  const outcome = prepareServerTls(texts);
  return outcome.kind === "unusable" ? outcome.problem : undefined;
}

Deno.test("prepareServerTls() takes a certificate with its key and tells its end", () => {
  const outcome = prepareServerTls({ cert: cert + authority.caPem, key });
  assert(outcome.kind === "usable");
  const leftMs = outcome.tls.notAfter.getTime() - Date.now();
  assert(leftMs > 80_000_000 && leftMs <= 86_400_000, `${leftMs}`);
});

Deno.test("prepareServerTls() takes several authorities of clients", () => {
  const clientCa = "Ours:\n" + authority.caPem + createTestAuthority().caPem;
  assertEquals(problemOf({ cert, key, clientCa }), undefined);
});

Deno.test("prepareServerTls() tells what is wrong without a word of the key", () => {
  const other = authority.issue("b.test").keyPem;
  const half = authority.caPem.slice(0, 200);
  const unreadable = "Cannot use certificate: it or its key is not readable " +
    "as PEM";
  const noAuthorities = "Cannot use certificate: the authorities of clients " +
    "are not readable as PEM";
  assertEquals(problemOf({ cert: "", key }), unreadable);
  assertEquals(problemOf({ cert, key: key.slice(0, 90) }), unreadable);
  assertEquals(problemOf({ cert: key, key }), unreadable);
  assertEquals(
    problemOf({ cert, key: other }),
    "Cannot use certificate: the key is that of another certificate",
  );
  for (const clientCa of ["", "no certificate", key, authority.caPem + half]) {
    assertEquals(problemOf({ cert, key, clientCa }), noAuthorities);
  }
});
