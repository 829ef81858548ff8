import { assertEquals } from "@std/assert";
import { isLoopbackPeer } from "./peer.ts";

function tcp(hostname: string): { remoteAddr: Deno.Addr } {
  return { remoteAddr: { transport: "tcp", hostname, port: 4711 } };
}

Deno.test("isLoopbackPeer() is true for addresses of this machine", () => {
  for (
    const hostname of ["127.0.0.1", "127.9.8.7", "::1", "::ffff:127.0.0.1"]
  ) {
    assertEquals(isLoopbackPeer(tcp(hostname)), true, hostname);
  }
  const remoteAddr: Deno.Addr = { transport: "unix", path: "/run/x.sock" };
  assertEquals(isLoopbackPeer({ remoteAddr }), true);
});

Deno.test("isLoopbackPeer() is false for others and the unknown", () => {
  const others = ["10.0.0.1", "::", "0.0.0.0", "::ffff:10.0.0.1", "1127.0.0.1"];
  for (const hostname of [...others, "127.0.0.1.example.com", "localhost"]) {
    assertEquals(isLoopbackPeer(tcp(hostname)), false, hostname);
  }
  assertEquals(isLoopbackPeer(undefined), false);
});
