import {
  assert,
  assertEquals,
  assertNotEquals,
  assertStringIncludes,
} from "@std/assert";
import { BlockList, isIPv4, isIPv6 } from "node:net";
import { SeededRandom } from "../../tests/support/seeded_random.ts";
import {
  addressGroup,
  isInNetworks,
  isWithin,
  type Network,
  parseClientAddress,
  parseIpAddress,
  parseIpNetwork,
  parseNetwork,
  toNetwork,
} from "./ip_network.ts";
import { ipv4Text, ipv6Text, randomBits } from "./testing/ip_text.ts";

function network(text: string): Network {
  const outcome = parseNetwork(text);
  assert(outcome.kind === "ok", text);
  return outcome.network;
}

function shownAs(text: string): string {
  const outcome = parseNetwork(text);
  assert(outcome.kind === "ok", text);
  return outcome.text;
}

function isIn(address: string, ...networks: readonly string[]): boolean {
  const bytes = parseClientAddress(address);
  assert(bytes !== undefined, address);
  return isInNetworks(networks.map(network), bytes);
}

Deno.test("parseClientAddress() accepts the usual spellings", () => {
  const values: readonly (readonly [string, 4 | 6, bigint])[] = [
    ["192.0.2.255", 4, 0xc00002ffn],
    ["::1", 6, 1n],
    ["::", 6, 0n],
    ["::ffff:192.0.2.1", 4, 0xc0000201n],
    ["::FFFF:c000:0201", 4, 0xc0000201n],
    ["2001:db8::1", 6, 0x20010db8n << 96n | 1n],
  ];
  for (const [text, family, value] of values) {
    assertEquals(parseClientAddress(text), { family, value }, text);
  }
  assertEquals(
    parseClientAddress("fe80::1%eth0"),
    parseClientAddress("fe80::1"),
  );
});

Deno.test("parseClientAddress() refuses other texts", () => {
  const cases = [
    "",
    "1.2.3",
    "1.2.3.4.5",
    "01.2.3.4",
    "256.1.1.1",
    "0x7f.1",
    "2130706433",
    " 1.2.3.4",
    "1.2.3.4\n",
    ":",
    ":::",
    "1::2::3",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "1:2:3:4:5:6:7::8",
    "12345::",
    "g::",
    "1.2.3.4::",
    "::1.2.3.4:5",
    "::".padEnd(200, "0"),
  ];
  for (const text of cases) {
    assertEquals(parseClientAddress(text), undefined, text);
  }
});

Deno.test("parseClientAddress() agrees with the platform on any text", () => {
  const random = new SeededRandom(11);
  const pieces = [
    "0",
    "1",
    "ff",
    "255",
    "256",
    "00",
    ":",
    "::",
    ".",
    "abcd",
    "f",
  ];
  let taken = 0;
  for (let round = 0; round < 50_000; round++) {
    const text = random.list(18, () => random.pick(pieces)).join("");
    const isAddress = isIPv4(text) || isIPv6(text);
    // "::" for no group at all is allowed by some parsers and not by RFC 4291.
    if (text.split(/::|:/).length > 8) continue;
    assertEquals(parseClientAddress(text) !== undefined, isAddress, text);
    if (isAddress) taken++;
  }
  assert(taken > 300, String(taken));
});

Deno.test("parseNetwork() shows a network in its canonical form", () => {
  const cases: Readonly<Record<string, string>> = {
    "10.0.0.0/8": "10.0.0.0/8",
    "192.0.2.1": "192.0.2.1/32",
    "0.0.0.0/0": "0.0.0.0/0",
    "::/0": "::/0",
    "2001:DB8:0:0:0::/32": "2001:db8::/32",
    "::1": "::1/128",
    "fe80:0:0:1::/64": "fe80:0:0:1::/64",
    "::ffff:10.0.0.0/104": "10.0.0.0/8",
  };
  for (const [text, shown] of Object.entries(cases)) {
    assertEquals(shownAs(text), shown);
    assertEquals(shownAs(shown), shown);
  }
});

Deno.test("parseNetwork() refuses other texts, and bits behind the prefix", () => {
  const cases = [
    "",
    "/8",
    "10.0.0.0/",
    "10.0.0.0/33",
    "10.0.0.0/-1",
    "10.0.0.0/08",
    "10.0.0.0/8/8",
    "::/129",
    "::ffff:10.0.0.0/64",
    "fe80::%eth0/64",
    "example.com",
  ];
  for (const text of cases) {
    assertEquals(parseNetwork(text).kind, "invalid", text);
  }
  const outcome = parseNetwork("10.1.2.3/8");
  assert(outcome.kind === "invalid");
  assertStringIncludes(outcome.reason, 'did you mean "10.0.0.0/8"?');
});

Deno.test("isInNetworks() keeps IPv4 and IPv6 apart but for the mapped form", () => {
  assert(isIn("10.255.0.1", "10.0.0.0/8"));
  assert(isIn("::ffff:10.255.0.1", "10.0.0.0/8"));
  assert(!isIn("11.0.0.1", "10.0.0.0/8"));
  assert(isIn("172.31.255.255", "172.16.0.0/12"));
  assert(!isIn("172.32.0.0", "172.16.0.0/12"));
  assert(!isIn("10.0.0.1", "::/0"));
  assert(!isIn("::1", "0.0.0.0/0"));
  assert(isIn("2001:db8::5", "192.0.2.1", "2001:db8::/32"));
  assert(!isIn("10.0.0.1"));
});

