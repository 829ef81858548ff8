import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { bls12_381 } from "@noble/curves/bls12-381.js";
import { elgamalDecrypt, newRequestKey } from "../../sdk/vault/elgamal.ts";
import {
  deriveKeyServerId,
  derivePublicKey,
  isPossessionProof,
  isUserKeyOf,
  newMasterSecret,
  provePossession,
  toFullId,
} from "../../sdk/vault/identity_encryption.ts";
import { FakeClock } from "../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../tests/support/recording_logger.ts";
import { eachRound } from "../../tests/support/rounds.ts";
import { FairTurns } from "../shared/fair_turns.ts";
import { parseTrustedProxies } from "../shared/http/client_address.ts";
import type { HttpRequest, HttpResponse } from "../shared/http/exchange.ts";
import {
  documentedRoutes,
  undocumented,
} from "../shared/openapi/testing/document_check.ts";
import { undescribed } from "../shared/openapi/testing/description_check.ts";
import { openApiFaults } from "../shared/openapi/testing/openapi_check.ts";
import { LOCAL_PACKAGE_ID } from "../shared/ledger/account_contract.ts";
import type { ApprovalAnswer, ApprovalQuestion } from "./approver.ts";
import { createHandler, keyLimits, routeNames } from "./handler.ts";
import { KeyServerMetrics } from "./key_server_metrics.ts";
import { keyServerDocument } from "./openapi.ts";
import {
  buildApproval,
  buildIdentity,
  createSigner,
  keyRequest,
  type KeyRequestBody,
} from "./testing/key_requests.ts";

const OWNER = createSigner(7);
const ID = buildIdentity(OWNER);
const KIND = buildApproval(OWNER, [ID]);
const SECRET = newMasterSecret();
const PUBLIC_KEY = derivePublicKey(SECRET);
const OBJECT_ID = deriveKeyServerId(PUBLIC_KEY);
const PEER = "192.0.2.1";

interface SentRequest {
  readonly method?: string;
  readonly target?: string;
  readonly body?: string | Uint8Array;
  readonly peer?: string;
  readonly forwardedFor?: readonly string[];
  /** Whether the client disconnects after its body was read. */
  readonly leaves?: boolean;
}

/** A handler whose approver gives the answer that a test sets. */
class TestServer {
  readonly clock = new FakeClock();
  readonly logger = new RecordingLogger();
  readonly asked: ApprovalQuestion[] = [];
  readonly metrics = new KeyServerMetrics(this.clock);
  failure: Error | undefined;
  answer: ApprovalAnswer = { kind: "ok", ids: [ID], account: OWNER.accountId };
  readonly #handler: ReturnType<typeof createHandler>;

  constructor({ perUser = 1_000, perPeer = 1_000 } = {}) {
    this.#handler = createHandler({
      secret: SECRET,
      objectId: OBJECT_ID,
      possessionProof: () => provePossession(SECRET, OBJECT_ID),
      packageId: LOCAL_PACKAGE_ID,
      approver: {
        approve: (question) => {
          this.asked.push(question);
          if (this.failure !== undefined) return Promise.reject(this.failure);
          return Promise.resolve(this.answer);
        },
        close() {},
      },
      userLimits: keyLimits(perUser),
      peerLimits: keyLimits(perPeer),
      trustedProxies: parseTrustedProxies(["10.0.0.0/8"], []),
      turns: new FairTurns(),
      clock: this.clock,
      logger: this.logger,
      silence: this.logger,
      metrics: this.metrics,
      tracing: undefined,
      version: "0.0.0",
    });
  }

  async send(sent: SentRequest): Promise<HttpResponse> {
    const { method = "POST", target = "/v1/fetch_key", peer = PEER } = sent;
    const { body = "", forwardedFor = [], leaves = false } = sent;
    const bytes = Uint8Array.from(
      typeof body === "string" ? new TextEncoder().encode(body) : body,
    );
    let isGone = false;
    const request: HttpRequest = {
      method,
      target,
      headers: {
        get: () => undefined,
        all: (name) => name === "x-forwarded-for" ? forwardedFor : [],
      },
      peer: { address: peer, port: 1 },
      isTls: false,
      isGone: () => isGone,
      onGone: () => () => {},
      body(maxBytes) {
        isGone = leaves;
        return Promise.resolve(
          bytes.length > maxBytes
            ? { kind: "too_large" }
            : { kind: "ok", bytes },
        );
      },
    };
    return await this.#handler(request);
  }

  /** Makes a valid request. */
  request(
    options: Partial<Parameters<typeof keyRequest>[0]> = {},
  ): Promise<KeyRequestBody> {
    const nowMs = this.clock.nowMs();
    return keyRequest({ nowMs, seed: 7, kind: KIND, ...options });
  }

  async ask(
    body: unknown,
    sent: Omit<SentRequest, "body"> = {},
  ): Promise<string> {
    const response = await this.send({ ...sent, body: JSON.stringify(body) });
    return response.status === 200
      ? "200"
      : `${response.status} ${parseJson(response)["error"]}`;
  }
}

