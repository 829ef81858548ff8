import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { judgeAddress } from "./address_guard.ts";
import { isWithin, parseIpNetwork } from "./ip_address.ts";
import { ipv4Text, ipv6Text, randomBits } from "./testing/ip_text.ts";

/** What a call may never reach, written apart from the guard's own table. */
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
  return judgeAddress(text).kind === "public";
}

Deno.test("judgeAddress() names what an address is for", () => {
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
    assertEquals(judgeAddress(text), { kind: "not_public", use }, text);
  }
});

Deno.test("judgeAddress() lets public addresses pass, up to the edges", () => {
  const addresses = [
    ...["8.8.8.8", "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255"],
    ...["100.128.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255"],
    ...["169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0"],
    ...["192.0.3.0", "192.167.255.255", "192.169.0.0", "198.17.255.255"],
    ...["198.20.0.0", "203.0.112.255", "203.0.114.0", "223.255.255.255"],
    ...["2606:4700::1111", "2000::", "2001:200::", "2003::1", "3ffe:ffff::"],
  ];
  for (const text of addresses) {
    assertEquals(judgeAddress(text), { kind: "public" }, text);
  }
});

Deno.test("judgeAddress() takes no text that is no strict address", () => {
  for (const text of ["", "localhost", "0x7f.1", "[::1]", "fe80::1%1", "8.8"]) {
    assertEquals(judgeAddress(text), { kind: "not_an_address" }, text);
  }
});

Deno.test("judgeAddress() refuses every address of a closed range", () => {
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

Deno.test("judgeAddress() lets exactly the rest pass", () => {
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

Deno.test("judgeAddress() refuses every IPv6 form of every IPv4 address", () => {
  const random = new SeededRandom(6_052);
  for (let round = 0; round < 500; round++) {
    const text = ipv4Text(randomBits(random, 32));
    for (const head of ["::", "::ffff:", "::ffff:0:", "64:ff9b::"]) {
      assert(!isPublic(head + text), head + text);
    }
  }
});