Deno.test("isInNetworks() agrees with the platform on random networks", () => {
  const random = new SeededRandom(13);
  for (let round = 0; round < 3_000; round++) {
    const bits = random.below(33);
    const [first, other] = [random.bytes(4), random.bytes(4)];
    // Near the network half of the time.
    const near = random.chance(0.5) ? first : other;
    near[3] = random.below(256);
    const mask = bits === 0 ? 0 : (~0 << (32 - bits)) >>> 0;
    const whole = new DataView(first.buffer).getUint32(0) & mask;
    const start = [24, 16, 8, 0].map((shift) => (whole >>> shift) & 255).join(
      ".",
    );
    const list = new BlockList();
    list.addSubnet(start, bits, "ipv4");
    const address = near.join(".");
    assertEquals(
      isIn(address, `${start}/${bits}`),
      list.check(address, "ipv4"),
    );
  }
});

Deno.test("parseIpAddress() reads every form of RFC 4291", () => {
  const forms: readonly (readonly [string, bigint])[] = [
    ["::", 0n],
    ["::1", 1n],
    ["1::", 1n << 112n],
    ["0:0:0:0:0:0:0:1", 1n],
    ["2001:DB8::8:800:200C:417A", 0x20010db8000000000008_0800_200c_417an],
    ["::13.1.68.3", 0x0d014403n],
    ["::ffff:129.144.52.38", 0xffff_81903426n],
    ["1:2:3:4:5:6:7::", 0x0001_0002_0003_0004_0005_0006_0007_0000n],
  ];
  for (const [text, value] of forms) {
    assertEquals(parseIpAddress(text), { family: 6, value }, text);
  }
});

Deno.test("parseIpAddress() reads four decimal numbers", () => {
  assertEquals(parseIpAddress("127.0.0.1"), {
    family: 4,
    value: 0x7f000001n,
  });
  assertEquals(parseIpAddress("255.255.255.255")?.value, 0xffffffffn);
});

Deno.test("parseIpAddress() accepts no other spelling", () => {
  const others = [
    ...["", "1", "127.1", "0x7f.0.0.1", "0177.0.0.1", "01.2.3.4", "256.1.1.1"],
    ...["1.2.3", "1.2.3.4.5", "1.2.3.4 ", "1.2.3.-4", "１.2.3.4", "1..2.3"],
    ...[":", ":::", "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "::g"],
    ...["12345::", "[::1]", "fe80::1%eth0", "::1.2.3", "1.2.3.4::", ":1"],
    ...["1:2:3:4:5:6:7:8::", "1:2:3:4:5:6:7:1.2.3.4", "::1/128"],
  ];
  for (const text of others) {
    assertEquals(parseIpAddress(text), undefined, text);
  }
});

Deno.test("parseIpAddress() reads back what was written, whatever the bits", () => {
  const random = new SeededRandom(4_291);
  for (let round = 0; round < 2_000; round++) {
    const four = randomBits(random, 32);
    assertEquals(parseIpAddress(ipv4Text(four)), { family: 4, value: four });
    const six = randomBits(random, 128);
    assertEquals(parseIpAddress(ipv6Text(six)), { family: 6, value: six });
  }
});

Deno.test("parseIpNetwork() refuses bits beyond the prefix", () => {
  assertEquals(parseIpNetwork("10.0.0.0/8")?.prefixBits, 8);
  assertEquals(parseIpNetwork("::/0")?.prefixBits, 0);
  assertEquals(parseIpNetwork("fc00::/7")?.family, 6);
  for (
    const text of [
      ...["10.0.0.1/8", "10.0.0.0/33", "::/129", "10.0.0.0", "10.0.0.0/08"],
      ...["10.0.0.0/", "10.0.0.0/8/8", "10.0.0.0/-1", "10/8", "fc01::/7"],
    ]
  ) {
    assertEquals(parseIpNetwork(text), undefined, text);
  }
});

Deno.test("isWithin() compares the prefix and the family", () => {
  const random = new SeededRandom(17);
  for (let round = 0; round < 2_000; round++) {
    const value = randomBits(random, 32);
    const prefixBits = random.below(33);
    const hostBits = 32 - prefixBits;
    const base = (value >> BigInt(hostBits)) << BigInt(hostBits);
    const network = { family: 4, value: base, prefixBits } as const;
    assertEquals(isWithin({ family: 4, value }, network), true);
    assertEquals(isWithin({ family: 6, value }, network), false);
    if (prefixBits === 0) continue;
    const flipped = value ^ (1n << BigInt(hostBits + random.below(prefixBits)));
    assertEquals(isWithin({ family: 4, value: flipped }, network), false);
  }
});

Deno.test("toNetwork() holds one address", () => {
  const address = { family: 6, value: 1n } as const;
  assertEquals(isWithin(address, toNetwork(address)), true);
  assertEquals(isWithin({ family: 6, value: 0n }, toNetwork(address)), false);
  assertNotEquals(toNetwork(address).prefixBits, 32);
});

Deno.test("addressGroup() counts an IPv4 address alone and an IPv6 address as its /64", () => {
  assertNotEquals(addressGroup("192.0.2.1"), addressGroup("192.0.2.2"));
  assertEquals(addressGroup("::ffff:192.0.2.1"), addressGroup("192.0.2.1"));
  assertEquals(addressGroup("2001:db8::1"), addressGroup("2001:db8::ffff:1"));
  assertNotEquals(
    addressGroup("2001:db8::1"),
    addressGroup("2001:db8:0:1::1"),
  );
});

Deno.test("addressGroup() counts all that are no addresses as one", () => {
  assertEquals([addressGroup(""), addressGroup("somewhere")], ["", ""]);
});
