import { assert, assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import type { BodyOutcome } from "../../shared/http/exchange.ts";
import { RequestHeaders } from "../../shared/http1/head.ts";
import { AccountResolver, Authenticator, nonceTtlMs } from "./authenticate.ts";
import { Nonces } from "./nonces.ts";
import { SignatureVerifier } from "./signed_request.ts";
import { FakeLedger, makeAccount } from "./testing/fake_ledger.ts";
import {
  makeSigner,
  signedHeaders,
  type SignedRequestParts,
  type Signer,
} from "./testing/signer.ts";

type AuthOutcome = Awaited<ReturnType<Authenticator["authenticate"]>>;

type AuthRequest = Parameters<Authenticator["authenticate"]>[0];

type ResolveOutcome = Awaited<ReturnType<AccountResolver["resolve"]>>;

type AuthenticatorOptions = ConstructorParameters<typeof Authenticator>[0];

type AccountResolverOptions = ConstructorParameters<typeof AccountResolver>[0];

const KEY = "a".repeat(64);
const OTHER = "b".repeat(64);

Deno.test("resolve() finds the account that the request names", async () => {
  const { resolver, ledger } = setUpResolver();
  ledger.accounts = [makeAccount("1", [OTHER]), makeAccount("2", [KEY])];
  assertEquals(await resolver.resolve(KEY, `0x${"2".repeat(64)}`), {
    kind: "ok",
    caller: {
      accountId: `0x${"2".repeat(64)}`,
      owner: `0xf${"2".repeat(63)}`,
      publicKey: KEY,
    },
  });
});

Deno.test("resolve() never lets a key in where it is not a delegate", async () => {
  const { resolver, ledger } = setUpResolver();
  ledger.accounts = [makeAccount("1", [OTHER]), makeAccount("2", [KEY])];
  // Refused as well when the key has an account of its own.
  const named = await resolver.resolve(KEY, `0x${"1".repeat(64)}`);
  assertEquals(getResolvedCode(named), "ERR_KEY_NOT_DELEGATE");
  const unknown = await resolver.resolve(KEY, `0x${"3".repeat(64)}`);
  assertEquals(getResolvedCode(unknown), "ERR_ACCOUNT_UNKNOWN");
});

Deno.test("resolve() says that an account is inactive to its delegates only", async () => {
  const { resolver, ledger } = setUpResolver();
  ledger.accounts = [{ ...makeAccount("1", [KEY]), isActive: false }];
  const id = `0x${"1".repeat(64)}`;
  const outcomes = [
    await resolver.resolve(KEY, id),
    await resolver.resolve(KEY, undefined),
    await resolver.resolve(OTHER, id),
  ];
  assertEquals(outcomes.map(getResolvedCode), [
    "ERR_ACCOUNT_INACTIVE",
    "ERR_ACCOUNT_INACTIVE",
    "ERR_KEY_NOT_DELEGATE",
  ]);
});

Deno.test("resolve() finds the account by the key when none is named", async () => {
  const { resolver, ledger } = setUpResolver();
  ledger.accounts = [makeAccount("1", [KEY])];
  assertEquals(getResolvedCode(await resolver.resolve(KEY, undefined)), "ok");
  assertEquals(
    getResolvedCode(await resolver.resolve(OTHER, undefined)),
    "ERR_ACCOUNT_UNKNOWN",
  );
});

Deno.test("resolve() asks as an owner once the key has spoken for the account, and as a newcomer before", async () => {
  const { resolver, ledger } = setUpResolver();
  ledger.accounts = [makeAccount("1", [KEY]), makeAccount("2", [OTHER])];
  const id = `0x${"1".repeat(64)}`;
  await resolver.resolve(OTHER, id);
  await resolver.resolve(KEY, id);
  await resolver.resolve(KEY, id.toUpperCase().slice(2));
  await resolver.resolve(KEY, `0x${"2".repeat(64)}`);
  await resolver.resolve(OTHER, id);
  assertEquals(ledger.askers, [
    "newcomer",
    "newcomer",
    "owner",
    "newcomer",
    "newcomer",
  ]);
});

Deno.test("resolve() remembers a key's account for a day and reads it each time", async () => {
  const { resolver, ledger, clock } = setUpResolver();
  ledger.findsByKey = false;
  ledger.accounts = [makeAccount("1", [KEY])];
  const id = `0x${"1".repeat(64)}`;
  assertEquals(
    getResolvedCode(await resolver.resolve(KEY, undefined)),
    "ERR_ACCOUNT_UNKNOWN",
  );
  assertEquals(getResolvedCode(await resolver.resolve(KEY, id)), "ok");
  assertEquals(getResolvedCode(await resolver.resolve(KEY, undefined)), "ok");
  assertEquals(ledger.asked, [id, id]);
  clock.advance(86_400_000);
  assertEquals(
    getResolvedCode(await resolver.resolve(KEY, undefined)),
    "ERR_ACCOUNT_UNKNOWN",
  );
});

Deno.test("resolve() keeps a removed key out from the next request on", async () => {
  const { resolver, ledger } = setUpResolver();
  ledger.findsByKey = false;
  ledger.accounts = [makeAccount("1", [KEY])];
  const id = `0x${"1".repeat(64)}`;
  assertEquals(getResolvedCode(await resolver.resolve(KEY, id)), "ok");
  ledger.accounts = [makeAccount("1", [])];
  assertEquals(
    getResolvedCode(await resolver.resolve(KEY, undefined)),
    "ERR_KEY_NOT_DELEGATE",
  );
  // The account is no longer remembered for the key, so it is not read again.
  const asked = ledger.asked.length;
  assertEquals(
    getResolvedCode(await resolver.resolve(KEY, undefined)),
    "ERR_ACCOUNT_UNKNOWN",
  );
  assertEquals(ledger.asked.length, asked);
});

Deno.test("resolve() follows a key to another account", async () => {
  const { resolver, ledger } = setUpResolver();
  ledger.accounts = [makeAccount("1", [KEY])];
  await resolver.resolve(KEY, undefined);
  ledger.accounts = [makeAccount("1", []), makeAccount("2", [KEY])];
  const outcome = await resolver.resolve(KEY, undefined);
  assertEquals(
    outcome.kind === "ok" && outcome.caller.accountId,
    `0x${"2".repeat(64)}`,
  );
});

Deno.test("resolve() forgets nobody and lets nobody in while the ledger is away", async () => {
  const { resolver, ledger } = setUpResolver();
  ledger.findsByKey = false;
  ledger.accounts = [makeAccount("1", [KEY])];
  await resolver.resolve(KEY, `0x${"1".repeat(64)}`);
  ledger.failure = "no route";
  const outcome = await resolver.resolve(KEY, undefined);
  assertEquals(outcome, {
    kind: "refused",
    status: 503,
    code: "AUTH_UPSTREAM_UNAVAILABLE",
    reason: "no route",
  });
  ledger.failure = undefined;
  assertEquals(getResolvedCode(await resolver.resolve(KEY, undefined)), "ok");
});

Deno.test("resolve() takes a ledger that throws for one that is away", async () => {
  const { resolver, ledger } = setUpResolver();
  ledger.account = () => Promise.reject(new Error("closed"));
  const outcome = await resolver.resolve(KEY, `0x${"1".repeat(64)}`);
  assertEquals(getResolvedCode(outcome), "AUTH_UPSTREAM_UNAVAILABLE");
});

function setUpResolver(options: Partial<AccountResolverOptions> = {}): {
  readonly resolver: AccountResolver;
  readonly ledger: FakeLedger;
  readonly clock: FakeClock;
} {
  const clock = new FakeClock();
  const ledger = new FakeLedger();
  const resolver = new AccountResolver({ ledger, clock, ...options });
  return { resolver, ledger, clock };
}

function getResolvedCode(outcome: ResolveOutcome): string {
  return outcome.kind === "ok" ? "ok" : outcome.code;
}

const ANN = makeSigner(1);
const STRANGER = makeSigner(2);
const ACCOUNT = `0x${"1".repeat(64)}`;
const BODY = new TextEncoder().encode('{"text":"tea, not coffee"}');

Deno.test("authenticate() lets in what a delegate signed", async () => {
  const setting = setUp();
  const outcome = await setting.send(setting.request());
  assertEquals(outcome, {
    kind: "ok",
    caller: {
      accountId: ACCOUNT,
      owner: `0xf${"1".repeat(63)}`,
      publicKey: ANN.publicKey,
    },
    body: BODY,
  });
  assertEquals(setting.kept.length, 1);
});

Deno.test("authenticate() refuses a request of which anything was changed", async () => {
  const setting = setUp();
  const good = setting.request();
  const { timestamp } = setting;
  const changes: Partial<AuthRequest>[] = [
    { method: "DELETE" },
    { target: "/api/forget" },
    { target: "/api/remember?" },
    { body: () => createBody(new TextEncoder().encode("{}")) },
    { headers: withHeader(good, "x-timestamp", String(timestamp + 1)) },
    { headers: withHeader(good, "x-nonce", crypto.randomUUID()) },
    { headers: withHeader(good, "x-account-id", `0x${"2".repeat(64)}`) },
    { headers: withHeader(good, "x-account-id", undefined) },
    { headers: withHeader(good, "x-public-key", STRANGER.publicKey) },
  ];
  for (const change of changes) {
    const outcome = await setting.send({ ...good, ...change });
    assertEquals(getCode(outcome), "ERR_SIGNATURE");
  }
  // The refused requests have not used up the nonce.
  assertEquals(setting.nonces.size, 0);
  assertEquals((await setting.send(good)).kind, "ok");
});

Deno.test("authenticate() lets one of many equal requests in", async () => {
  const setting = setUp();
  const request = setting.request();
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, () => setting.send(request)),
  );
  const codes = outcomes.map(getCode).sort();
  assertEquals(codes.filter((code) => code === "ok").length, 1);
  assertEquals(codes.filter((code) => code === "ERR_REPLAY").length, 19);
  assertEquals(setting.kept.length, 1);
});

