import { assertEquals } from "@std/assert";
import { withoutUndefined } from "../../../tests/support/without_undefined.ts";
import { type StoreTls, tlsSocketOptions } from "./store_tls.ts";

function asked(tls: StoreTls, host: string): object {
  return withoutUndefined(tlsSocketOptions(tls, host));
}

Deno.test("tlsSocketOptions() asks for the host by its name, but not by its address", () => {
  assertEquals(asked({}, "host"), { servername: "host" });
  assertEquals(asked({}, "10.0.0.1"), {});
  assertEquals(asked({}, "::1"), {});
  assertEquals(asked({ serverName: "other" }, "10.0.0.1"), {
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
