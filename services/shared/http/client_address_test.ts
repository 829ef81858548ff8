import { assertEquals } from "@std/assert";
import {
  findClientAddress,
  localHostFault,
  parseTrustedProxies,
} from "./client_address.ts";

const PROXIES = parseTrustedProxies(["10.0.0.0/8", "2001:db8::/32"], []);

Deno.test("findClientAddress() believes trusted proxies alone", () => {
  const cases = [
    ["203.0.113.9", ["198.51.100.1"], "203.0.113.9"],
    ["10.0.0.1", [], "10.0.0.1"],
    ["10.0.0.1", ["198.51.100.1"], "198.51.100.1"],
    ["10.0.0.1", ["198.51.100.1:4711"], "198.51.100.1"],
    ["10.0.0.1", ["192.0.2.7, 198.51.100.1"], "198.51.100.1"],
    ["10.0.0.1", ["192.0.2.7", "198.51.100.1, 10.9.9.9"], "198.51.100.1"],
    ["10.0.0.1", ["192.0.2.7, nonsense, 10.9.9.9"], "10.9.9.9"],
    ["2001:db8::1", ["[2001:db9::7]:443"], "2001:db9::7"],
  ] as const;
  for (const [peerAddress, forwardedFor, client] of cases) {
    assertEquals(
      findClientAddress({ peerAddress, forwardedFor }, PROXIES),
      client,
    );
  }
});

Deno.test("findClientAddress() reads so many hops and no more", () => {
  const hops = Array.from({ length: 100 }, () => "10.0.0.2");
  const forwardedFor = ["192.0.2.7", ...hops];
  const peerAddress = "10.0.0.1";
  assertEquals(
    findClientAddress({ peerAddress, forwardedFor }, PROXIES),
    "10.0.0.2",
  );
});

Deno.test("parseTrustedProxies() says what is no network", () => {
  const problems: string[] = [];
  assertEquals(parseTrustedProxies(["10.0.0.0/8", "moon"], problems).length, 1);
  assertEquals(problems.length, 1);
});

const PORT = {
  host: "box.example",
  setting: "METRICS_HOST",
  tells: "metrics",
};

Deno.test("localHostFault() lets this machine ask by an address, by localhost and by the name that was set", () => {
  const by = (host: string | undefined, address = "127.0.0.1") =>
    localHostFault({ host, address }, PORT);
  const good = [
    "127.0.0.1",
    "127.0.0.1:9092",
    "[::1]:9092",
    "10.0.0.7:80",
    "localhost",
    "LocalHost:9092",
    "box.example:9092",
    undefined,
  ];
  for (const host of good) assertEquals([host, by(host)], [host, undefined]);
  for (
    const host of ["evil.example", "localhost.evil.example:1", "127.1", ""]
  ) {
    assertEquals([host, typeof by(host)], [host, "string"]);
    for (const address of ["127.9.8.7", "::1"]) {
      assertEquals([address, typeof by(host, address)], [address, "string"]);
    }
    // Clients on other machines may use any name: the port is open to them.
    const others = ["10.0.0.8", "::", "0.0.0.0", "1127.0.0.1", "127.0.0.1.2"];
    for (const address of others) {
      assertEquals([address, by(host, address)], [address, undefined]);
    }
  }
});