Deno.test("authenticate() refuses what another instance has taken, and what the store could not note", async () => {
  const clock = new FakeClock();
  const answers = [Promise.resolve(false), Promise.reject(new Error("gone"))];
  const nonces = new Nonces({
    clock,
    persist: () => answers.shift() ?? Promise.resolve(true),
  });
  const setting = setUp({ clock, nonces });
  const taken = setting.request();
  assertEquals(getCode(await setting.send(taken)), "ERR_REPLAY");
  const other = setting.request();
  await assertRejects(() => setting.send(other), Error, "gone");
  assertEquals((await setting.send(other)).kind, "ok");
});

Deno.test("authenticate() refuses a repetition for as long as it has a good time", async () => {
  const setting = setUp();
  // The client's clock is as far ahead as the window allows.
  const request = setting.request({ timestamp: setting.timestamp + 300 });
  assertEquals((await setting.send(request)).kind, "ok");
  for (let second = 1; second <= 600; second++) {
    setting.clock.advance(1_000);
    await setting.send(setting.request({ timestamp: setting.timestamp }));
    if (second % 50 === 0) {
      assertEquals(getCode(await setting.send(request)), "ERR_REPLAY");
    }
  }
  setting.clock.advance(1_000);
  assertEquals(
    getCode(await setting.send(request)),
    "ERR_TIMESTAMP_OUT_OF_BOUNDS",
  );
});