function parseJson({ body }: HttpResponse): Record<string, unknown> {
  const value: unknown = JSON.parse(String(body));
  return Object(value);
}

Deno.test("createHandler() gives the key of an identity, for the request's key alone", async () => {
  const server = new TestServer();
  const requestKey = newRequestKey();
  const body = JSON.stringify(await server.request({ requestKey }));
  const pairs: string[] = [];
  for (let time = 0; time < 2; time++) {
    const response = await server.send({ body });
    assertEquals(response.headers["x-keyserver-version"], "0.5.0");
    assertEquals(response.headers["cache-control"], "no-store");
    const [given] = parseJson(response)["decryption_keys"] as {
      id: number[];
      encrypted_key: [string, string];
    }[];
    assert(given !== undefined);
    const fullId = toFullId(LOCAL_PACKAGE_ID, ID);
    assertEquals(Uint8Array.from(given.id), fullId);
    const [first, second] = given.encrypted_key.map((part) =>
      Uint8Array.fromBase64(part)
    );
    assert(first !== undefined && second !== undefined);
    const key = elgamalDecrypt(requestKey.secret, [first, second]);
    assert(key && isUserKeyOf(key, { fullId, publicKey: PUBLIC_KEY }));
    const other = elgamalDecrypt(newRequestKey().secret, [first, second]);
    assert(other && !isUserKeyOf(other, { fullId, publicKey: PUBLIC_KEY }));
    pairs.push(given.encrypted_key.join());
  }
  // The same request again gets the same key, encrypted with other random
  // numbers.
  assertEquals(new Set(pairs).size, 2);
  assertEquals(server.asked[0]?.user, OWNER.address);
  assertEquals(server.asked[0]?.kind, KIND);
});

Deno.test("createHandler() logs who was given a key, and neither identity nor secrets", async () => {
  const server = new TestServer();
  const request = await server.request();
  assertEquals(await server.ask(request), "200");
  const [line, ...others] = server.logger.lines;
  assertEquals(others, []);
  assertEquals(line?.message, "Gave a key");
  assertEquals(line?.fields["user"], OWNER.address);
  assertEquals(line?.fields["account"], OWNER.accountId);
  assertEquals(String(line?.fields["identity"]).length, 16);
  const text = JSON.stringify(server.logger.lines);
  for (const bytes of [ID, SECRET]) {
    assert(!text.includes(bytes.toHex()));
    assert(!text.includes(bytes.toBase64()));
  }
});

