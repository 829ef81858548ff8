import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import type { LookupAddress, LookupOptions } from "node:dns";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import {
  createGuardedLookup,
  type GuardedLookupOptions,
  LookupError,
  type ResolvedAddress,
  systemResolve,
} from "./guarded_lookup.ts";
import { allowListOf } from "./testing/allow_list_of.ts";

interface LookupResult {
  readonly error: unknown;
  readonly address: string | LookupAddress[];
  readonly family: number | undefined;
}

function look(
  options: Partial<GuardedLookupOptions>,
  asked: LookupOptions = { all: true },
): Promise<LookupResult> {
  const lookup = createGuardedLookup({
    port: 443,
    allowList: [],
    resolve: () => Promise.resolve([]),
    ...options,
  });
  return new Promise((resolve) =>
    lookup("api.example", asked, (error, address, family) => {
      resolve({ error, address, family });
    })
  );
}

function resolved(...addresses: readonly string[]): ResolvedAddress[] {
  return addresses.map((address) => ({
    address,
    family: address.includes(":") ? 6 : 4,
  }));
}

function codeOf(result: LookupResult): string {
  assertInstanceOf(result.error, LookupError);
  assertEquals(result.address, "");
  return result.error.code;
}

Deno.test("createGuardedLookup() answers both forms of the call", async () => {
  const found = resolved("8.8.8.8", "2606:4700::1111");
  const resolve = () => Promise.resolve(found);
  assertEquals((await look({ resolve })).address, found);
  assertEquals(await look({ resolve }, {}), {
    error: null,
    address: "8.8.8.8",
    family: 4,
  });
  assertEquals(await look({ resolve }, { all: false, family: 6 }), {
    error: null,
    address: "2606:4700::1111",
    family: 6,
  });
  assertEquals(
    (await look({ resolve }, { all: true, family: "IPv4" })).address,
    [{ address: "8.8.8.8", family: 4 }],
  );
});

Deno.test("createGuardedLookup() asks the resolver for the very host, once", async () => {
  const asked: string[] = [];
  await look({
    resolve(host) {
      asked.push(host);
      return Promise.resolve(resolved("8.8.8.8"));
    },
  });
  assertEquals(asked, ["api.example"]);
});

Deno.test("createGuardedLookup() refuses a name with one address that is not public", async () => {
  for (
    const bad of ["127.0.0.1", "10.0.0.1", "::1", "::ffff:8.8.8.8", "x", ""]
  ) {
    const resolve = () => Promise.resolve(resolved("8.8.8.8", bad, "1.1.1.1"));
    assertEquals(codeOf(await look({ resolve })), "ADDRESS_REFUSED", bad);
    assertEquals(codeOf(await look({ resolve }, {})), "ADDRESS_REFUSED", bad);
  }
});

Deno.test("createGuardedLookup() does not tell the address it refuses", async () => {
  const resolve = () => Promise.resolve(resolved("10.1.2.3"));
  const { error } = await look({ resolve });
  assertInstanceOf(error, LookupError);
  assertEquals(
    error.message,
    'Cannot call "api.example": it has an address of a private network',
  );
});

Deno.test("createGuardedLookup() honours the allow list", async () => {
  const resolve = () => Promise.resolve(resolved("10.0.0.1"));
  for (const entry of ["10.0.0.0/8", "api.example", "api.example:443"]) {
    const result = await look({ resolve, allowList: allowListOf(entry) });
    assertEquals(result.error, null, entry);
  }
  for (const entry of ["10.0.0.2", "api.example:80", "other.example"]) {
    const result = await look({ resolve, allowList: allowListOf(entry) });
    assertEquals(codeOf(result), "ADDRESS_REFUSED", entry);
  }
});

Deno.test("createGuardedLookup() tells a name without a fitting address", async () => {
  assertEquals(codeOf(await look({})), "DNS_FAILED");
  const resolve = () => Promise.resolve(resolved("8.8.8.8"));
  assertEquals(codeOf(await look({ resolve }, { family: 6 })), "DNS_FAILED");
  const fail = () => Promise.reject(new Error("getaddrinfo ENOTFOUND"));
  assertEquals(codeOf(await look({ resolve: fail })), "DNS_FAILED");
});

Deno.test("createGuardedLookup() checks all addresses and gives out few", async () => {
  const many = Array.from({ length: 100 }, (_, index) => `8.8.8.${index}`);
  const result = await look({
    resolve: () => Promise.resolve(resolved(...many)),
  });
  assertEquals(result.address.length, 8);
  const late = await look({
    resolve: () => Promise.resolve(resolved(...many, "127.0.0.1")),
  });
  assertEquals(codeOf(late), "ADDRESS_REFUSED");
});

Deno.test("createGuardedLookup() never gives out an address that is not public", async () => {
  const random = new SeededRandom(918);
  const open = ["8.8.8.8", "1.1.1.1", "2606:4700::1111"];
  const pool = [...open, "127.0.0.1", "fc00::1"];
  for (let round = 0; round < 300; round++) {
    const found = resolved(...random.list(5, () => random.pick(pool)));
    const asked = {
      all: random.chance(0.5),
      family: random.pick([0, 4, 6]),
    };
    const result = await look({ resolve: () => Promise.resolve(found) }, asked);
    const isClean = found.every(({ address }) => open.includes(address));
    if (!isClean) assertEquals(codeOf(result), "ADDRESS_REFUSED");
    else if (result.error === null) assert(result.address.length > 0);
    else assertEquals(codeOf(result), "DNS_FAILED");
  }
});

Deno.test("systemResolve() finds the addresses of an address", async () => {
  assertEquals(await systemResolve("127.0.0.1"), resolved("127.0.0.1"));
});
