import { assert, assertEquals } from "@std/assert";
import { connect as connectTls } from "node:tls";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import {
  createTestAuthority,
  type TestCertificate,
} from "../../../tests/support/test_certificates.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import type { HttpHandler } from "../http/exchange.ts";
import { RawClient } from "../http1/testing/raw_client.ts";
import { echo, withTestServer } from "../http1/testing/test_server.ts";
import { prepareServerTls, type ServerTls } from "./server_tls.ts";

const WHOLE = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";

function prepareTls({ certPem, keyPem }: TestCertificate): ServerTls {
  const outcome = prepareServerTls({ cert: certPem, key: keyPem });
  assert(outcome.kind === "usable");
  return outcome.tls;
}

async function secureClient(port: number, ca: string): Promise<RawClient> {
  const connection = await Deno.connectTls({
    hostname: "127.0.0.1",
    port,
    caCerts: [ca],
    alpnProtocols: ["http/1.1"],
  });
  return new RawClient(connection);
}

/** The names in the certificate that a new connection is shown. */
function shownNames(port: number): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const socket = connectTls(
      { host: "127.0.0.1", port, rejectUnauthorized: false },
      () => {
        resolve(socket.getPeerCertificate().subjectaltname);
        socket.destroy();
      },
    );
    socket.once("error", reject);
  });
}

Deno.test("Http1Server speaks TLS", async () => {
  const authority = createTestAuthority();
  const tls = prepareTls(authority.issue("127.0.0.1"));
  const large = "x".repeat(3_000_000);
  const handler: HttpHandler = async (request) => {
    assertEquals(request.isTls, true);
    assertEquals(request.peer.address, "127.0.0.1");
    const body = await request.body(4_000_000);
    assert(body.kind === "ok");
    return { status: 200, headers: {}, body: body.bytes };
  };
  await withTestServer(
    { handler, tls: () => tls },
    async ({ port }) => {
      using client = await secureClient(port, authority.caPem);
      for (const body of ["hello", large, ""]) {
        await client.send(
          `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n`,
        );
        await client.send(body);
        assertEquals((await client.answer()).body === body, true);
      }
      await client.send(
        `POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n` +
          `content-length: ${large.length}\r\n\r\n${large}`,
      );
      assertEquals((await client.answer()).body.length, large.length);
      assertEquals(await client.rest(), "");
    },
  );
});

Deno.test("Http1Server shows a new certificate to later connections alone", async () => {
  const authority = createTestAuthority();
  let current = prepareTls(authority.issue("127.0.0.1"));
  await withTestServer(
    { handler: echo, tls: () => current },
    async ({ port }) => {
      using kept = await secureClient(port, authority.caPem);
      await kept.send(WHOLE);
      await kept.answer();
      assertEquals(await shownNames(port), "IP Address:127.0.0.1");
      current = prepareTls(authority.issue("localhost"));
      assertEquals(await shownNames(port), "DNS:localhost");
      await kept.send(WHOLE);
      assertEquals((await kept.answer()).status, 200);
    },
  );
});

Deno.test("Http1Server closes a TLS connection that is none or takes too long", async () => {
  const authority = createTestAuthority();
  const tls = prepareTls(authority.issue("127.0.0.1"));
  const clock = new FakeClock();
  await withTestServer(
    { handler: echo, clock, tls: () => tls },
    async ({ connect, server, port }) => {
      const plain = await connect();
      await plain.send(WHOLE);
      await plain.rest();
      const silent = await connect();
      const torn = await connect();
      // The beginning of a handshake, which announces 512 bytes.
      await torn.send("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03");
      const gone = await RawClient.connect(port);
      await gone.send("\x16\x03\x01\x02\x00\x01");
      gone.close();
      using client = await secureClient(port, authority.caPem);
      await client.send(WHOLE);
      assertEquals((await client.answer()).status, 200);
      await waitUntil(() => server.connections === 3, { what: "the gone" });
      await clock.advanceAsync(10_200);
      assertEquals(await silent.rest(), "");
      await torn.rest();
      await waitUntil(() => server.connections === 1, { what: "the end" });
    },
  );
});

Deno.test("Http1Server notices the end of a TLS client", async () => {
  const authority = createTestAuthority();
  const tls = prepareTls(authority.issue("127.0.0.1"));
  const asked = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<void>();
  const handler: HttpHandler = async (request) => {
    request.onGone(gone.resolve);
    asked.resolve();
    await gone.promise;
    return { status: 204, headers: {} };
  };
  await withTestServer(
    { handler, tls: () => tls },
    async ({ port, server }) => {
      const client = await secureClient(port, authority.caPem);
      await client.send(WHOLE);
      await asked.promise;
      client.close();
      await gone.promise;
      await waitUntil(() => server.connections === 0, { what: "the end" });
    },
  );
});

Deno.test("Http1Server.stop() ends TLS connections too", async () => {
  const authority = createTestAuthority();
  const tls = prepareTls(authority.issue("127.0.0.1"));
  await withTestServer(
    { handler: echo, tls: () => tls },
    async ({ port, server }) => {
      using client = await secureClient(port, authority.caPem);
      await client.send(WHOLE);
      await client.answer();
      await server.stop(60_000);
      await client.rest().catch(() => "");
      await waitUntil(() => server.connections === 0, { what: "the end" });
    },
  );
});
