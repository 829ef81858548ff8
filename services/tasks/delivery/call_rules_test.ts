import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import {
  type CallRules,
  judgeHeaders,
  judgeTarget,
  SERVICE_HEADERS,
} from "./call_rules.ts";
import { createAllowList } from "./testing/create_allow_list.ts";
import { ipv4Text, randomBits } from "../../shared/testing/ip_text.ts";

const TLS_ONLY: CallRules = { allowHttp: false, allowList: [] };

function judgeCode(url: string, ...entries: readonly string[]): string {
  const verdict = judgeTarget(url, {
    allowHttp: true,
    allowList: createAllowList(...entries),
  });
  return verdict.kind === "ok" ? "ok" : verdict.code;
}

Deno.test("judgeTarget() takes a URL apart", () => {
  assertEquals(
    judgeTarget("https://API.Example.:8443/run?a=b%20c#top", TLS_ONLY),
    {
      kind: "ok",
      target: {
        isTls: true,
        host: "api.example",
        port: 8443,
        path: "/run?a=b%20c",
        origin: "https://api.example:8443",
      },
    },
  );
  const plain = judgeTarget("http://8.8.8.8", {
    ...TLS_ONLY,
    allowHttp: true,
  });
  assert(plain.kind === "ok");
  assertEquals([plain.target.port, plain.target.path], [80, "/"]);
  const six = judgeTarget("https://[2606:4700::1111]/", TLS_ONLY);
  assert(six.kind === "ok");
  assertEquals(six.target.host, "2606:4700::1111");
  assertEquals(six.target.origin, "https://[2606:4700::1111]");
});

Deno.test("judgeTarget() refuses http unless it is allowed", () => {
  const verdict = judgeTarget("http://api.example/", TLS_ONLY);
  assert(verdict.kind === "refused");
  assertEquals(verdict.code, "http_not_allowed");
});

Deno.test("judgeTarget() refuses what is not public in every spelling", () => {
  const urls = [
    ...["http://127.0.0.1", "http://2130706433", "http://0x7f.1"],
    ...["http://0x7f000001", "http://017700000001", "http://0177.0.0.1"],
    ...["http://127.1", "http://127.0.1", "http://127.0.0.1.", "http://0"],
    ...["http://0x7F.0X0.0.0x1", "http://00000177.1", "http://3232235777"],
    ...["http://①②⑦.⓪.⓪.①", "http://127。0。0。1", "http://１２７.0.0.1"],
    ...["http://[::1]", "http://[::]", "http://[0:0:0:0:0:0:0:1]"],
    ...["http://[::ffff:127.0.0.1]", "http://[::ffff:7f00:1]"],
    ...["http://[::127.0.0.1]", "http://[64:ff9b::7f00:1]"],
    ...["http://[fd00:ec2::254]", "http://[FE80::1]", "http://[2002:7f00:1::]"],
    ...["http://169.254.169.254/latest/meta-data", "http://2852039166"],
    ...["http://localhost", "http://LOCALHOST.", "http://a.localhost:99"],
  ];
  for (const url of urls) {
    assertEquals(judgeCode(url), "address_not_public", url);
  }
});

Deno.test("judgeTarget() refuses what two parsers might read as two URLs", () => {
  const urls = [
    ...["", "api.example", "//api.example", "https:api.example", "https:/a.b"],
    ...["https:///api.example", "ftp://api.example", "file:///etc/passwd"],
    ...["javascript:1", "https://api.example\\@b.example", "https://a.b/c d"],
    ...["https://a\t.b", "https://a.b/\n", " https://a.b", "https://a.b\u0000"],
    ...["https://a%2eb", "https://%31%32%37.0.0.1", "https://a..b"],
    ...["https://a.b..", "https://", "https://:80", "https://a.b:99999"],
    ...["https://[fe80::1%25eth0]", "https://[::1", "https://a.b:x"],
    ...["https://a.b.0x", "https://1.2.3.4.5", "https://a$b", "https://."],
    ...["https://256.1.1.1", `https://${"a".repeat(64)}.b`, "https://a~b"],
    `https://a.b/${"c".repeat(4_096)}`,
  ];
  for (const url of urls) assertEquals(judgeCode(url), "bad_url", url);
});

Deno.test("judgeTarget() refuses user information", () => {
  for (const url of ["https://u:p@a.b", "https://u@a.b", "https://@a.b"]) {
    assertEquals(judgeCode(url), "user_info", url);
  }
  assertEquals(judgeCode("https://a.b/@c?d=@e"), "ok");
});

Deno.test("judgeTarget() refuses port 0 and ports of other protocols", () => {
  for (const port of [0, 22, 25, 587, 6000, 10080]) {
    assertEquals(judgeCode(`https://a.b:${port}`), "bad_port", String(port));
  }
  for (const port of [1024, 8443, 65_535]) {
    assertEquals(judgeCode(`https://a.b:${port}`), "ok", String(port));
  }
  assertEquals(judgeCode("http://worker:25", "worker"), "bad_port");
  assertEquals(judgeCode("http://worker:25", "worker:25"), "ok");
  assertEquals(judgeCode("http://10.0.0.1:22", "10.0.0.0/8"), "bad_port");
});

