import { assertEquals } from "@std/assert";
import { tlsSocketOptions } from "./store_tls.ts";

Deno.test("tlsSocketOptions() asks for the host by its name, but not by its address", () => {
  assertEquals(tlsSocketOptions({}, "host"), { servername: "host" });
  assertEquals(tlsSocketOptions({}, "10.0.0.1"), {});
  assertEquals(tlsSocketOptions({}, "::1"), {});
  assertEquals(tlsSocketOptions({ serverName: "other" }, "10.0.0.1"), {
    servername: "other",
  });
});

Deno.test("tlsSocketOptions() passes on certificates and leaves the chain to be verified", () => {
  const { checkServerIdentity, ...rest } = tlsSocketOptions({
    caPem: "ca",
    certPem: "cert",
    keyPem: "key",
    skipHostnameVerification: true,
  }, "host");
  assertEquals(rest, {
    ca: "ca",
    cert: "cert",
    key: "key",
    servername: "host",
  });
  assertEquals(checkServerIdentity?.(), undefined);
});