Deno.test("authenticate() looks at the time again when the body took long", async () => {
  const setting = setUp();
  const request = setting.request();
  const outcome = await setting.send({
    ...request,
    body: () => {
      setting.clock.advance(301_000);
      return createBody(BODY);
    },
  });
  assertEquals(getCode(outcome), "ERR_TIMESTAMP_OUT_OF_BOUNDS");
  assertEquals(setting.nonces.size, 0);
});

Deno.test("authenticate() knows repetitions after a restart", async () => {
  const first = setUp();
  const request = first.request();
  assertEquals((await first.send(request)).kind, "ok");
  const second = setUp();
  second.nonces.load(first.kept);
  assertEquals(getCode(await second.send(request)), "ERR_REPLAY");
});

Deno.test("authenticate() waits for no disk to remember what only reads", async () => {
  const setting = setUp();
  await setting.send(setting.request());
  await setting.send({ ...setting.request(), onlyReads: true });
  await setting.send(setting.request({ method: "GET" }));
  assertEquals(setting.waiting, [false, true, true]);
});

Deno.test("authenticate() asks for no body before the head is good", async () => {
  const setting = setUp();
  let asked = 0;
  const request: AuthRequest = {
    ...setting.request(),
    headers: new RequestHeaders(),
    body: () => {
      asked++;
      return createBody(BODY);
    },
  };
  assertEquals(getCode(await setting.send(request)), "ERR_MISSING_HEADERS");
  assertEquals(asked, 0);
});

Deno.test("authenticate() takes bodies up to its bound and tells what became of others", async () => {
  const setting = setUp();
  let bound: number | undefined;
  const outcome = await setting.send({
    ...setting.request(),
    maxBodyBytes: 7,
    body: (maxBytes) => {
      bound = maxBytes;
      return Promise.resolve({ kind: "too_large" });
    },
  });
  assertEquals(outcome, { kind: "no_body", body: { kind: "too_large" } });
  assertEquals(bound, 7);
  assertEquals(setting.nonces.size, 0);
});

