import { assert, assertEquals } from "@std/assert";
import { loadSchema } from "../../proto/testing/schema.ts";
import { startRatelimit } from "../support/ratelimit_process.ts";
import { serviceTest } from "../support/services.ts";
import { ConfigFolder } from "./config_folder.ts";
import { CODES, DECIDE_PATH, TLS_SERVER_NAME } from "./grpc_caller.ts";
import { GrpcTlsFiles } from "./grpc_tls_files.ts";
import { createRequest, dailyRule } from "./requests.ts";

const FILES = {
  "rules.yaml": dailyRule("tls", { key: "user", limit: 1_000_000 }),
};
/** Bytes before each gRPC message: a flag and four bytes of length. */
const PREFIX_BYTES = 5;

/**
 * Runs a program to its end; returns its stdout as bytes and all output as
 * text.
 */
async function run(
  program: string,
  args: readonly string[],
): Promise<{ readonly out: Uint8Array; readonly told: string }> {
  const { stdout, stderr } = await new Deno.Command(program, {
    args: [...args],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  const decoder = new TextDecoder();
  const told = decoder.decode(stdout) + decoder.decode(stderr);
  return { out: stdout, told };
}

/** Returns a request for a decision, as the body of an HTTP/2 request. */
async function framedRequest(): Promise<Uint8Array> {
  const message = (await loadSchema())(
    "envoy.service.ratelimit.v3.RateLimitRequest",
  ).encode({ ...createRequest("tls", { user: "anybody" }) });
  const body = new Uint8Array(PREFIX_BYTES + message.length);
  new DataView(body.buffer).setUint32(1, message.length);
  body.set(message, PREFIX_BYTES);
  return body;
}

/**
 * Starts a service that requires client certificates, and runs `use` with the
 * certificate files and a request body.
 */
async function withService(
  use: (
    test: {
      readonly url: string;
      readonly path: string;
      readonly port: string;
    },
  ) => Promise<void>,
): Promise<void> {
  await using folder = await ConfigFolder.make(FILES);
  await using files = await GrpcTlsFiles.make();
  const { path } = files;
  const own = files.clients.issue("client.test");
  await files.replace("client.pem", own.certPem);
  await files.replace("client.key", own.keyPem);
  await files.replace("ca.pem", files.authority.caPem);
  await Deno.writeFile(`${path}/body`, await framedRequest());
  await using service = await startRatelimit({
    env: { RUNTIME_ROOT: folder.root, ...files.mutualEnv },
  });
  const port = service.grpcTarget.split(":")[1] ?? "";
  const url = `https://${TLS_SERVER_NAME}:${port}${DECIDE_PATH}`;
  await use({ url, path, port });
  assertEquals(await service.stop(), 0);
}

serviceTest(["curl"], {
  name: "ratelimit answers curl over TLS",
  fn: () =>
    withService(async ({ url, path, port }) => {
      const common = [
        "--silent",
        "--show-error",
        "--max-time",
        "20",
        "--http2",
        "--noproxy",
        "*",
        "--resolve",
        `${TLS_SERVER_NAME}:${port}:127.0.0.1`,
        "--cacert",
        `${path}/ca.pem`,
        "--header",
        "content-type: application/grpc",
        "--header",
        "te: trailers",
        "--data-binary",
        `@${path}/body`,
      ];
      const own = [
        "--cert",
        `${path}/client.pem`,
        "--key",
        `${path}/client.key`,
      ];
      const { out } = await run("curl", [
        ...common,
        ...own,
        "--output",
        `${path}/answer`,
        "--write-out",
        "%{http_version} %{http_code} %{ssl_verify_result}",
        url,
      ]);
      assertEquals(new TextDecoder().decode(out), "2 200 0");
      const answer = await Deno.readFile(`${path}/answer`);
      const message = (await loadSchema())(
        "envoy.service.ratelimit.v3.RateLimitResponse",
      ).decode(answer.subarray(PREFIX_BYTES));
      assertEquals(message.overallCode, CODES.OK);

      const refused = await run("curl", [...common, url]);
      assert(/curl: \(\d+\)/.test(refused.told), refused.told);
      const old = await run("curl", [...common, ...own, "--http1.1", url]);
      assert(/curl: \(\d+\)/.test(old.told), old.told);
    }),
});

serviceTest(["nghttp"], {
  name: "ratelimit answers nghttp over TLS",
  fn: () =>
    withService(async ({ path, port }) => {
      const { told } = await run("nghttp", [
        "--verbose",
        "--timeout=20",
        `--cert=${path}/client.pem`,
        `--key=${path}/client.key`,
        `--data=${path}/body`,
        "--header=content-type: application/grpc",
        "--header=te: trailers",
        `https://127.0.0.1:${port}${DECIDE_PATH}`,
      ]);
      for (
        const line of [
          "The negotiated protocol: h2",
          ":status: 200",
          "grpc-status: 0",
        ]
      ) assert(told.includes(line), told);
    }),
});
