import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { generateDelegateKey } from "../../sdk/account.ts";
import { allRoutes } from "../../services/relayer/api/handler.ts";
import { openTestRelayer } from "../../services/relayer/api/testing/test_relayer.ts";
import { runSteps } from "../support/data_service_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import {
  type HandKey,
  type HandRequest,
  type HandSignatureOptions,
  signByHand,
} from "./hand_signer.ts";
import { onStores } from "./on_stores.ts";
import { RelayerHome } from "./relayer_home.ts";
import {
  getMember,
  readText,
  sendWire,
  type WireAnswer,
} from "./wire_client.ts";

/** A request with one fault, and the error code that the relayer answers. */
interface FaultyRequest {
  readonly name: string;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The parts of the sent request that differ from the signed one. */
  readonly sent?: Partial<HandRequest>;
}

const EMPTY_BODY_REQUEST: HandRequest = {
  method: "GET",
  target: "/api/whoami",
  body: "",
};

onStores({
  name: "relayer lets in who signs",
  timeout: 240_000,
  fn: async (storage, t) => {
    // Each step has accounts of its own.
    await using home = await RelayerHome.open({ storage, accounts: 6 });
    await runSteps(t, home, {
      "relayer refuses every signed route without a good signature":
        refusesFaults,
      "relayer takes each signed request once": takesOnce,
      "relayer knows after stop and crash what it let in before": knowsNonces,
      "relayer serves the oldest client only where it is told to": servesOldest,
    });
  },
});

async function refusesFaults(home: RelayerHome): Promise<void> {
  const signer = home.account();
  const pair = await generateDelegateKey();
  const stranger = {
    key: pair.privateKey,
    publicKey: pair.publicKey.toHex(),
    accountId: "",
  };
  const requests = signedRequests(signer.owner);
  assert(requests.length >= 16, `only ${requests.length} routes`);
  for (const request of requests) {
    const faults = findFaults(request, {
      signer,
      other: home.account(1),
      stranger,
    });
    await Promise.all(faults.map(async ({ name, code, headers, sent }) => {
      const answer = await sendWire(home.url, { ...request, ...sent, headers });
      const about = `${request.method} ${request.target}: ${name}`;
      assertRefused(answer, { about, code });
    }));
    // Correctly signed, the request is not refused: the signature was the only
    // fault.
    const good = await sendWire(home.url, {
      ...request,
      headers: signByHand(request, signer),
    });
    assert(
      ![401, 403, 426].includes(good.status),
      `${request.target} ${good.status}`,
    );
  }
}

async function takesOnce(home: RelayerHome): Promise<void> {
  const signer = home.account(2);
  const requests = signedRequests(signer.owner);
  await Promise.all(requests.map(async (request) => {
    const headers = signByHand(request, signer);
    const first = await sendWire(home.url, { ...request, headers });
    assertNotEquals(first.status, 401, request.target);
    for (const nonce of [headers["x-nonce"], headers["x-nonce"]]) {
      const again = await sendWire(home.url, {
        ...request,
        headers: { ...headers, "x-nonce": nonce ?? "" },
      });
      assertRefused(again, { about: request.target, code: "ERR_REPLAY" });
    }
  }));
  // A nonce in capitals is the same nonce, even in a new signature.
  const nonce = crypto.randomUUID();
  const sign = (options: HandSignatureOptions) =>
    sendWire(home.url, {
      ...EMPTY_BODY_REQUEST,
      headers: signByHand(EMPTY_BODY_REQUEST, signer, options),
    });
  assertEquals((await sign({ nonce })).status, 200);
  const capitals = await sign({ nonce: nonce.toUpperCase() });
  assertRefused(capitals, { about: "capitals", code: "ERR_REPLAY" });
  // Of many identical requests at the same time, exactly one is accepted.
  const headers = signByHand(EMPTY_BODY_REQUEST, signer);
  const race = await Promise.all(
    Array.from(
      { length: 20 },
      () => sendWire(home.url, { ...EMPTY_BODY_REQUEST, headers }),
    ),
  );
  assertEquals(race.filter(({ status }) => status === 200).length, 1);
  assertEquals(race.filter(({ status }) => status === 401).length, 19);
}

