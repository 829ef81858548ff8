import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { BlockList, isIPv4, isIPv6 } from "node:net";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import {
  isInNetworks,
  type Network,
  parseAddress,
  parseNetwork,
} from "./network.ts";

function network(text: string): Network {
  const outcome = parseNetwork(text);
  assert(outcome.kind === "ok", text);
  return outcome.network;
}

function isIn(address: string, ...networks: readonly string[]): boolean {
  const bytes = parseAddress(address);
  assert(bytes !== undefined, address);
  return isInNetworks(networks.map(network), bytes);
}

Deno.test("parseAddress() takes the usual spellings", () => {
  assertEquals(parseAddress("192.0.2.255"), [192, 0, 2, 255]);
  assertEquals(parseAddress("::1"), [...Array(15).fill(0), 1]);
  assertEquals(parseAddress("::"), Array(16).fill(0));
  assertEquals(parseAddress("::ffff:192.0.2.1"), [192, 0, 2, 1]);
  assertEquals(parseAddress("::FFFF:c000:0201"), [192, 0, 2, 1]);
  assertEquals(
    parseAddress("2001:db8::1"),
    [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
  );
  assertEquals(parseAddress("fe80::1%eth0"), parseAddress("fe80::1"));
});

Deno.test("parseAddress() refuses what is none", () => {
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
  for (const text of cases) assertEquals(parseAddress(text), undefined, text);
});

Deno.test("parseAddress() agrees with the platform on any text", () => {
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
    assertEquals(parseAddress(text) !== undefined, isAddress, text);
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
    assertEquals(network(text).text, shown);
    assertEquals(network(shown).text, shown);
  }
});

Deno.test("parseNetwork() refuses what is none, and bits behind the prefix", () => {
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
