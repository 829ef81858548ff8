import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { mintToken, mintWorkerCredential } from "./credential_token.ts";
import {
  type AuthenticationOutcome,
  Authenticator,
  type CredentialStore,
  type UserRecord,
} from "./authenticator.ts";
import {
  type Caller,
  mayLease,
  scopeLackedBy,
  seesPayloads,
  toActor,
  toAdministrator,
} from "./caller.ts";
import type { KeyCredential } from "./credential.ts";
import type { JwtOutcome } from "./jwt.ts";
import { scopesOfRole } from "./scope.ts";
import type { WorkerCredential } from "../domain/records.ts";

const KEY = mintToken("dk");
const WORKER = mintWorkerCredential("acme");
const JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln";
const ACME = { id: "ten_1", domain: "acme" };
const OTHER = { id: "ten_2", domain: "other" };

const API_KEY: KeyCredential = {
  id: KEY.id,
  digest: KEY.digest,
  networks: [],
  scopes: scopesOfRole("member"),
  payloads: false,
  madeBy: "usr_1",
};

const WORKER_CREDENTIAL: WorkerCredential = {
  tenantId: "ten_1",
  id: WORKER.id,
  version: 1,
  workerId: "wrk_1",
  name: "",
  digest: WORKER.digest,
  secrets: true,
  createdAtMs: 0,
};

const USER: UserRecord = {
  id: "usr_1",
  role: "admin",
  status: "active",
  payloads: true,
};

interface Setup {
  user: UserRecord | undefined;
  token: JwtOutcome;
  apiKey: KeyCredential | undefined;
  lookups: number;
  readonly authenticator: Authenticator;
}

function setUp(): Setup {
  const clock = new FakeClock();
  const known = (tenantId: string, id: string): KeyCredential | undefined =>
    tenantId === ACME.id && id === KEY.id ? setup.apiKey : undefined;
  const worker = (tenantId: string, id: string): WorkerCredential | undefined =>
    tenantId === ACME.id && id === WORKER.id ? WORKER_CREDENTIAL : undefined;
  const store: CredentialStore = {
    apiKeys: {
      find(tenantId, id) {
        setup.lookups++;
        return known(tenantId, id);
      },
      recall: known,
    },
    workers: { find: worker, recall: worker },
    user: (tenantId, id) =>
      tenantId === ACME.id && id === setup.user?.id ? setup.user : undefined,
    findUser: (tenantId) =>
      Promise.resolve(tenantId === ACME.id ? setup.user : undefined),
  };
  const setup: Setup = {
    user: USER,
    token: {
      kind: "ok",
      subject: { issuer: "i", subject: "s", expiresAtMs: clock.nowMs() + 1 },
    },
    apiKey: API_KEY,
    lookups: 0,
    authenticator: new Authenticator({
      store,
      tokens: {
        verify: () => setup.token,
        recall: () =>
          setup.token.kind === "ok" ? setup.token.subject : undefined,
      },
      clock,
    }),
  };
  return setup;
}

async function authenticate(
  setup: Setup,
  authorization: string | undefined,
  tenant = ACME,
): Promise<AuthenticationOutcome> {
  const request = { authorization, tenant, clientAddress: "192.0.2.1" };
  return await setup.authenticator.authenticate(request);
}

async function authenticateCaller(
  setup: Setup,
  authorization: string,
): Promise<Caller> {
  const outcome = await authenticate(setup, authorization);
  assert(outcome.kind === "ok");
  return outcome.caller;
}

function getCode(outcome: AuthenticationOutcome): string {
  return outcome.kind === "refused" ? outcome.code : outcome.kind;
}

Deno.test("Authenticator lets an API key in that is in memory, at once", async () => {
  const setup = setUp();
  const caller = await authenticateCaller(setup, `Bearer ${KEY.text}`);
  assertEquals(caller, {
    kind: "api_key",
    tenantId: "ten_1",
    keyId: KEY.id,
    scopes: scopesOfRole("member"),
    payloads: false,
    madeBy: "usr_1",
  });
  const again = setup.authenticator.authenticate({
    authorization: `Bearer ${KEY.text}`,
    tenant: ACME,
    clientAddress: undefined,
  });
  assertEquals(again, { kind: "ok", caller });
});

Deno.test("Authenticator checks the secret each time", async () => {
  const setup = setUp();
  await authenticateCaller(setup, `Bearer ${KEY.text}`);
  const other = mintToken("dk");
  // The id of one key with the secret of another has a wrong checksum.
  const mixed = KEY.id + other.text.slice(19);
  const wrong = await authenticate(setup, `Bearer ${mixed}`);
  assertEquals(getCode(wrong), "invalid_credentials");
  setup.apiKey = { ...API_KEY, digest: other.digest };
  assertEquals(
    getCode(await authenticate(setup, `Bearer ${KEY.text}`)),
    "invalid_credentials",
  );
});

Deno.test("Authenticator refuses a revoked key", async () => {
  const setup = setUp();
  await authenticateCaller(setup, `Bearer ${KEY.text}`);
  setup.apiKey = undefined;
  const outcome = await authenticate(setup, `Bearer ${KEY.text}`);
  assertEquals(getCode(outcome), "invalid_credentials");
});

