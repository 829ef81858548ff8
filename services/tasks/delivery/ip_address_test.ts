import { assertEquals, assertNotEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import {
  isWithin,
  networkOf,
  parseIpAddress,
  parseIpNetwork,
} from "./ip_address.ts";
import { ipv4Text, ipv6Text, randomBits } from "./testing/ip_text.ts";

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

Deno.test("parseIpAddress() takes no other spelling", () => {
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

Deno.test("networkOf() holds one address", () => {
  const address = { family: 6, value: 1n } as const;
  assertEquals(isWithin(address, networkOf(address)), true);
  assertEquals(isWithin({ family: 6, value: 0n }, networkOf(address)), false);
  assertNotEquals(networkOf(address).prefixBits, 32);
});
