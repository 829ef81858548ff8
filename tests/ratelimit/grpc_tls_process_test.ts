import { assert, assertEquals } from "@std/assert";
import { connect as connectTls, type ConnectionOptions } from "node:tls";
import { grpcTlsFaults } from "../../services/ratelimit/grpc_tls.ts";
import {
  type RatelimitProcess,
  runRatelimit,
  startRatelimit,
} from "../support/ratelimit_process.ts";
import {
  createTestAuthority,
  type TestCertificate,
} from "../support/test_certificates.ts";
import { waitUntil } from "../support/wait_until.ts";
import { ConfigFolder } from "./config_folder.ts";
import { CODES, type GrpcCaller, grpcCaller, STATUS } from "./grpc_caller.ts";
import { GrpcTlsFiles } from "./grpc_tls_files.ts";
import { readRefusal } from "./refused_settings.ts";
import { createRequest, dailyRule } from "./requests.ts";
import { serveHere } from "./service_here.ts";

const FILES = {
  "rules.yaml": dailyRule("tls", { key: "user", limit: 1_000_000 }),
};
/** The first bytes of an HTTP/2 client, with empty SETTINGS. */
const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
const REQUEST = createRequest("tls", { user: "anybody" });

async function startWith(
  folder: ConfigFolder,
  env: Readonly<Record<string, string>>,
): Promise<RatelimitProcess> {
  return await startRatelimit({ env: { RUNTIME_ROOT: folder.root, ...env } });
}

/** Requests a decision over a connection of its own; returns the status. */
async function decideOnce(
  target: string,
  tls: Parameters<typeof grpcCaller>[1],
): Promise<number> {
  await using caller = await grpcCaller(target, tls);
  return (await caller.decide(REQUEST)).status;
}

/**
 * Runs `use` with a gRPC client that is closed before the service stops; see
 * {@linkcode lastWords} for the reason.
 */
async function withCaller(
  service: RatelimitProcess,
  files: GrpcTlsFiles,
  use: (caller: GrpcCaller) => Promise<void>,
): Promise<void> {
  await using caller = await grpcCaller(service.grpcTarget, files.authority);
  await use(caller);
}

async function assertDecides(caller: GrpcCaller): Promise<void> {
  const { status, overallCode, details } = await caller.decide(REQUEST);
  assertEquals([status, overallCode, details], [STATUS.OK, CODES.OK, ""]);
}

/**
 * Returns whether a connection with that certificate receives no HTTP/2
 * settings.
 */
async function isRefused(
  target: string,
  certificate: TestCertificate | undefined,
): Promise<boolean> {
  const settings = "\0\0\x12\x04";
  const told = await lastWords(target, {
    cert: certificate?.certPem,
    key: certificate?.keyPem,
  }, { until: settings });
  return !told.startsWith(settings);
}

/** Returns the names in the certificate that a new connection is shown. */
function shownName(target: string): Promise<string | undefined> {
  const [host = "", port = ""] = target.split(":");
  return new Promise((resolve, reject) => {
    const socket = connectTls({
      host,
      port: Number(port),
      rejectUnauthorized: false,
      ALPNProtocols: ["h2"],
    }, () => {
      resolve(socket.getPeerCertificate().subjectaltname);
      socket.destroy();
    });
    socket.once("error", reject);
  });
}

Deno.test("ratelimit speaks TLS with GRPC_SERVER_USE_TLS, and nothing else on that port", async () => {
  await using folder = await ConfigFolder.make(FILES);
  await using files = await GrpcTlsFiles.make();
  await using service = await startWith(folder, files.env);
  const { caPem } = files.authority;
  const line = await service.waitForLine("Listening for gRPC");
  assert(line.includes(" with TLS"), line);
  assertEquals(await decideOnce(service.grpcTarget, { caPem }), STATUS.OK);
  const [hostname = "", port = ""] = service.grpcTarget.split(":");
  using plain = await Deno.connect({ hostname, port: Number(port) });
  await plain.write(new TextEncoder().encode(PREFACE));
  assertEquals(await plain.read(new Uint8Array(64)).catch(() => null), null);
  await service.waitForLine("A TLS handshake failed");
  assertEquals(await decideOnce(service.grpcTarget, { caPem }), STATUS.OK);
  assertEquals(await service.stop(), 0);
});

Deno.test("ratelimit refuses TLS clients without h2 and tells them why", async () => {
  await using folder = await ConfigFolder.make(FILES);
  await using files = await GrpcTlsFiles.make();
  await using service = await serveHere({
    RUNTIME_ROOT: folder.root,
    ...files.env,
  });
  const told = await lastWords(service.grpcTarget, { ALPNProtocols: [] });
  assert(told.includes('the client does not offer "h2" (ALPN)'), told);
  const line = await service.waitForLine("Refused a TLS connection");
  assert(line.includes("ALPN"), line);
  assertEquals(await service.stop(), 0);
});

