import { assert, assertEquals, assertRejects } from "@std/assert";
import { TestKeyServers } from "../../../sdk/vault/testing/key_servers.ts";
import { messageSigner, SessionKey } from "../../../sdk/vault/session_key.ts";
import type { OpenKeyRequest } from "./key_opening.ts";
import {
  KeyThread,
  type KeyThreadAnswer,
  type KeyThreadRequest,
} from "./key_thread.ts";

const PACKAGE = `0x${"5a".repeat(32)}`;
const REQUEST = {
  packageId: PACKAGE,
  id: new Uint8Array(40),
  data: new Uint8Array(32).fill(3),
  aad: new Uint8Array(8),
};

const SERVERS = {
  keyServers: new TestKeyServers({ packageId: PACKAGE, count: 2 }).keyServers
    // No one listens there.
    .map((server) => ({ ...server, url: "http://127.0.0.1:1" })),
  threshold: 2,
};

async function openRequest(encrypted: Uint8Array): Promise<OpenKeyRequest> {
  const session = await SessionKey.create({
    address: `0x${"a1".repeat(32)}`,
    packageId: PACKAGE,
    ttlMin: 5,
    nowMs: 0,
    signPersonalMessage: messageSigner(new Uint8Array(32).fill(7)),
  });
  return {
    ...{ encrypted, packageId: PACKAGE, id: REQUEST.id },
    session: session.export(),
    approval: new Uint8Array(10),
  };
}

/** A worker that sends the answers that a test gives it. */
class FakeWorker extends EventTarget {
  onmessage: ((event: MessageEvent<KeyThreadAnswer>) => void) | null = null;
  onerror: ((event: ErrorEvent) => void) | null = null;
  readonly asked: KeyThreadRequest[] = [];
  isTerminated = false;

  postMessage(request: KeyThreadRequest): void {
    this.asked.push(request);
  }

  terminate(): void {
    this.isTerminated = true;
  }

  fail(message: string): void {
    this.onerror?.(new ErrorEvent("error", { message }));
  }

  answer(data: KeyThreadAnswer): void {
    this.onmessage?.(new MessageEvent("message", { data }));
  }
}

function fakeThread(maxUnderWay?: number) {
  const workers: FakeWorker[] = [];
  const thread = new KeyThread({
    servers: SERVERS,
    maxUnderWay,
    startThread() {
      const worker = new FakeWorker();
      workers.push(worker);
      return worker as unknown as Worker;
    },
  });
  return { thread, workers };
}

Deno.test("KeyThread encrypts in its thread, and tells which key servers cannot be reached", async () => {
  const thread = new KeyThread({ servers: SERVERS });
  try {
    const [first, second] = await Promise.all([
      thread.encrypt(REQUEST),
      thread.encrypt(REQUEST),
    ]);
    assert(first.length > 300 && second.length === first.length);
    const outcome = await thread.open(await openRequest(first));
    assert(outcome.kind === "unavailable");
    assertEquals(
      outcome.failures.map(({ objectId }) => objectId).sort(),
      SERVERS.keyServers.map(({ objectId }) => objectId).sort(),
    );
    const broken = await thread.open(await openRequest(first.subarray(0, 50)));
    assertEquals(broken.kind, "damaged");
  } finally {
    thread.stop();
  }
});

Deno.test("KeyThread starts with the first key, and again after its thread has failed", async () => {
  const { thread, workers } = fakeThread();
  assertEquals(workers.length, 0);
  const first = thread.encrypt(REQUEST);
  const opened = thread.open(await openRequest(new Uint8Array()));
  assertEquals(workers[0]?.asked.map(({ kind }) => kind), [
    "servers",
    "encrypt",
    "open",
  ]);
  workers[0]?.fail("out of memory");
  await assertRejects(() => first, Error, "out of memory");
  const outcome = await opened;
  assert(outcome.kind === "unavailable");
  assertEquals(outcome.failures[0]?.reason, "out of memory");
  assert(workers[0]?.isTerminated);
  const bytes = new Uint8Array(5);
  const second = thread.encrypt(REQUEST);
  workers[1]?.answer({ kind: "encrypted", number: 3, bytes });
  assertEquals(await second, bytes);
  thread.stop();
});

Deno.test("KeyThread bounds what is under way, and ends it when it is stopped", async () => {
  const { thread, workers } = fakeThread(2);
  const waiting = [thread.encrypt(REQUEST), thread.encrypt(REQUEST)];
  await assertRejects(() => thread.encrypt(REQUEST), Error, "too many keys");
  thread.stop();
  for (const one of waiting) {
    await assertRejects(() => one, Error, "the relayer stops");
  }
  assert(workers[0]?.isTerminated);
});

Deno.test("KeyThread starts no thread once it is stopped, which would keep the process", async () => {
  const { thread, workers } = fakeThread();
  thread.stop();
  // A request that waited for the ledger may come after stop().
  const late = thread.encrypt(REQUEST);
  workers[0]?.answer({
    ...{ kind: "encrypted", number: 1, bytes: new Uint8Array(5) },
  });
  await assertRejects(() => late, Error, "the relayer stops");
  assertEquals(workers.length, 0);
});
