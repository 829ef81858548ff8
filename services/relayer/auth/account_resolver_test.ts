import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import {
  AccountResolver,
  type AccountResolverOptions,
  type ResolveOutcome,
} from "./account_resolver.ts";
import { FakeLedger, makeAccount } from "./testing/fake_ledger.ts";

const KEY = "a".repeat(64);
const OTHER = "b".repeat(64);

Deno.test("resolve() finds the account that the request names", async () => {
  const { resolver, ledger } = setUp();
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
  const { resolver, ledger } = setUp();
  ledger.accounts = [makeAccount("1", [OTHER]), makeAccount("2", [KEY])];
  // Not even when it has an account of its own.
  const named = await resolver.resolve(KEY, `0x${"1".repeat(64)}`);
  assertEquals(codeOf(named), "ERR_KEY_NOT_DELEGATE");
  const unknown = await resolver.resolve(KEY, `0x${"3".repeat(64)}`);
  assertEquals(codeOf(unknown), "ERR_ACCOUNT_UNKNOWN");
});

Deno.test("resolve() says that an account is inactive to its delegates only", async () => {
  const { resolver, ledger } = setUp();
  ledger.accounts = [{ ...makeAccount("1", [KEY]), isActive: false }];
  const id = `0x${"1".repeat(64)}`;
  const outcomes = [
    await resolver.resolve(KEY, id),
    await resolver.resolve(KEY, undefined),
    await resolver.resolve(OTHER, id),
  ];
  assertEquals(outcomes.map(codeOf), [
    "ERR_ACCOUNT_INACTIVE",
    "ERR_ACCOUNT_INACTIVE",
    "ERR_KEY_NOT_DELEGATE",
  ]);
});

Deno.test("resolve() finds the account by the key when none is named", async () => {
  const { resolver, ledger } = setUp();
  ledger.accounts = [makeAccount("1", [KEY])];
  assertEquals(codeOf(await resolver.resolve(KEY, undefined)), "ok");
  assertEquals(
    codeOf(await resolver.resolve(OTHER, undefined)),
    "ERR_ACCOUNT_UNKNOWN",
  );
});

Deno.test("resolve() takes the configured account for keys that name none", async () => {
  const { resolver, ledger } = setUp({ fixedAccountId: `0x${"1".repeat(64)}` });
  ledger.findsByKey = false;
  ledger.accounts = [makeAccount("1", [KEY])];
  assertEquals(codeOf(await resolver.resolve(KEY, undefined)), "ok");
  assertEquals(
    codeOf(await resolver.resolve(OTHER, undefined)),
    "ERR_KEY_NOT_DELEGATE",
  );
});

Deno.test("resolve() remembers a key's account for a day and reads it each time", async () => {
  const { resolver, ledger, clock } = setUp();
  ledger.findsByKey = false;
  ledger.accounts = [makeAccount("1", [KEY])];
  const id = `0x${"1".repeat(64)}`;
  assertEquals(
    codeOf(await resolver.resolve(KEY, undefined)),
    "ERR_ACCOUNT_UNKNOWN",
  );
  assertEquals(codeOf(await resolver.resolve(KEY, id)), "ok");
  assertEquals(codeOf(await resolver.resolve(KEY, undefined)), "ok");
  assertEquals(ledger.asked, [id, id]);
  clock.advance(86_400_000);
  assertEquals(
    codeOf(await resolver.resolve(KEY, undefined)),
    "ERR_ACCOUNT_UNKNOWN",
  );
});

Deno.test("resolve() keeps a removed key out from the next request on", async () => {
  const { resolver, ledger } = setUp();
  ledger.findsByKey = false;
  ledger.accounts = [makeAccount("1", [KEY])];
  const id = `0x${"1".repeat(64)}`;
  assertEquals(codeOf(await resolver.resolve(KEY, id)), "ok");
  ledger.accounts = [makeAccount("1", [])];
  assertEquals(
    codeOf(await resolver.resolve(KEY, undefined)),
    "ERR_KEY_NOT_DELEGATE",
  );
  // It is forgotten: nobody asks for the account any more.
  const asked = ledger.asked.length;
  assertEquals(
    codeOf(await resolver.resolve(KEY, undefined)),
    "ERR_ACCOUNT_UNKNOWN",
  );
  assertEquals(ledger.asked.length, asked);
});

Deno.test("resolve() follows a key to another account", async () => {
  const { resolver, ledger } = setUp();
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
  const { resolver, ledger } = setUp();
  ledger.findsByKey = false;
  ledger.accounts = [makeAccount("1", [KEY])];
  await resolver.resolve(KEY, `0x${"1".repeat(64)}`);
  ledger.failure = "no route";
  const outcome = await resolver.resolve(KEY, undefined);
  assertEquals(outcome, {
    kind: "refused",
    status: 503,
    code: "AUTH_UPSTREAM_UNAVAILABLE",
    retryAfterSeconds: 5,
    reason: "no route",
  });
  ledger.failure = undefined;
  assertEquals(codeOf(await resolver.resolve(KEY, undefined)), "ok");
});

Deno.test("resolve() takes a ledger that throws for one that is away", async () => {
  const { resolver, ledger } = setUp();
  ledger.account = () => Promise.reject(new Error("closed"));
  const outcome = await resolver.resolve(KEY, `0x${"1".repeat(64)}`);
  assertEquals(codeOf(outcome), "AUTH_UPSTREAM_UNAVAILABLE");
});

function setUp(options: Partial<AccountResolverOptions> = {}): {
  readonly resolver: AccountResolver;
  readonly ledger: FakeLedger;
  readonly clock: FakeClock;
} {
  const clock = new FakeClock();
  const ledger = new FakeLedger();
  const resolver = new AccountResolver({ ledger, clock, ...options });
  return { resolver, ledger, clock };
}

function codeOf(outcome: ResolveOutcome): string {
  return outcome.kind === "ok" ? "ok" : outcome.code;
}