Deno.test("judgeTarget() lets pass what the list allows, and nothing beside it", () => {
  assertEquals(judgeCode("http://127.0.0.1:3000", "127.0.0.1"), "ok");
  assertEquals(judgeCode("http://0x7f.1:3000", "127.0.0.1:3000"), "ok");
  assertEquals(
    judgeCode("http://127.0.0.1:3001", "127.0.0.1:3000"),
    "address_not_public",
  );
  assertEquals(
    judgeCode("http://[::1]:3000", "127.0.0.1"),
    "address_not_public",
  );
  assertEquals(
    judgeCode("http://[::ffff:127.0.0.1]", "127.0.0.1"),
    "address_not_public",
  );
  assertEquals(judgeCode("http://localhost:3000", "localhost:3000"), "ok");
  assertEquals(judgeCode("http://localhost:3000", "127.0.0.1"), "ok");
  assertEquals(
    judgeCode("http://localhost:3000", "10.0.0.1"),
    "address_not_public",
  );
});

Deno.test("judgeTarget() keeps path and query out of its reason", () => {
  for (
    const url of [
      ...["https://127.0.0.1/s3cret?s3cret", "http://a.b/s3cret"],
      ...["https://a.b/s3 cret", "https://u:s3cret@a.b/", "s3cret"],
    ]
  ) {
    const verdict = judgeTarget(url, TLS_ONLY);
    assert(verdict.kind === "refused", url);
    assert(!verdict.reason.includes("s3"), verdict.reason);
  }
});

Deno.test("judgeTarget() gives the same verdict in all spellings of an address", () => {
  const random = new SeededRandom(3_986);
  for (let round = 0; round < 1_000; round++) {
    const value = randomBits(random, 32);
    const [a, b, c, d] = ipv4Text(value).split(".").map(Number);
    const usual = judgeCode(`http://${a}.${b}.${c}.${d}/`);
    const spellings = [
      String(value),
      `0x${value.toString(16)}`,
      `0${value.toString(8)}`,
      `${a}.${value & 0xffffffn}`,
      `${a}.${b}.0x${(value & 0xffffn).toString(16)}`,
      `0${a?.toString(8)}.0x${b?.toString(16)}.${c}.${d}.`,
    ];
    for (const host of spellings) {
      assertEquals(judgeCode(`http://${host}/`), usual, host);
    }
  }
});

function refusedName(headers: Readonly<Record<string, string>>): string {
  const verdict = judgeHeaders(headers);
  assert(verdict.kind === "refused", JSON.stringify(headers));
  assertStringIncludes(verdict.reason, JSON.stringify(verdict.name));
  return verdict.name;
}

Deno.test("judgeHeaders() lets ordinary headers pass", () => {
  const verdict = judgeHeaders({
    Authorization: "Bearer a.b\tc",
    "x-empty": "",
    "webhook-id": "tsk_1.0",
  });
  assertEquals(verdict.kind, "ok");
});

Deno.test("judgeHeaders() refuses what could end the header or frame the request", () => {
  const values = ["a\r\nx: y", "a\nb", "a\u0000", "ä", "\u2028", "\u007f"];
  for (const value of values) assertEquals(refusedName({ a: value }), "a");
  const names = [
    ...["", "a b", "a:", "a\r", "ä", "Host", "CONTENT-LENGTH", "expect"],
    ...["Transfer-Encoding", "connection", "upgrade", "te", "trailer"],
  ];
  for (const name of names) assertEquals(refusedName({ [name]: "1" }), name);
});

Deno.test("judgeHeaders() says nothing of a value", () => {
  const verdict = judgeHeaders({ authorization: "s3cret\n" });
  assert(verdict.kind === "refused");
  assert(!verdict.reason.includes("s3cret"));
});

Deno.test("judgeHeaders() refuses doubles, too many and too long ones", () => {
  assertEquals(refusedName({ a: "1", A: "2" }), "A");
  const many = (count: number): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`x${i}`, ""]));
  assertEquals(judgeHeaders(many(64)).kind, "ok");
  assertEquals(refusedName(many(65)), "x64");
  assertEquals(judgeHeaders({ a: "b".repeat(65_535) }).kind, "ok");
  assertEquals(refusedName({ a: "b".repeat(65_536) }), "a");
});

Deno.test("judgeHeaders() refuses reserved names in any case", () => {
  for (const name of SERVICE_HEADERS) {
    const headers = { [name.toUpperCase()]: "1" };
    assertEquals(judgeHeaders(headers).kind, "ok");
    assertEquals(
      judgeHeaders(headers, SERVICE_HEADERS).kind,
      "refused",
    );
  }
});