Deno.test("createHandler() refuses what is not signed, of another time, or in another form, and asks the ledger nothing", async () => {
  const server = new TestServer();
  const right = await server.request();
  const other = await server.request({ seed: 9 });
  const { certificate } = right;
  const nowMs = server.clock.nowMs();
  const foreignPackage = `0x${"ab".repeat(32)}`;
  const cases: readonly (readonly [unknown, string])[] = [
    ["", "400 InvalidParameter"],
    [[], "400 InvalidParameter"],
    [{}, "400 InvalidParameter"],
    [null, "400 InvalidParameter"],
    [{ ptb: [[[[[[]]]]]] }, "400 InvalidParameter"],
    [{ ...right, certificate: undefined }, "400 InvalidParameter"],
    [{ ...right, certificate: [] }, "400 InvalidParameter"],
    [{ ...right, ptb: 7 }, "400 InvalidParameter"],
    [{ ...right, ptb: "%" }, "400 InvalidParameter"],
    [{ ...right, enc_key: right.enc_verification_key }, "400 InvalidParameter"],
    [{ ...right, enc_key: "" }, "400 InvalidParameter"],
    [
      { ...right, certificate: { ...certificate, mvr_name: "@a/b" } },
      "403 InvalidMVRName",
    ],
    [{ ...right, request_signature: "" }, "403 InvalidSessionSignature"],
    [
      { ...right, request_signature: other.request_signature },
      "403 InvalidSessionSignature",
    ],
    // A transaction, a request key and a session that are not those that were
    // signed.
    [
      {
        ...right,
        ptb: buildApproval(createSigner(9), [ID]).subarray(1).toBase64(),
      },
      "403 InvalidSessionSignature",
    ],
    [{ ...right, enc_key: other.enc_key }, "403 InvalidSessionSignature"],
    [
      { ...right, certificate: other.certificate },
      "403 InvalidSessionSignature",
    ],
    [{
      ...right,
      certificate: { ...certificate, user: other.certificate.user },
    }, "403 InvalidSignature"],
    [
      { ...right, certificate: { ...certificate, signature: "" } },
      "403 InvalidSignature",
    ],
    [
      { ...right, certificate: { ...certificate, session_vk: "AAAA" } },
      "403 InvalidSignature",
    ],
    [
      { ...right, certificate: { ...certificate, ttl_min: 6 } },
      "403 InvalidSignature",
    ],
    [
      { ...right, certificate: { ...certificate, ttl_min: 31 } },
      "403 InvalidSignature",
    ],
    [
      { ...right, certificate: { ...certificate, ttl_min: 0.5 } },
      "403 InvalidSignature",
    ],
    [
      { ...right, certificate: { ...certificate, ttl_min: -5 } },
      "403 InvalidSignature",
    ],
    [{
      ...right,
      certificate: { ...certificate, creation_time: nowMs + 1_000 },
    }, "403 InvalidSignature"],
    [
      { ...right, certificate: { ...certificate, creation_time: 9e15 } },
      "403 InvalidSignature",
    ],
    [
      { ...right, certificate: { ...certificate, creation_time: -9e15 } },
      "403 InvalidCertificate",
    ],
    [
      { ...right, certificate: { ...certificate, creation_time: 1e300 } },
      "403 InvalidSignature",
    ],
    [
      await server.request({ packageId: foreignPackage }),
      "403 InvalidSignature",
    ],
    [await server.request({ nowMs: nowMs + 11_000 }), "403 InvalidSignature"],
    [
      await server.request({ nowMs: nowMs - 5 * 60_000 }),
      "403 InvalidCertificate",
    ],
  ];
  for (const [body, outcome] of cases) {
    assertEquals(await server.ask(body), outcome, JSON.stringify(body));
  }
  assertEquals(server.asked, []);
  assertEquals(server.logger.listMessages("error"), []);
  assertEquals(
    await server.ask(await server.request({ nowMs: nowMs + 9_000 })),
    "200",
  );
});

Deno.test("createHandler() refuses request keys that are not two halves of one, or lie outside the group", async () => {
  const server = new TestServer();
  const good = newRequestKey();
  const other = newRequestKey();
  const { G1, G2 } = bls12_381;
  const keys = [
    { ...good, verificationKey: other.verificationKey },
    { ...good, publicKey: G1.Point.ZERO.toBytes() },
    {
      ...good,
      publicKey: G1.Point.ZERO.toBytes(),
      verificationKey: G2.Point.ZERO.toBytes(),
    },
    { ...good, verificationKey: G2.Point.ZERO.toBytes() },
    { ...good, publicKey: pointOutside() },
    { ...good, publicKey: new Uint8Array(48) },
    { ...good, verificationKey: new Uint8Array(96).fill(255) },
  ];
  for (const requestKey of keys) {
    const body = await server.request({ requestKey });
    assertEquals(await server.ask(body), "400 InvalidParameter");
  }
  assertEquals(server.logger.lines, []);
});

/** A point of the curve that is not in the group, compressed. */
function pointOutside(): Uint8Array {
  const { fields, G1 } = bls12_381;
  const { Fp } = fields;
  for (let x = 1n;; x++) {
    const square = Fp.add(Fp.mul(Fp.mul(x, x), x), 4n);
    if (Fp.pow(square, (Fp.ORDER - 1n) / 2n) !== Fp.ONE) continue;
    const y = Fp.sqrt(square);
    if (G1.Point.fromAffine({ x, y }).isTorsionFree()) continue;
    const bytes = Fp.toBytes(x);
    bytes[0] = (bytes[0] ?? 0) | 0x80;
    return bytes;
  }
}

