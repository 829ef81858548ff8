import { assertEquals } from "@std/assert";
import { parseGrpcTarget } from "./grpc_target.ts";

Deno.test("parseGrpcTarget() reads addresses in all their forms", () => {
  const tcp = (host: string, port: number) =>
    ({ kind: "tcp", host, port }) as const;
  for (
    const [text, target] of [
      ["localhost:18000", tcp("localhost", 18_000)],
      ["control.example:1", tcp("control.example", 1)],
      ["10.0.0.7:65535", tcp("10.0.0.7", 65_535)],
      ["[::1]:80", tcp("::1", 80)],
      ["dns:///control:80", tcp("control", 80)],
      ["dns:control:80", tcp("control", 80)],
      ["unix:/run/control.sock", { kind: "unix", path: "/run/control.sock" }],
      ["unix:///run/a.sock", { kind: "unix", path: "/run/a.sock" }],
      ["unix:here.sock", { kind: "unix", path: "here.sock" }],
    ] as const
  ) assertEquals(parseGrpcTarget(text), target, text);
});

Deno.test("parseGrpcTarget() takes nothing else", () => {
  for (
    const text of [
      "",
      "localhost",
      ":80",
      "localhost:",
      "localhost:0",
      "localhost:65536",
      "localhost:http",
      "::1:80",
      "[::1]",
      "http://localhost:80",
      "local host:80",
      "localhost:80/path",
      "unix:",
    ]
  ) assertEquals(parseGrpcTarget(text), undefined, text);
});
