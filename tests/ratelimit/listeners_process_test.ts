import { assert, assertEquals } from "@std/assert";
import { encodeHealthCheckRequest } from "../../proto/testing/health_client.ts";
import { GrpcFailure } from "../../services/shared/grpc/method.ts";
import { rateLimitSettings } from "../../services/ratelimit/settings.ts";
import { FLAG, FRAME_TYPE } from "../../services/shared/h2/frame.ts";
import { concat, hello, pingFrame, splitFrames } from "../support/h2_frames.ts";
import {
  type RatelimitProcess,
  runRatelimit,
  startRatelimit,
} from "../support/ratelimit_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { ConfigFolder } from "./config_folder.ts";
import { grpcCaller, STATUS } from "./grpc_caller.ts";
import { request } from "./http_caller.ts";
import { ownChannel } from "./own_channel.ts";
import { createRequest, dailyRule } from "./requests.ts";
import { serveHere, ServiceHere } from "./service_here.ts";

const FILES = {
  "rules.yaml": dailyRule("ports", { key: "user", limit: 1_000_000 }),
};
const REQUEST = createRequest("ports", { user: "anybody" });
const WATCH = "/grpc.health.v1.Health/Watch";

async function decides(target: string): Promise<boolean> {
  await using caller = await grpcCaller(target);
  return (await caller.decide(REQUEST)).status === STATUS.OK;
}

Deno.test("ratelimit has the ports and addresses of the specification by default", () => {
  const { host, port, grpcHost, grpcPort, debugHost, debugPort } =
    rateLimitSettings;
  assertEquals(
    [host, port, grpcHost, grpcPort, debugHost, debugPort].map((
      { name, fallback },
    ) => [name, fallback]),
    [
      ["HOST", "0.0.0.0"],
      ["PORT", 8080],
      ["GRPC_HOST", "0.0.0.0"],
      ["GRPC_PORT", 8081],
      ["DEBUG_HOST", "0.0.0.0"],
      ["DEBUG_PORT", 6070],
    ],
  );
});

Deno.test("ratelimit binds each listener to the address of its own setting", async () => {
  await using folder = await ConfigFolder.make(FILES);
  await using service = await startRatelimit({
    env: {
      RUNTIME_ROOT: folder.root,
      GRPC_HOST: "127.0.0.2",
      HOST: "127.0.0.3",
      DEBUG_HOST: "127.0.0.4",
    },
  });
  const hosts = [
    service.grpcTarget,
    new URL(service.httpUrl).host,
    new URL(service.debugUrl).host,
  ];
  assertEquals(hosts.map((host) => host.split(":")[0]), [
    "127.0.0.2",
    "127.0.0.3",
    "127.0.0.4",
  ]);
  assertEquals(await decides(service.grpcTarget), true);
  assertEquals((await request(`${service.httpUrl}/healthcheck`)).status, 200);
  assertEquals((await request(`${service.debugUrl}/rlconfig`)).status, 200);
  for (const host of hosts) {
    assertEquals(await isOpen("127.0.0.1", Number(host.split(":")[1])), false);
  }
});

Deno.test({
  name: "ratelimit binds its listeners to addresses of IPv6",
  ignore: !hasIpv6(),
  async fn() {
    await using folder = await ConfigFolder.make(FILES);
    await using service = await serveHere({
      RUNTIME_ROOT: folder.root,
      GRPC_HOST: "::1",
      HOST: "::1",
      DEBUG_HOST: "::1",
    });
    assertEquals(await decides(service.grpcTarget), true);
    assertEquals((await request(`${service.httpUrl}/healthcheck`)).status, 200);
    assertEquals((await request(`${service.debugUrl}/rlconfig`)).status, 200);
  },
});

Deno.test("ratelimit takes the unix socket of a service that died, and not of one that lives", async () => {
  await using folder = await ConfigFolder.make(FILES);
  const path = `${folder.base}/grpc.sock`;
  const env = { RUNTIME_ROOT: folder.root, GRPC_UDS: path };
  {
    await using first = await startRatelimit({ env });
    assertEquals(await decides(`unix:${path}`), true);
    await first.kill();
  }
  assertEquals((await Deno.lstat(path)).isSocket, true);

  await using second = await startRatelimit({ env });
  assertEquals(await decides(`unix:${path}`), true);
  const third = await runRatelimit({ env });
  assertEquals(third.code, 1);
  assert(third.stderr.includes("it is taken; free it"), third.stderr);
  assert(third.stderr.includes("GRPC_UDS"), third.stderr);
  assertEquals(await decides(`unix:${path}`), true);
  assertEquals(await second.stop(), 0);
  assertEquals(await exists(path), false);

  await Deno.writeTextFile(path, "a file");
  const fourth = await ServiceHere.begin(env);
  assertEquals(await fourth.ended, 1);
  const told = fourth.lines.join("\n");
  assert(told.includes("not a socket"), told);
  assertEquals(await Deno.readTextFile(path), "a file");
});