Deno.test("createHandler() says why there is no key", async () => {
  const server = new TestServer();
  const body = await server.request();
  const answers: readonly (readonly [ApprovalAnswer, string])[] = [
    [{ kind: "invalid", reason: "r" }, "403 InvalidPTB"],
    [{ kind: "package", reason: "r" }, "400 UnsupportedPackageId"],
    [{ kind: "refused", reason: "r" }, "403 NoAccess"],
    [{ kind: "unavailable", reason: "r", isAlarming: false }, "503 Failure"],
    [{ kind: "unavailable", reason: "r", isAlarming: true }, "503 Failure"],
  ];
  for (const [answer, outcome] of answers) {
    server.answer = answer;
    assertEquals(await server.ask(body), outcome);
  }
  assertEquals(server.logger.listMessages("warning"), ["r"]);
  const counted = server.metrics.registry.text();
  assertStringIncludes(counted, "keyserver_ledger_contradictions_total 1\n");
  assertEquals(server.logger.listMessages("error"), ["r"]);
});

Deno.test("createHandler() gives no key when the approver fails, and tells the log alone why", async () => {
  const server = new TestServer();
  const body = await server.request();
  server.failure = new Error("the disk is full");
  const response = await server.send({ body: JSON.stringify(body) });
  assertEquals(response.status, 503);
  assertEquals(response.headers["retry-after"], "1");
  assert(!String(response.body).includes("disk"));
  assertEquals(server.logger.listMessages("error"), [
    "Cannot answer a request",
  ]);
});

Deno.test("createHandler() counts every request for keys, whatever becomes of it", async () => {
  const server = new TestServer({ perPeer: 3 });
  const body = JSON.stringify(await server.request());
  await server.send({ body });
  await server.send({ body: "x".repeat(131_073) });
  server.failure = new Error("the disk is full");
  await server.send({ body });
  await server.send({ body });
  const counted = server.metrics.registry.text();
  const outcomes = ["given", "InvalidParameter", "Failure", "TooManyRequests"];
  for (const outcome of outcomes) {
    assertStringIncludes(
      counted,
      `keyserver_key_requests_total{outcome="${outcome}"} 1\n`,
    );
  }
});

Deno.test("createHandler() stops when the client has gone", async () => {
  const server = new TestServer();
  assertEquals(
    await server.ask(await server.request(), { leaves: true }),
    "503 Failure",
  );
  assertEquals(server.logger.listMessages("info"), []);
});

Deno.test("createHandler() counts keys, not requests, by address on the ledger", async () => {
  const server = new TestServer({ perUser: 10 });
  const body = await server.request();
  // An identity that is asked for twice gets one key.
  const ids = Array.from({ length: 20 }, (_, at) => Uint8Array.of(at >> 1));
  server.answer = { kind: "ok", ids, account: undefined };
  assertEquals(await server.ask(body), "200");
  const response = await server.send({ body: JSON.stringify(body) });
  assertEquals(response.status, 429);
  assertEquals(response.headers["retry-after"], "6");
  // Another address has limits of its own.
  assertEquals(await server.ask(await server.request({ seed: 9 })), "200");
});

Deno.test("createHandler() counts strangers by IP address, an IPv6 one by its /64, as trusted proxies tell it", async () => {
  const server = new TestServer({ perPeer: 1 });
  const fetchStatus = async (peer: string, ...forwardedFor: string[]) =>
    (await server.send({ peer, forwardedFor, body: "x" })).status;
  assertEquals(await fetchStatus("192.0.2.1"), 400);
  assertEquals(await fetchStatus("192.0.2.1"), 429);
  assertEquals(await fetchStatus("192.0.2.1", "198.51.100.1"), 429);
  assertEquals(await fetchStatus("2001:db8::1"), 400);
  assertEquals(await fetchStatus("2001:db8::2"), 429);
  assertEquals(await fetchStatus("2001:db8:0:1::1"), 400);
  assertEquals(await fetchStatus("10.0.0.1", "198.51.100.1"), 400);
  assertEquals(await fetchStatus("10.0.0.2", "198.51.100.1"), 429);
  assertEquals(await fetchStatus("10.0.0.2", "198.51.100.2"), 400);
});