async function knowsNonces(home: RelayerHome): Promise<void> {
  const signer = home.account(3);
  const read = { request: EMPTY_BODY_REQUEST, headers: {} };
  const body = JSON.stringify({ text: "The tide is out" });
  const write = {
    request: { method: "POST", target: "/api/remember", body },
    headers: {},
  };
  const send = async (what: "first" | "again"): Promise<void> => {
    for (const kept of [read, write]) {
      if (what === "first") kept.headers = signByHand(kept.request, signer);
      const { request, headers } = kept;
      const answer = await sendWire(home.url, { ...request, headers });
      if (what === "first") assert(answer.status < 300, String(answer.status));
      else assertRefused(answer, { about: request.target, code: "ERR_REPLAY" });
    }
  };
  await send("first");
  await home.restart();
  await send("again");
  await send("first");
  // The memory of the request is on disk, and so its nonce is, too.
  await home.service.kill();
  await home.start();
  await send("again");
  await waitUntil(
    async () => (await home.mem({}, signer).stats()).memory_count === 2,
    {
      what: "both memories",
    },
  );
}

async function servesOldest(home: RelayerHome): Promise<void> {
  const signer = home.account(4);
  const body = JSON.stringify({ text: "Signed with four fields" });
  const request = { method: "POST", target: "/api/remember", body };
  const sign = (options: HandSignatureOptions = {}) =>
    signByHand(request, signer, { ...options, isLegacy: true });
  const send = (headers: Readonly<Record<string, string>>) =>
    sendWire(home.url, { ...request, headers });
  const old = await send(sign());
  assertEquals([old.status, old.text], [426, ""]);
  assertEquals(old.headers.get("x-auth-error"), "ERR_CLIENT_TOO_OLD");

  await home.restart({ LEGACY_AUTH: "true" });
  const headers = { ...sign(), "x-delegate-key": signer.key };
  const taken = await send(headers);
  assertEquals(taken.status, 202, taken.text);
  const again = await send(headers);
  assertRefused(again, { about: "again", code: "ERR_REPLAY", isLegacy: true });
  assertEquals(again.headers.get("retry-after"), "1");
  // The oldest client does not sign which account it means; an account is
  // accepted only if it has the client's key.
  const named = await send({
    ...sign({ timestamp: secondsFromNow(-5) }),
    "x-account-id": signer.accountId,
  });
  assertEquals(named.status, 202, named.text);
  const foreign = await send({
    ...sign({ timestamp: secondsFromNow(-10) }),
    "x-account-id": home.account(5).accountId,
  });
  assertRefused(foreign, {
    about: "foreign",
    code: "ERR_KEY_NOT_DELEGATE",
    isLegacy: true,
  });
  const stale = sign({ timestamp: secondsFromNow(-310) });
  assertRefused(await send(stale), {
    about: "stale",
    code: "ERR_TIMESTAMP_OUT_OF_BOUNDS",
    isLegacy: true,
  });
  // Without its nonce header, a request of a newer client is refused, as its
  // signature covers the nonce.
  const { "x-nonce": _, ...stripped } = signByHand(request, {
    ...signer,
    accountId: "",
  });
  assertRefused(await send(stripped), {
    about: "strip",
    code: "ERR_SIGNATURE",
    isLegacy: true,
  });
  const id = readText(taken.json, "job_id");
  const wire = home.wire(signer);
  const status = await wire.expect(200, ["GET", `/api/remember/${id}?wait=20`]);
  assertNotEquals(getMember(status, "status"), "failed");
  assertEquals(home.service.stderr.includes(signer.key), false);
}

function assertRefused(
  answer: WireAnswer,
  { about, code, isLegacy = false }: {
    readonly about: string;
    readonly code: string;
    readonly isLegacy?: boolean;
  },
): void {
  const status = code === "ERR_CLIENT_TOO_OLD" ? 426 : 401;
  const { headers, text } = answer;
  const told = isLegacy ? JSON.parse(text).code : text;
  assertEquals(
    [answer.status, told, headers.get("x-auth-error")],
    [status, isLegacy ? code : "", code],
    about,
  );
}

function secondsFromNow(seconds: number): string {
  return String(Math.floor(Date.now() / 1_000) + seconds);
}