Deno.test("ratelimit gives its unix socket the permissions of GRPC_UDS_MODE", async () => {
  await using folder = await ConfigFolder.make(FILES);
  const path = `${folder.base}/grpc.sock`;
  for (
    const [setting, mode] of [["", 0o660], ["0600", 0o600], ["0666", 0o666]]
  ) {
    const env = {
      RUNTIME_ROOT: folder.root,
      GRPC_UDS: path,
      GRPC_UDS_MODE: String(setting),
    };
    await using service = mode === 0o600
      ? await startRatelimit({ env })
      : await serveHere(env);
    assertEquals(((await Deno.lstat(path)).mode ?? 0) & 0o777, mode);
    assertEquals(await service.stop(), 0);
  }
});

Deno.test("ratelimit ends connections at GRPC_MAX_CONNECTION_AGE, and those with a call at the end of its grace", async () => {
  await using folder = await ConfigFolder.make(FILES);
  await using service = await startRatelimit({
    env: {
      RUNTIME_ROOT: folder.root,
      GRPC_MAX_CONNECTION_AGE: "1s",
      GRPC_MAX_CONNECTION_AGE_GRACE: "500ms",
    },
  });
  const watch = watchOver(service);
  try {
    const began = performance.now();
    await watch.ended;
    const tookMs = performance.now() - began;
    // The maximum age, which jitter shortens by at most a tenth, plus the
    // grace.
    assert(tookMs >= 1_350, `${tookMs} ms`);
    assertEquals(await decides(service.grpcTarget), true);
  } finally {
    watch.close();
  }
});

Deno.test("ratelimit leaves a connection to its call until the grace past its age is over", async () => {
  await using folder = await ConfigFolder.make(FILES);
  await using service = await startRatelimit({
    env: {
      RUNTIME_ROOT: folder.root,
      GRPC_MAX_CONNECTION_AGE: "1s",
      GRPC_MAX_CONNECTION_AGE_GRACE: "1h",
    },
  });
  const watch = watchOver(service);
  try {
    await watch.seen(1);
    // A connection that is opened later and has no call is closed at its
    // maximum age.
    const [hostname = "", port = ""] = service.grpcTarget.split(":");
    using idle = await Deno.connect({ hostname, port: Number(port) });
    await idle.write(hello());
    const buffer = new Uint8Array(1_024);
    let received: Uint8Array = new Uint8Array();
    for (let count; (count = await idle.read(buffer)) !== null;) {
      received = concat(received, buffer.subarray(0, count));
      // The service asks with a PING whether its GOAWAY has been read.
      if (received.at(3 - 17) !== FRAME_TYPE.PING) continue;
      await idle.write(pingFrame(received.slice(-8), FLAG.ACK));
    }
    const types = splitFrames(received).map(({ type }) => type);
    assert(types.includes(FRAME_TYPE.GOAWAY), String(types));
    assertEquals(watch.isOver(), false);
    service.signal("SIGTERM");
    // The status NOT_SERVING, on a connection that is past its maximum age.
    await watch.seen(2);
    assertEquals(await service.waitForExit(), 0);
  } finally {
    watch.close();
  }
});

interface Watching {
  /** Resolves when `count` statuses have been received. */
  readonly seen: (count: number) => Promise<void>;
  readonly isOver: () => boolean;
  readonly ended: Promise<void>;
  readonly close: () => void;
}

/**
 * Opens a health watch, which is a lasting call, on a connection of its own.
 */
function watchOver(service: RatelimitProcess): Watching {
  const channel = ownChannel(service.grpcTarget);
  const stream = channel.stream(WATCH);
  let count = 0;
  let isOver = false;
  const ended = (async () => {
    await stream.send(encodeHealthCheckRequest({ service: "ratelimit" }));
    stream.closeSend();
    for await (const answer of stream.messages) {
      if (!(answer instanceof GrpcFailure)) count++;
    }
    isOver = true;
  })();
  return {
    seen: (wanted) =>
      waitUntil(() => count >= wanted, { what: `${wanted} statuses` }),
    isOver: () => isOver,
    ended,
    close: () => channel.close(),
  };
}

async function isOpen(hostname: string, port: number): Promise<boolean> {
  try {
    (await Deno.connect({ hostname, port })).close();
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.ConnectionRefused) return false;
    throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

function hasIpv6(): boolean {
  try {
    Deno.listen({ hostname: "::1", port: 0 }).close();
    return true;
  } catch {
    return false;
  }
}
