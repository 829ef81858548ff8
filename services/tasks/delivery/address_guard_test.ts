import type { LookupAddress, LookupOptions } from "node:dns";
import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertStringIncludes,
} from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import {
  createGuardedLookup,
  findClosedUse,
  isAllowed,
  LookupError,
  parseAllowList,
  systemResolve,
} from "./address_guard.ts";
import { isWithin, parseIpNetwork } from "../../shared/ip_network.ts";
import { createAllowList } from "./testing/create_allow_list.ts";
import {
  ipv4Text,
  ipv6Text,
  randomBits,
} from "../../shared/testing/ip_text.ts";

/**
 * Networks that a call must never reach, listed independently of the guard's
 * own table.
 */
const CLOSED_IPV4 = [
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8"],
  ...["168.63.129.16/32", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"],
  ...["192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"],
  ...["198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"],
].map(network);

const CLOSED_IPV6 = [
  ...["::/8", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23"],
  ...["2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fc00::/7"],
  ...["fe80::/10", "fec0::/10", "ff00::/8"],
].map(network);

function network(text: string): NonNullable<ReturnType<typeof parseIpNetwork>> {
  const parsed = parseIpNetwork(text);
  assert(parsed !== undefined, text);
  return parsed;
}

function isPublic(text: string): boolean {
  return findClosedUse(text) === undefined;
}

Deno.test("findClosedUse() names what an address is for", () => {
  const uses: readonly (readonly [string, string])[] = [
    ["127.0.0.1", "the loopback"],
    ["::1", "the loopback"],
    ["0.0.0.0", "this network"],
    ["::", "no interface"],
    ["10.1.2.3", "a private network"],
    ["192.168.1.1", "a private network"],
    ["fd12:3456::1", "a private network"],
    ["169.254.1.1", "the local link"],
    ["fe80::1", "the local link"],
    ["169.254.169.254", "the platform's metadata service"],
    ["fd00:ec2::254", "the platform's metadata service"],
    ["168.63.129.16", "the platform's metadata service"],
    ["100.64.0.1", "a provider's shared range"],
    ["224.0.0.1", "multicast"],
    ["ff02::1", "multicast"],
    ["255.255.255.255", "broadcast"],
    ["::ffff:8.8.8.8", "a range that embeds IPv4 addresses"],
    ["::8.8.8.8", "a range that embeds IPv4 addresses"],
    ["64:ff9b::8.8.8.8", "a range that embeds IPv4 addresses"],
    ["64:ff9b:1::808:808", "a range that embeds IPv4 addresses"],
    ["2002:808:808::1", "a range that embeds IPv4 addresses"],
    [
      "2001:0:4136:e378:8000:63bf:3fff:fdd2",
      "a range that embeds IPv4 addresses",
    ],
    ["2001:db8::1", "documentation"],
    ["198.18.0.1", "benchmarks"],
    ["240.0.0.1", "a reserved range"],
    ["4000::1", "a reserved range"],
  ];
  for (const [text, use] of uses) {
    assertEquals(findClosedUse(text), use, text);
  }
});

Deno.test("findClosedUse() lets public addresses pass, up to the edges", () => {
  const addresses = [
    ...["8.8.8.8", "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255"],
    ...["100.128.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255"],
    ...["169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0"],
    ...["192.0.3.0", "192.167.255.255", "192.169.0.0", "198.17.255.255"],
    ...["198.20.0.0", "203.0.112.255", "203.0.114.0", "223.255.255.255"],
    ...["2606:4700::1111", "2000::", "2001:200::", "2003::1", "3ffe:ffff::"],
  ];
  for (const text of addresses) {
    assertEquals(findClosedUse(text), undefined, text);
  }
});

Deno.test("findClosedUse() accepts no text that is no strict address", () => {
  for (const text of ["", "localhost", "0x7f.1", "[::1]", "fe80::1%1", "8.8"]) {
    assertEquals(findClosedUse(text), "no known form", text);
  }
});

Deno.test("findClosedUse() refuses every address of a closed range", () => {
  const random = new SeededRandom(6_890);
  for (let round = 0; round < 200; round++) {
    for (const { value, prefixBits } of CLOSED_IPV4) {
      const text = ipv4Text(value | randomBits(random, 32 - prefixBits));
      assert(!isPublic(text), text);
    }
    for (const { value, prefixBits } of CLOSED_IPV6) {
      const text = ipv6Text(value | randomBits(random, 128 - prefixBits));
      assert(!isPublic(text), text);
    }
  }
});

Deno.test("findClosedUse() lets exactly the rest pass", () => {
  const random = new SeededRandom(1_918);
  const global = network("2000::/3");
  for (let round = 0; round < 20_000; round++) {
    const four = { family: 4, value: randomBits(random, 32) } as const;
    const isClosed = CLOSED_IPV4.some((closed) => isWithin(four, closed));
    assertEquals(isPublic(ipv4Text(four.value)), !isClosed);
  }
  for (let round = 0; round < 5_000; round++) {
    const value = random.chance(0.5)
      ? global.value | randomBits(random, 125)
      : randomBits(random, 128);
    const six = { family: 6, value } as const;
    const isOpen = isWithin(six, global) &&
      !CLOSED_IPV6.some((closed) => isWithin(six, closed));
    assertEquals(isPublic(ipv6Text(value)), isOpen, ipv6Text(value));
  }
});

Deno.test("findClosedUse() refuses every IPv6 form of every IPv4 address", () => {
  const random = new SeededRandom(6_052);
  for (let round = 0; round < 500; round++) {
    const text = ipv4Text(randomBits(random, 32));
    for (const head of ["::", "::ffff:", "::ffff:0:", "64:ff9b::"]) {
      assert(!isPublic(head + text), head + text);
    }
  }
});

interface LookupResult {
  readonly error: unknown;
  readonly address: string | LookupAddress[];
  readonly family: number | undefined;
}

function look(
  options: Partial<Parameters<typeof createGuardedLookup>[0]>,
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

function resolved(...addresses: readonly string[]): LookupAddress[] {
  return addresses.map((address) => ({
    address,
    family: address.includes(":") ? 6 : 4,
  }));
}

function getCode(result: LookupResult): string {
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
    assertEquals(getCode(await look({ resolve })), "ADDRESS_REFUSED", bad);
    assertEquals(getCode(await look({ resolve }, {})), "ADDRESS_REFUSED", bad);
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
    const result = await look({ resolve, allowList: createAllowList(entry) });
    assertEquals(result.error, null, entry);
  }
  for (const entry of ["10.0.0.2", "api.example:80", "other.example"]) {
    const result = await look({ resolve, allowList: createAllowList(entry) });
    assertEquals(getCode(result), "ADDRESS_REFUSED", entry);
  }
});

Deno.test("createGuardedLookup() tells a name without a fitting address", async () => {
  assertEquals(getCode(await look({})), "DNS_FAILED");
  const resolve = () => Promise.resolve(resolved("8.8.8.8"));
  assertEquals(getCode(await look({ resolve }, { family: 6 })), "DNS_FAILED");
  const fail = () => Promise.reject(new Error("getaddrinfo ENOTFOUND"));
  assertEquals(getCode(await look({ resolve: fail })), "DNS_FAILED");
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
  assertEquals(getCode(late), "ADDRESS_REFUSED");
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
    if (!isClean) assertEquals(getCode(result), "ADDRESS_REFUSED");
    else if (result.error === null) assert(result.address.length > 0);
    else assertEquals(getCode(result), "DNS_FAILED");
  }
});