Deno.test("createHandler() shows that it has its secret", async () => {
  const server = new TestServer();
  const target = `/v1/service?service_id=${OBJECT_ID}`;
  const response = await server.send({ method: "GET", target });
  const { service_id, pop } = parseJson(response);
  assertEquals(service_id, OBJECT_ID);
  const proof = Uint8Array.fromBase64(String(pop));
  const facts = { publicKey: PUBLIC_KEY, objectId: OBJECT_ID };
  assert(isPossessionProof(proof, facts));
  assert(!isPossessionProof(proof, { ...facts, objectId: OWNER.address }));
});

Deno.test("createHandler() names its paths and methods, and lets pages call them", async () => {
  const server = new TestServer();
  const away = await server.send({ target: "/v2/fetch_key" });
  assertEquals(away.status, 404);
  const wrong = await server.send({ method: "GET" });
  assertEquals([wrong.status, wrong.headers["allow"]], [405, "POST, OPTIONS"]);
  const preflight = await server.send({ method: "OPTIONS" });
  assertEquals(preflight.status, 204);
  assertEquals(preflight.headers["access-control-allow-headers"], "*");
  const head = await server.send({ method: "HEAD", target: "/health" });
  assertEquals(head.status, 200);
  const large = await server.send({ body: "x".repeat(131_073) });
  assertEquals(large.status, 413);
});

Deno.test("createHandler() gives nothing for a request that was changed anywhere", async () => {
  const server = new TestServer({ perPeer: 1e9, perUser: 1e9 });
  const request = await server.request();
  const right = JSON.stringify(request);
  let refused = 0;
  await eachRound({ rounds: 300 }, async ({ random }) => {
    const bytes = new TextEncoder().encode(right);
    const at = random.below(bytes.length);
    // Mostly letters, so that the body often stays valid JSON and Base64.
    bytes[at] = random.chance(0.8) ? 65 + random.below(26) : random.below(256);
    const cut = random.chance(0.1) ? random.below(bytes.length) : bytes.length;
    const body = bytes.subarray(0, cut);
    const { status } = await server.send({ body });
    if (status === 200) assertEquals(decoded(body), decoded(right));
    else assert(status === 400 || status === 403, String(status));
    if (status === 403) refused++;
  });
  assert(refused > 50, String(refused));
  assertEquals(server.logger.listMessages("error"), []);
});

/**
 * Decodes a body for comparison: in Base64, the last bits of a text may mean
 * nothing.
 */
function decoded(body: Uint8Array | string): unknown {
  const text = typeof body === "string" ? body : new TextDecoder().decode(body);
  return JSON.parse(
    text,
    (name, value) =>
      typeof value === "string" && name !== "user"
        ? Uint8Array.fromBase64(value).toHex()
        : value,
  );
}

Deno.test("keyServerDocument() has every route and keeps the rules of OpenAPI 3.1", async () => {
  const document = keyServerDocument("0.1.0");
  assertEquals(documentedRoutes(document), routeNames().toSorted());
  assertEquals(await openApiFaults(document), []);
  assertEquals(undescribed(document), []);
});

Deno.test("keyServerDocument() says what is answered", async () => {
  const document = keyServerDocument("0.1.0");
  const server = new TestServer({ perPeer: 5 });
  const body = JSON.stringify(await server.request());
  const check = async (route: string, sent: SentRequest): Promise<number> => {
    const [method = "", path = ""] = route.split(" ");
    const response = await server.send({ method, target: path, ...sent });
    assertEquals(undocumented(document, { route, response }), [], route);
    return response.status;
  };
  const fetchKey = "POST /v1/fetch_key";
  const service = "GET /v1/service";
  const target = `/v1/service?service_id=${OBJECT_ID}`;
  assertEquals(await check("GET /health", {}), 200);
  assertEquals(await check(service, {}), 400);
  assertEquals(await check(service, { target }), 200);
  assertEquals(await check(fetchKey, { body }), 200);
  assertEquals(await check(fetchKey, { body: "{}" }), 400);
  const unsigned = { ...JSON.parse(body), request_signature: "" };
  assertEquals(await check(fetchKey, { body: JSON.stringify(unsigned) }), 403);
  assertEquals(await check(fetchKey, { body: "a".repeat(200_000) }), 413);
  server.failure = new Error("away");
  assertEquals(await check(fetchKey, { body }), 503);
  assertEquals(await check(fetchKey, { body }), 429);
});
