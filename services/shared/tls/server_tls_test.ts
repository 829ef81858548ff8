import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { generateKeyPairSync } from "node:crypto";
import { connect } from "node:tls";
import {
  createTestAuthority,
  type TestKeys,
} from "../../../tests/support/test_certificates.ts";
import { acceptTls } from "./tls_wire.ts";
import { prepareServerTls, type ServerTlsTexts } from "./server_tls.ts";

const authority = createTestAuthority();
const { certPem: cert, keyPem: key } = authority.issue("a.test");

function findProblem(texts: ServerTlsTexts): string | undefined {
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
  assertEquals(findProblem({ cert, key, clientCa }), undefined);
});

Deno.test("prepareServerTls() tells what is wrong without a word of the key", () => {
  const other = authority.issue("b.test").keyPem;
  const half = authority.caPem.slice(0, 200);
  const unreadable = "Cannot use certificate: it or its key is not readable " +
    "as PEM";
  const noAuthorities = "Cannot use certificate: the authorities of clients " +
    "are not readable as PEM";
  assertEquals(findProblem({ cert: "", key }), unreadable);
  assertEquals(findProblem({ cert, key: key.slice(0, 90) }), unreadable);
  assertEquals(findProblem({ cert: key, key }), unreadable);
  assertEquals(
    findProblem({ cert, key: other }),
    "Cannot use certificate: the key is that of another certificate",
  );
  for (const clientCa of ["", "no certificate", key, authority.caPem + half]) {
    assertEquals(findProblem({ cert, key, clientCa }), noAuthorities);
  }
});

/** A handshake with a certificate of these keys; undefined when it can't be. */
async function handshakeWith(
  keys: TestKeys,
): Promise<string | undefined> {
  const { certPem, keyPem } = authority.issue("a.test", { keys });
  const outcome = prepareServerTls({ cert: certPem, key: keyPem });
  if (outcome.kind === "unusable") {
    assertStringIncludes(outcome.problem, "of a kind that TLS does not take");
    return undefined;
  }
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const client = connect({
    host: "127.0.0.1",
    port: listener.addr.port,
    ca: authority.caPem,
    servername: "a.test",
    ALPNProtocols: ["h2"],
  });
  const closed = new Promise((resolve) => client.once("close", resolve));
  client.on("error", () => {});
  const wire = acceptTls(await listener.accept(), {
    tls: outcome.tls,
    protocols: ["h2"],
  });
  await wire.opened();
  const { alpnProtocol } = wire;
  client.destroy();
  wire.close();
  await closed;
  return alpnProtocol;
}

Deno.test("prepareServerTls() takes the kinds of keys with which handshakes succeed, and no others", async () => {
  const curve = (namedCurve: string) =>
    generateKeyPairSync("ec", { namedCurve });
  const rsa = (modulusLength: number) =>
    generateKeyPairSync("rsa", { modulusLength });
  for (
    const keys of [
      rsa(2_048),
      curve("prime256v1"),
      curve("secp384r1"),
      curve("secp521r1"),
      generateKeyPairSync("ed25519"),
    ]
  ) assertEquals(await handshakeWith(keys), "h2");
  for (const keys of [rsa(1_024), curve("secp224r1")]) {
    assertEquals(await handshakeWith(keys), undefined);
  }
});

Deno.test("acceptTls() ends a connection whose certificate the runtime refuses", async () => {
  const keys = generateKeyPairSync("rsa", { modulusLength: 1_024 });
  const { certPem, keyPem } = authority.issue("a.test", { keys });
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  using client = await Deno.connect({
    hostname: "127.0.0.1",
    port: listener.addr.port,
  });
  const wire = acceptTls(await listener.accept(), {
    tls: {
      cert: certPem,
      key: keyPem,
      notBefore: new Date(),
      notAfter: new Date(),
    },
    protocols: ["h2"],
  });
  await assertRejects(() => wire.opened(), Error, "TLS refuses it");
  const ended = await client.read(new Uint8Array(1)).catch(() => null);
  assertEquals(ended, null);
});