Deno.test("systemResolve() finds the addresses of an address", async () => {
  assertEquals(await systemResolve("127.0.0.1"), resolved("127.0.0.1"));
});

Deno.test("parseAllowList() reads addresses, networks and names", () => {
  const list = createAllowList(
    ...[
      "127.0.0.1",
      "127.0.0.1:8080",
      "10.0.0.0/8",
      "::1",
      "[::1]",
      "[::1]:90",
    ],
    ...["Worker", " worker.internal.:8080 ", "my_worker"],
  );
  assertEquals(
    list.map((entry) =>
      entry.kind === "host"
        ? [entry.host, entry.port]
        : [entry.network.prefixBits, entry.port]
    ),
    [
      [32, undefined],
      [32, 8080],
      [8, undefined],
      [128, undefined],
      [128, undefined],
      [128, 90],
      ["worker", undefined],
      ["worker.internal", 8080],
      ["my_worker", undefined],
    ],
  );
});

Deno.test("parseAllowList() names every invalid entry", () => {
  const bad = [
    ...["", "http://worker", "10.0.0.1/8", "10.0.0.0/33", "worker:0"],
    ...["worker:65536", "worker:", "*.internal", "0x7f.1", "2130706433"],
    ...["127.1", "127.0.0.1/", "[worker]:80", "user@worker", "wörker", "a b"],
    ...["10.0.0.0/8:80", "fe80::1%eth0", "a..b", "::1:65536:x"],
  ];
  const outcome = parseAllowList(["good.example", ...bad]);
  assert(outcome.kind === "invalid");
  assertEquals(outcome.problems.length, bad.length);
  outcome.problems.forEach((problem, index) => {
    assertStringIncludes(problem, JSON.stringify(bad[index]));
  });
});

Deno.test("isAllowed() matches addresses within a network alone", () => {
  const list = createAllowList("10.0.0.0/8", "fd00::/8");
  const point = { host: "x.example", port: 443 };
  assert(isAllowed(list, { ...point, address: "10.255.0.1" }));
  assert(isAllowed(list, { ...point, address: "fd00::1" }));
  assert(!isAllowed(list, { ...point, address: "11.0.0.1" }));
  assert(!isAllowed(list, { ...point, address: "::ffff:10.0.0.1" }));
  assert(!isAllowed(list, point));
});

Deno.test("isAllowed() matches a name whatever its address, and no other name", () => {
  const list = createAllowList("worker.internal");
  const address = "10.0.0.1";
  assert(isAllowed(list, { host: "worker.internal", port: 1, address }));
  assert(isAllowed(list, { host: "worker.internal", port: 1 }));
  assert(!isAllowed(list, { host: "a.worker.internal", port: 1, address }));
  assert(!isAllowed(list, { host: "worker.internal.example", port: 1 }));
});

Deno.test("isAllowed() keeps to the port of an entry", () => {
  const list = createAllowList("worker:8080", "127.0.0.1:9000");
  assert(isAllowed(list, { host: "worker", port: 8080 }));
  assert(!isAllowed(list, { host: "worker", port: 8081 }));
  const address = "127.0.0.1";
  assert(isAllowed(list, { host: address, port: 9000, address }));
  assert(!isAllowed(list, { host: address, port: 9001, address }));
});

Deno.test("isAllowed() allows nothing by an empty list", () => {
  assert(!isAllowed([], { host: "a", port: 1, address: "127.0.0.1" }));
});