Deno.test("ratelimit asks for a certificate of GRPC_CLIENT_TLS_CACERT", async () => {
  await using folder = await ConfigFolder.make(FILES);
  await using files = await GrpcTlsFiles.make();
  await using service = await serveHere({
    RUNTIME_ROOT: folder.root,
    ...files.mutualEnv,
  });
  const { caPem } = files.authority;
  const own = files.clients.issue("client.test");
  assertEquals(await decideOnce(service.grpcTarget, { caPem, own }), STATUS.OK);

  const dayMs = 86_400_000;
  const certificates: Readonly<
    Record<string, TestCertificate | undefined>
  > = {
    // The authority that signs the server's certificate is not trusted for
    // clients.
    stranger: files.authority.issue("client.test"),
    none: undefined,
    unknown: createTestAuthority("Client authority").issue("client.test"),
    expired: files.clients.issue("client.test", {
      fromMs: Date.now() - 2 * dayMs,
      toMs: Date.now() - dayMs,
    }),
    early: files.clients.issue("client.test", {
      fromMs: Date.now() + dayMs,
      toMs: Date.now() + 2 * dayMs,
    }),
  };
  for (const [name, certificate] of Object.entries(certificates)) {
    const refused = await isRefused(service.grpcTarget, certificate);
    assertEquals([name, refused], [name, true]);
  }
  const line = await service.waitForLine("A TLS handshake failed");
  assert(line.includes("certificate of the client is not trusted"), line);
  assertEquals(await service.stop(), 0);
});

Deno.test("ratelimit trusts the authorities of a file that is replaced", async () => {
  await using folder = await ConfigFolder.make(FILES);
  await using files = await GrpcTlsFiles.make();
  await using service = await startWith(folder, files.mutualEnv);
  const { caPem } = files.authority;
  const next = createTestAuthority("Next authority");
  const [old, own] = [files.clients, next].map((one) =>
    one.issue("client.test")
  );
  const isServed = async (certificate: TestCertificate | undefined) =>
    !await isRefused(service.grpcTarget, certificate);
  assertEquals([await isServed(old), await isServed(own)], [true, false]);
  await files.replace("clients.pem", next.caPem);
  service.signal("SIGHUP");
  await waitUntil(() => isServed(own), { what: "the new authority" });
  assertEquals(await isServed(old), false);
  assertEquals(await decideOnce(service.grpcTarget, { caPem, own }), STATUS.OK);
  assertEquals(await service.stop(), 0);
});

Deno.test("ratelimit asks for the name of GRPC_CLIENT_TLS_SAN", async () => {
  await using folder = await ConfigFolder.make(FILES);
  await using files = await GrpcTlsFiles.make();
  await using service = await serveHere({
    RUNTIME_ROOT: folder.root,
    ...files.mutualEnv,
    GRPC_CLIENT_TLS_SAN: "envoy.mesh.test",
  });
  const { caPem } = files.authority;
  for (const name of ["envoy.mesh.test", "*.mesh.test", "ENVOY.mesh.test"]) {
    const own = files.clients.issue(name);
    const status = await decideOnce(service.grpcTarget, { caPem, own });
    assertEquals([name, status], [name, STATUS.OK]);
  }
  for (
    const name of ["envoy.mesh.test.evil", "mesh.test", "*.test", "127.0.0.1"]
  ) {
    const { certPem: cert, keyPem: key } = files.clients.issue(name);
    const told = await lastWords(service.grpcTarget, { cert, key });
    assert(told.includes("certificate of the client is for another"), told);
  }
  const line = await service.waitForLine("Refused a TLS connection");
  assert(line.includes("for another name"), line);
  assertEquals(await service.stop(), 0);
});

Deno.test("ratelimit shows a replaced certificate to new connections and keeps the old ones", async () => {
  await using folder = await ConfigFolder.make(FILES);
  await using files = await GrpcTlsFiles.make();
  await using service = await startWith(folder, {
    ...files.env,
    LOG_LEVEL: "info",
  });
  const { authority } = files;
  await withCaller(service, files, async (caller) => {
    await assertDecides(caller);
    const shows = (name: string) =>
      waitUntil(async () => await shownName(service.grpcTarget) === name, {
        what: `the certificate of ${name}`,
        timeoutMs: 10_000,
      });

    // Replaces each file by a rename.
    await files.writePair(authority.issue("one.test"));
    await shows("DNS:one.test");
    await assertDecides(caller);

    // Overwrites the files in place and sends SIGHUP.
    const two = authority.issue("two.test");
    await Deno.writeTextFile(`${files.path}/cert.pem`, two.certPem);
    await Deno.writeTextFile(`${files.path}/key.pem`, two.keyPem);
    service.signal("SIGHUP");
    await shows("DNS:two.test");
    await assertDecides(caller);

    // A certificate whose key has not been replaced yet is not used, and this
    // is logged once.
    const three = authority.issue("three.test");
    await files.replace("cert.pem", three.certPem);
    const told = "Cannot use the new certificate files";
    const line = await service.waitForLine(told);
    assert(line.includes("the key is that of another certificate"), line);
    assertEquals(await shownName(service.grpcTarget), "DNS:two.test");
    await files.replace("key.pem", three.keyPem);
    await shows("DNS:three.test");
    assertEquals(service.lines.filter((one) => one.includes(told)).length, 1);
    await assertDecides(caller);
  });
  assertEquals(await service.stop(), 0);
});