Deno.test("authenticate() remembers nothing of strangers", async () => {
  const setting = setUp();
  const requests = [
    setting.request({}, STRANGER),
    setting.request({ accountId: `0x${"7".repeat(64)}` }),
  ];
  const codes: string[] = [];
  for (const request of requests) {
    codes.push(getCode(await setting.send(request)));
  }
  assertEquals(codes, ["ERR_KEY_NOT_DELEGATE", "ERR_ACCOUNT_UNKNOWN"]);
  assertEquals(setting.nonces.size, 0);
  assertEquals(setting.kept, []);
});

Deno.test("authenticate() lets a request come again that met an absent ledger", async () => {
  const setting = setUp();
  const request = setting.request();
  setting.ledger.failure = "no route";
  const outcome = await setting.send(request);
  assert(outcome.kind === "refused");
  assertEquals(outcome.status, 503);
  setting.ledger.failure = undefined;
  assertEquals((await setting.send(request)).kind, "ok");
  assertEquals(getCode(await setting.send(request)), "ERR_REPLAY");
});

Deno.test("authenticate() lets nobody in when there is no room for nonces", async () => {
  const setting = setUp({}, 2);
  await setting.send(setting.request());
  await setting.send(setting.request());
  assertEquals(
    getCode(await setting.send(setting.request())),
    "AUTH_NONCES_EXHAUSTED",
  );
});

Deno.test("authenticate() takes ids in any spelling, signed as they were sent", async () => {
  const setting = setUp();
  const spelled = setting.request({ accountId: "1".repeat(64) });
  assertEquals((await setting.send(spelled)).kind, "ok");
  const request = setting.request();
  const upper = withHeader(
    request,
    "x-public-key",
    ANN.publicKey.toUpperCase(),
  );
  const outcome = await setting.send({ ...request, headers: upper });
  assert(outcome.kind === "ok");
  assertEquals(outcome.caller.publicKey, ANN.publicKey);
  // The same request with the key in lower case is a repetition.
  assertEquals(getCode(await setting.send(request)), "ERR_REPLAY");
});

Deno.test("authenticate() finds the account of a request that names none", async () => {
  const setting = setUp();
  const { timestamp } = setting;
  const request = setting.signed({
    method: "GET",
    target: "/api/whoami",
    timestamp,
    nonce: crypto.randomUUID(),
  });
  assertEquals((await setting.send(request)).kind, "ok");
});

Deno.test("authenticate() serves the oldest clients only where it is told to", async () => {
  const parts = { method: "POST", target: "/api/recall", body: BODY };
  const strict = setUp();
  const { timestamp } = strict;
  const refused = await strict.send(strict.signed({ ...parts, timestamp }));
  assertEquals(getCode(refused), "ERR_CLIENT_TOO_OLD");
  const setting = setUp({ isLegacyAllowed: true });
  const request = setting.signed({ ...parts, timestamp });
  assertEquals((await setting.send(request)).kind, "ok");
  assertEquals(getCode(await setting.send(request)), "ERR_REPLAY");
  const reading = { ...request, onlyReads: true };
  assertEquals((await setting.send(reading)).kind, "ok");
  assertEquals((await setting.send(reading)).kind, "ok");
  const later = setting.signed({ ...parts, timestamp: timestamp + 1 });
  assertEquals((await setting.send(later)).kind, "ok");
  // A request with a nonce does not become a valid old one when the nonce is
  // removed.
  const stripped = setting.request();
  const headers = withHeader(
    { headers: withHeader(stripped, "x-nonce", undefined) },
    "x-account-id",
    undefined,
  );
  const outcome = await setting.send({ ...stripped, headers });
  assertEquals(getCode(outcome), "ERR_SIGNATURE");
});

Deno.test("authenticate() never looks at what old clients send of their private key", async () => {
  const setting = setUp({ isLegacyAllowed: true });
  const { timestamp } = setting;
  const request = setting.signed({ method: "GET", target: "/", timestamp });
  const { headers } = request;
  const read: string[] = [];
  const spied = {
    get: (name: string) => (read.push(name), headers.get(name)),
    all: (name: string) => (read.push(name), headers.all(name)),
  };
  await setting.send({ ...request, headers: spied });
  assert(read.length > 0);
  assertEquals(read.includes("x-delegate-key"), false);
});

