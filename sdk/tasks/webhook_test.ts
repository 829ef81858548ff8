import { assertEquals, assertRejects } from "@std/assert";
import { encodeBase64 } from "../memory/encodings.ts";
import { verifyEvent, verifyWebhook } from "./webhook.ts";

const NOW_MS = 1_800_000_000_000;
const KEY = new Uint8Array(32).fill(7);
const SECRET = `whsec_${encodeBase64(KEY)}`;
const OTHER = `whsec_${encodeBase64(KEY.map(() => 8))}`;
const BODY = JSON.stringify({ type: "task.run", data: { run: 0 } });

async function signature(text: string): Promise<string> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", KEY, algorithm, false, [
    "sign",
  ]);
  const bytes = new TextEncoder().encode(text);
  const made = await crypto.subtle.sign("HMAC", key, bytes);
  return `v1,${encodeBase64(new Uint8Array(made))}`;
}

async function request(
  { atMs = NOW_MS, body = BODY, headers = {} }: {
    readonly atMs?: number;
    readonly body?: string;
    readonly headers?: Readonly<Record<string, string>>;
  } = {},
): Promise<Request> {
  const seconds = Math.floor(atMs / 1_000);
  return new Request("http://worker.test/", {
    method: "POST",
    body,
    headers: {
      "webhook-id": "msg_1",
      "webhook-timestamp": String(seconds),
      "webhook-signature": await signature(`msg_1.${seconds}.${body}`),
      ...headers,
    },
  });
}

async function getVerdict(
  made: Promise<Request>,
  secret: string | readonly string[] = SECRET,
): Promise<string> {
  const verdict = await verifyWebhook(await made, secret, { nowMs: NOW_MS });
  return verdict.kind === "valid" ? verdict.id : verdict.reason;
}

Deno.test("verifyWebhook() takes a call that one of the secrets has signed, whatever else stands beside", async () => {
  assertEquals(await getVerdict(request()), "msg_1");
  assertEquals(await getVerdict(request(), [OTHER, SECRET]), "msg_1");
  const own = (await request()).headers.get("webhook-signature")!;
  const signatures = `v1,${btoa("other")} v9,abc ${own} v1a,!`;
  const headers = { "webhook-signature": signatures };
  assertEquals(await getVerdict(request({ headers })), "msg_1");
  const verdict = await verifyWebhook(await request(), SECRET, {
    nowMs: NOW_MS,
  });
  assertEquals(verdict, {
    ...{ kind: "valid", id: "msg_1" },
    call: JSON.parse(BODY),
  });
});

Deno.test("verifyWebhook() refuses a call that is not signed so, too old or too new", async () => {
  assertEquals(await getVerdict(request(), OTHER), "bad_signature");
  for (
    const [headers, reason] of [
      [{ "webhook-id": "msg_2" }, "bad_signature"],
      [{ "webhook-timestamp": String(NOW_MS / 1_000 - 1) }, "bad_signature"],
      [{ "webhook-timestamp": "soon" }, "bad_timestamp"],
      [{ "webhook-timestamp": "-5" }, "bad_timestamp"],
      [{ "webhook-signature": "" }, "bad_signature"],
      [{ "webhook-signature": "v1," }, "bad_signature"],
    ] as const
  ) assertEquals(await getVerdict(request({ headers })), reason);
  const bare = Promise.resolve(
    new Request("http://worker.test/", { method: "POST", body: BODY }),
  );
  assertEquals(await getVerdict(bare), "missing_header");
  assertEquals(
    await getVerdict(request({ atMs: NOW_MS - 301_000 })),
    "too_old",
  );
  assertEquals(
    await getVerdict(request({ atMs: NOW_MS + 301_000 })),
    "too_new",
  );
  assertEquals(await getVerdict(request({ atMs: NOW_MS - 299_000 })), "msg_1");
  assertEquals(await getVerdict(request({ body: "{" })), "not_json");
});

Deno.test("verifyWebhook() reads no more of a body than it may have", async () => {
  const options = { nowMs: NOW_MS, maxBytes: BODY.length - 1 };
  const verdict = await verifyWebhook(await request(), SECRET, options);
  assertEquals(verdict, { kind: "invalid", reason: "too_large" });
});

Deno.test("verifyWebhook() throws when the secret can't be read", async () => {
  for (
    const secret of ["", "abc", "whsec_", "whsec_!", "whpk_AAAA", "dk_AAAA"]
  ) {
    await assertRejects(
      async () => await verifyWebhook(await request(), secret),
      TypeError,
      "neither whsec_ nor whpk_",
    );
  }
});

Deno.test("verifyWebhook() names what a caller in JavaScript left out", async () => {
  const verify = (given: readonly unknown[]): Promise<unknown> =>
    Reflect.apply(verifyWebhook, undefined, given);
  const call = await request();
  for (
    const [given, words] of [
      [[], "request is not a Request"],
      [[{ headers: {} }, SECRET], "request is not a Request"],
      [[call], "secret is missing"],
      [[call, []], "secret is missing"],
    ] as const
  ) {
    await assertRejects(() => verify(given), TypeError, words);
  }
});

Deno.test("verifyWebhook() throws when an option is no number, with which every call would be valid", async () => {
  const old = request({ atMs: NOW_MS - 86_400_000 });
  for (
    const options of [
      { nowMs: NOW_MS, toleranceMs: NaN },
      { nowMs: NaN },
      { nowMs: NOW_MS, maxBytes: NaN },
      { nowMs: NOW_MS, toleranceMs: -1 },
    ]
  ) {
    await assertRejects(
      async () => await verifyWebhook(await old, SECRET, options),
      TypeError,
      "is not a number",
    );
  }
});

Deno.test("verifyEvent() takes an event that the secret has signed, and refuses others", async () => {
  const event = {
    type: "task.failed",
    timestamp: "2027-01-15T08:00:00.000Z",
    id: "4f1c9a70b2de8356-42",
    data: { task: "tsk_1" },
  };
  const body = JSON.stringify(event);
  const options = { nowMs: NOW_MS };
  const valid = await verifyEvent(await request({ body }), SECRET, options);
  assertEquals(valid, { kind: "valid", event });
  const other = await verifyEvent(await request({ body }), OTHER, options);
  assertEquals(other, { kind: "invalid", reason: "bad_signature" });
});
