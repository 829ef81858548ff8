import { assertEquals } from "@std/assert";
import { localHostFault } from "./local_peer.ts";

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
    // From elsewhere a name is as good as an address: the port was opened.
    const others = ["10.0.0.8", "::", "0.0.0.0", "1127.0.0.1", "127.0.0.1.2"];
    for (const address of others) {
      assertEquals([address, by(host, address)], [address, undefined]);
    }
  }
});