Deno.test("nonceTtlMs() covers twice the window", () => {
  assertEquals(nonceTtlMs(300_000), 601_000);
  assertEquals(nonceTtlMs(1_000), 601_000);
  assertEquals(nonceTtlMs(600_000), 1_201_000);
});

interface Setting {
  readonly clock: FakeClock;
  readonly ledger: FakeLedger;
  readonly nonces: Nonces;
  readonly kept: string[];
  /** For each nonce that was stored, whether it may reach the disk later. */
  readonly waiting: boolean[];
  /** The current time in seconds. */
  readonly timestamp: number;
  signed(parts: SignedRequestParts, signer?: Signer): AuthRequest;
  /** Makes a signed remember request of Ann. */
  request(parts?: Partial<SignedRequestParts>, signer?: Signer): AuthRequest;
  send(request: AuthRequest): Promise<AuthOutcome>;
}

Deno.test("authenticate() keeps no nonce of a request that is not taken", async () => {
  const { send, request, kept, nonces } = setUp();
  const nonce = crypto.randomUUID();
  let isTaken = false;
  const told: unknown[] = [];
  const ask = () =>
    send({
      ...request({ nonce }),
      takes(caller, body) {
        told.push([caller.publicKey, body.length]);
        return isTaken;
      },
    });
  assertEquals(await ask(), { kind: "not_taken" });
  assertEquals([nonces.size, kept], [0, []]);
  isTaken = true;
  assertEquals((await ask()).kind, "ok");
  assertEquals([nonces.size, kept.length], [1, 1]);
  assertEquals(getCode(await ask()), "ERR_REPLAY");
  assertEquals(told, [
    [ANN.publicKey, BODY.length],
    [ANN.publicKey, BODY.length],
  ]);
});

function setUp(
  options: Partial<AuthenticatorOptions> = {},
  maxEntries = 100_000,
): Setting {
  const clock = new FakeClock();
  const ledger = new FakeLedger();
  ledger.accounts = [makeAccount("1", [ANN.publicKey])];
  const kept: string[] = [];
  const waiting: boolean[] = [];
  const nonces = new Nonces({
    clock,
    ttlMs: nonceTtlMs(300_000),
    maxEntries,
    maxPerKey: maxEntries,
    persist: ({ nonce, canWait = false }) => {
      kept.push(nonce);
      waiting.push(canWait);
    },
  });
  const authenticator = new Authenticator({
    clock,
    nonces,
    signatures: new SignatureVerifier(),
    accounts: new AccountResolver({ ledger, clock }),
    windowMs: 300_000,
    isLegacyAllowed: false,
    ...options,
  });
  const signed = (parts: SignedRequestParts, signer = ANN): AuthRequest => ({
    method: parts.method,
    target: parts.target,
    headers: createHeaders(signedHeaders(signer, parts)),
    maxBodyBytes: 1_000,
    body: () => createBody(parts.body ?? new Uint8Array()),
  });
  return {
    clock,
    ledger,
    nonces,
    kept,
    waiting,
    get timestamp() {
      return clock.nowMs() / 1_000;
    },
    signed,
    request: (parts = {}, signer = ANN) =>
      signed({
        method: "POST",
        target: "/api/remember",
        timestamp: clock.nowMs() / 1_000,
        body: BODY,
        nonce: crypto.randomUUID(),
        accountId: ACCOUNT,
        ...parts,
      }, signer),
    send: (request) => authenticator.authenticate(request),
  };
}

function createHeaders(
  fields: Readonly<Record<string, string>>,
): RequestHeaders {
  const headers = new RequestHeaders();
  for (const [name, value] of Object.entries(fields)) headers.add(name, value);
  return headers;
}

function withHeader(
  request: Pick<AuthRequest, "headers">,
  name: string,
  value: string | undefined,
): RequestHeaders {
  const fields: Record<string, string> = {};
  for (
    const field of [
      "x-public-key",
      "x-signature",
      "x-timestamp",
      "x-nonce",
      "x-account-id",
    ]
  ) {
    const sent = field === name ? value : request.headers.get(field);
    if (sent !== undefined) fields[field] = sent;
  }
  return createHeaders(fields);
}

function createBody(bytes: Uint8Array): Promise<BodyOutcome> {
  return Promise.resolve({ kind: "ok", bytes: Uint8Array.from(bytes) });
}

function getCode(outcome: AuthOutcome): string {
  return outcome.kind === "refused" ? outcome.code : outcome.kind;
}