/** Returns a request for each possible fault. */
function findFaults(
  request: HandRequest,
  { signer, other, stranger }: {
    readonly signer: HandKey;
    readonly other: HandKey;
    readonly stranger: HandKey;
  },
): readonly FaultyRequest[] {
  const sign = (options: HandSignatureOptions = {}, by: HandKey = signer) =>
    signByHand(request, by, options);
  const without = (name: string) =>
    Object.fromEntries(
      Object.entries(sign()).filter(([field]) => field !== name),
    );
  const signedAs = (changed: Partial<HandRequest>) =>
    signByHand({ ...request, ...changed }, signer);
  const { accountId } = signer;
  const unknownId = `0x${"ab".repeat(32)}`;
  const bySignature: readonly (readonly [string, Record<string, string>])[] = [
    ["other key's signature", {
      ...sign(),
      "x-signature": sign({}, { ...stranger, accountId })["x-signature"] ?? "",
    }],
    ["a bit of the signature", flipped(sign())],
    ["nonce changed", { ...sign(), "x-nonce": crypto.randomUUID() }],
    ["timestamp changed", { ...sign(), "x-timestamp": secondsFromNow(-5) }],
    ["account changed", { ...sign(), "x-account-id": other.accountId }],
    ["account taken away", without("x-account-id")],
    ["signed for another path", signedAs({ target: "/api/elsewhere" })],
    ["signed for another method", signedAs({ method: "PUT" })],
    ["signed without its query", {
      ...signedAs({ target: `${request.target}?limit=1` }),
    }],
    ["four fields with a nonce", {
      ...sign({ isLegacy: true }),
      "x-nonce": crypto.randomUUID(),
      "x-account-id": accountId,
    }],
    ["signed with another body", signedAs({ body: `${request.body} ` })],
  ];
  return [
    { name: "nothing", code: "ERR_MISSING_HEADERS", headers: {} },
    ...["x-public-key", "x-signature", "x-timestamp"].map((name) => ({
      name: `no ${name}`,
      code: "ERR_MISSING_HEADERS",
      headers: without(name),
    })),
    {
      name: "no nonce",
      code: "ERR_CLIENT_TOO_OLD",
      headers: without("x-nonce"),
    },
    {
      name: "a nonce that is none",
      code: "ERR_NONCE_FORMAT",
      headers: sign({ nonce: "12345" }),
    },
    ...["-310", "310"].map((seconds) => ({
      name: `${seconds} seconds away`,
      code: "ERR_TIMESTAMP_OUT_OF_BOUNDS",
      headers: sign({ timestamp: secondsFromNow(Number(seconds)) }),
    })),
    {
      name: "no whole seconds",
      code: "ERR_TIMESTAMP_FORMAT",
      headers: sign({ timestamp: `${secondsFromNow(0)}.5` }),
    },
    {
      name: "a short key",
      code: "ERR_PUBLIC_KEY_FORMAT",
      headers: { ...sign(), "x-public-key": "ab".repeat(31) },
    },
    {
      name: "a short signature",
      code: "ERR_SIGNATURE_FORMAT",
      headers: { ...sign(), "x-signature": "ab".repeat(63) },
    },
    ...bySignature.map(([name, headers]) => ({
      name,
      code: "ERR_SIGNATURE",
      headers,
    })),
    ...(request.body === "" ? [] : [{
      name: "body changed after signing",
      code: "ERR_SIGNATURE",
      headers: sign(),
      sent: { body: request.body.replace("default", "another") },
    }]),
    {
      name: "query added after signing",
      code: "ERR_SIGNATURE",
      headers: sign(),
      sent: { target: `${request.target}?x=1` },
    },
    {
      name: "another's account",
      code: "ERR_KEY_NOT_DELEGATE",
      headers: sign({}, { ...signer, accountId: other.accountId }),
    },
    {
      name: "an account that is not",
      code: "ERR_ACCOUNT_UNKNOWN",
      headers: sign({}, { ...signer, accountId: unknownId }),
    },
    {
      name: "an account's id that is none",
      code: "ERR_ACCOUNT_FORMAT",
      headers: sign({}, { ...signer, accountId: "me" }),
    },
    {
      name: "a stranger's key for the account",
      code: "ERR_KEY_NOT_DELEGATE",
      headers: sign({}, { ...stranger, accountId }),
    },
    {
      name: "a stranger's key",
      code: "ERR_ACCOUNT_UNKNOWN",
      headers: sign({}, stranger),
    },
  ];
}

function flipped(headers: Record<string, string>): Record<string, string> {
  const signature = headers["x-signature"] ?? "";
  const last = signature.startsWith("0") ? "1" : "0";
  return { ...headers, "x-signature": last + signature.slice(1) };
}

/**
 * A request of each route that is not open, as the relayer has them: a new one is in
 * the tests without anybody thinking of it.
 */
function signedRequests(owner: string): readonly HandRequest[] {
  return allRoutes(openTestRelayer().parts)
    .filter(({ access }) => access !== "open")
    .map(({ method, path }) => ({
      method,
      target: path.replace(":owner", owner).replace(":id", "no-such-id"),
      body: method === "POST" ? '{"namespace":"default"}' : "",
    }));
}