Deno.test("ratelimit sees certificates that are swapped as Kubernetes does it", async () => {
  await using folder = await ConfigFolder.make(FILES);
  await using files = await GrpcTlsFiles.make();
  const { authority, path } = files;
  const writeVersion = async (version: string): Promise<void> => {
    const { certPem, keyPem } = authority.issue(`${version}.test`);
    await Deno.mkdir(`${path}/..${version}`);
    await Deno.writeTextFile(`${path}/..${version}/tls.crt`, certPem);
    await Deno.writeTextFile(`${path}/..${version}/tls.key`, keyPem);
    await folder.swapLink(`${path}/..data`, `..${version}`);
  };
  await writeVersion("first");
  await Deno.symlink("..data/tls.crt", `${path}/tls.crt`);
  await Deno.symlink("..data/tls.key", `${path}/tls.key`);
  await using service = await serveHere({
    RUNTIME_ROOT: folder.root,
    GRPC_SERVER_USE_TLS: "true",
    GRPC_SERVER_TLS_CERT: `${path}/tls.crt`,
    GRPC_SERVER_TLS_KEY: `${path}/tls.key`,
  });
  for (const version of ["first", "second", "third"]) {
    if (version !== "first") {
      await writeVersion(version);
    }
    await waitUntil(
      async () => await shownName(service.grpcTarget) === `DNS:${version}.test`,
      { what: `the ${version} certificate`, timeoutMs: 10_000 },
    );
  }
  assertEquals(await service.stop(), 0);
});

Deno.test("ratelimit refuses a start whose TLS settings don't go together", async () => {
  await using files = await GrpcTlsFiles.make();
  await files.replace("other.pem", files.authority.issue("a.test").keyPem);
  const cannot = "Cannot speak TLS on the gRPC listener: ";
  for (
    const [env, text] of [
      [{ GRPC_SERVER_TLS_KEY: "" }, "GRPC_SERVER_TLS_KEY must name a file"],
      [{ GRPC_SERVER_TLS_CERT: "/nothing.pem" }, '"/nothing.pem": there is no'],
      [{ GRPC_SERVER_TLS_CERT: files.path }, "it is not a file"],
      [
        { GRPC_SERVER_TLS_KEY: `${files.path}/other.pem` },
        "the key is that of another certificate",
      ],
      [
        { GRPC_CLIENT_TLS_SAN: "a.test" },
        "GRPC_CLIENT_TLS_CACERT must name a file",
      ],
      [
        { GRPC_CLIENT_TLS_CACERT: `${files.path}/other.pem` },
        "the authorities of clients are not readable as PEM",
      ],
    ] as const
  ) {
    const told = await readRefusal({ ...files.env, ...env }, {
      findFaults: grpcTlsFaults,
    });
    assert(told.includes(cannot), told);
    assert(told.includes(text), told);
    assert(!told.includes("PRIVATE KEY"), told);
  }
  // The start itself ends with what it tells.
  const { code, stderr } = await runRatelimit({
    env: { ...files.env, GRPC_SERVER_TLS_KEY: `${files.path}/other.pem` },
  });
  assertEquals(code, 1, stderr);
  assert(stderr.includes(cannot), stderr);
  assert(stderr.includes("the key is that of another certificate"), stderr);
  assert(!stderr.includes("PRIVATE KEY"), stderr);
});

/**
 * Returns everything that the service sends on a connection until it closes it,
 * or until `until` has arrived. It does not use the gRPC library, whose native
 * code may crash this process when the service closes the connection.
 */
function lastWords(
  target: string,
  options: ConnectionOptions,
  { until }: { readonly until?: string } = {},
): Promise<string> {
  const [host = "", port = ""] = target.split(":");
  return new Promise((resolve) => {
    let text = "";
    const socket = connectTls({
      host,
      port: Number(port),
      rejectUnauthorized: false,
      ALPNProtocols: ["h2"],
      ...options,
    });
    socket.write(PREFACE);
    socket.on("data", (chunk) => {
      text += String(chunk);
      if (until !== undefined && text.includes(until)) socket.destroy();
    });
    socket.on("end", () => socket.destroy());
    // A refusal during the handshake is reported as an error.
    socket.on("error", (error) => text += error.message);
    socket.on("close", () => resolve(text));
  });
}