Deno.test("Authenticator answers a key of another tenant like one that never was", async () => {
  const setup = setUp();
  const authorizations = [
    `Bearer ${KEY.text}`,
    `Bearer ${WORKER.secret}`,
    `Basic ${btoa(`acme:${WORKER.id}:${WORKER.secret}`)}`,
    `Bearer ${JWT}`,
  ];
  const madeUp = await authenticate(setup, `Bearer ${mintToken("dk").text}`);
  assertEquals(getCode(madeUp), "invalid_credentials");
  for (const authorization of authorizations) {
    assertEquals((await authenticate(setup, authorization)).kind, "ok");
    assertEquals(await authenticate(setup, authorization, OTHER), madeUp);
  }
});

Deno.test("Authenticator makes no lookup for what cannot be a credential", async () => {
  const setup = setUp();
  const wrong = KEY.text.slice(0, -1) + (KEY.text.endsWith("0") ? "1" : "0");
  const outcomes: Readonly<Record<string, string>> = {
    [`Bearer ${wrong}`]: "invalid_credentials",
    [`Bearer ${KEY.text}, Bearer ${KEY.text}`]: "bad_header",
    "": "missing_credentials",
  };
  for (const [authorization, code] of Object.entries(outcomes)) {
    assertEquals(getCode(await authenticate(setup, authorization)), code);
  }
  assertEquals(
    getCode(await authenticate(setup, undefined)),
    "missing_credentials",
  );
  assertEquals(setup.lookups, 0);
});

Deno.test("Authenticator lets a worker in for its own tasks and nothing else", async () => {
  const setup = setUp();
  for (
    const authorization of [
      `Bearer ${WORKER.secret}`,
      `Basic ${btoa(`${WORKER.key}:${WORKER.secret}`)}`,
    ]
  ) {
    const caller = await authenticateCaller(setup, authorization);
    assertEquals(caller, {
      kind: "worker",
      tenantId: "ten_1",
      workerId: "wrk_1",
      credentialId: WORKER.id,
      secrets: true,
    });
    assert(mayLease(caller, "wrk_1"));
    assert(!mayLease(caller, "wrk_2"));
    assertEquals(scopeLackedBy(caller, "tasks:read"), "tasks:read");
    assertEquals(toActor(caller), { type: "worker", id: "wrk_1" });
    assert(seesPayloads(caller));
  }
});

Deno.test("Authenticator refuses a worker's key that names another tenant", async () => {
  const text = `other:${WORKER.id}:${WORKER.secret}`;
  const outcome = await authenticate(setUp(), `Basic ${btoa(text)}`);
  assertEquals(getCode(outcome), "invalid_credentials");
});

Deno.test("Authenticator gives a user the role of its record", async () => {
  const setup = setUp();
  const caller = await authenticateCaller(setup, `Bearer ${JWT}`);
  assert(caller.kind === "user");
  assertEquals(caller.role, "admin");
  assertEquals(caller.scopes, scopesOfRole("admin"));
  assertEquals(toActor(caller), { type: "user", id: "usr_1" });
  assertEquals(toAdministrator(caller).userId, "usr_1");
  assert(mayLease(caller, "wrk_9"));
  assertEquals(scopeLackedBy(caller, "account:write"), "account:write");
});

Deno.test("Authenticator refuses users that are locked out or not there", async () => {
  const setup = setUp();
  setup.user = { ...USER, status: "disabled" };
  assertEquals(
    getCode(await authenticate(setup, `Bearer ${JWT}`)),
    "invalid_credentials",
  );
  setup.user = undefined;
  assertEquals(
    getCode(await authenticate(setup, `Bearer ${JWT}`)),
    "invalid_credentials",
  );
  setup.token = { kind: "refused", code: "token_expired", reason: "old" };
  assertEquals(await authenticate(setup, `Bearer ${JWT}`), setup.token);
  setup.token = { kind: "unavailable", retryAfterMs: 7 };
  assertEquals(await authenticate(setup, `Bearer ${JWT}`), setup.token);
});

Deno.test("Authenticator accepts no JWT where no identity provider is configured", async () => {
  const gone = () => undefined;
  const none = { find: gone, recall: gone };
  const authenticator = new Authenticator({
    store: {
      apiKeys: none,
      workers: none,
      user: gone,
      findUser: () => Promise.resolve(undefined),
    },
    clock: new FakeClock(),
  });
  const outcome = await authenticator.authenticate({
    authorization: `Bearer ${JWT}`,
    tenant: ACME,
    clientAddress: undefined,
  });
  assertEquals(getCode(outcome), "invalid_credentials");
});

Deno.test("toAdministrator() names the user who made a key", async () => {
  const setup = setUp();
  const caller = await authenticateCaller(setup, `Bearer ${KEY.text}`);
  assertEquals(toAdministrator(caller), {
    scopes: scopesOfRole("member"),
    userId: "usr_1",
  });
  assertEquals(toActor(caller), { type: "key", id: KEY.id });
  assert(!seesPayloads(caller));
  assert(!seesPayloads({ kind: "operator" }));
  assertEquals(scopeLackedBy({ kind: "operator" }, "tasks:read"), "tasks:read");
});
