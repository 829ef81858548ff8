import { assertEquals, assertStringIncludes } from "@std/assert";
import { findMemoryPlace, type MemoryValues } from "./memory_place.ts";

const NONE: MemoryValues = {
  local: undefined,
  relayer: undefined,
  account: undefined,
  keyFile: undefined,
  tokenFile: undefined,
  credentials: undefined,
  namespace: undefined,
};

function find(
  values: Partial<MemoryValues>,
  { folder, os = "linux", ...variables }:
    & Readonly<Record<string, string | undefined>>
    & { readonly folder?: string; readonly os?: typeof Deno.build.os } = {},
): ReturnType<typeof findMemoryPlace> {
  const all = { HOME: "/home/ada", ...variables };
  const readVariable = (name: string): string | undefined =>
    Object.entries(all).find(([one]) => one === name)?.[1];
  const user = { os, readVariable };
  return findMemoryPlace({ ...NONE, ...values }, { folder, user });
}

Deno.test("findMemoryPlace() finds the folder of each system when --local names none", () => {
  const local = (variables: Parameters<typeof find>[1]): string => {
    const place = find({ local: "" }, variables);
    return place.kind === "local" ? place.folder : JSON.stringify(place);
  };
  assertEquals(local({}), "/home/ada/.local/share/tercet/memory");
  assertEquals(local({ XDG_DATA_HOME: "/data" }), "/data/tercet/memory");
  assertEquals(
    local({ XDG_DATA_HOME: "relative" }),
    "/home/ada/.local/share/tercet/memory",
  );
  assertEquals(
    local({ os: "darwin" }),
    "/home/ada/Library/Application Support/tercet/memory",
  );
  assertEquals(
    local({ os: "windows", USERPROFILE: "C:/ada" }),
    "C:/ada/AppData/Local/tercet/memory",
  );
  assertEquals(
    local({ os: "windows", LOCALAPPDATA: "D:/local" }),
    "D:/local/tercet/memory",
  );
  assertEquals(local({ folder: "/mine" }), "/mine");
  assertEquals(find({ local: "/mine" }), { kind: "local", folder: "/mine" });
});

Deno.test("findMemoryPlace() takes flags before variables, and finds where the secret is", () => {
  const variables = {
    TERCET_RELAYER: "https://a.test",
    TERCET_ACCOUNT: "0xa",
    TERCET_KEY: "secret",
  };
  const remote = {
    ...{ kind: "remote", relayer: "https://a.test", account: "0xa" } as const,
  };
  assertEquals(find({}, variables), {
    ...{ ...remote, secret: { kind: "variable", name: "TERCET_KEY" } },
  });
  assertEquals(
    find({ keyFile: "/k", account: "0xb", relayer: "https://b.test" }, {
      ...variables,
    }),
    {
      kind: "remote",
      relayer: "https://b.test",
      account: "0xb",
      secret: { kind: "key", path: "/k" },
    },
  );
  assertEquals(find({ tokenFile: "/t" }, variables), {
    ...{ ...remote, account: undefined, secret: { kind: "token", path: "/t" } },
  });
  assertEquals(find({}, { ...variables, TERCET_TOKEN: "t" }), {
    ...{ ...remote, account: undefined },
    secret: { kind: "variable", name: "TERCET_TOKEN" },
  });
  assertEquals(find({ credentials: "" }), {
    ...{ kind: "remote", relayer: undefined, account: undefined },
    secret: {
      kind: "credentials",
      path: "/home/ada/.memwal/credentials.json",
    },
  });
});

Deno.test("findMemoryPlace() says what is missing, or does not go together", () => {
  for (
    const [values, part] of [
      [{}, "--local"],
      [{ relayer: "https://a.test" }, "--account"],
      [{ keyFile: "/k" }, "--account"],
      [{ relayer: "https://a.test", account: "0xa" }, "--key-file"],
      [{ local: "", keyFile: "/k" }, "--local and --key-file"],
      [{ local: "", account: "0xa" }, "no --account"],
      [
        { relayer: "https://a.test", tokenFile: "/t", account: "0xa" },
        "leave --account out",
      ],
    ] as const
  ) {
    const place = find(values);
    assertStringIncludes(place.kind === "invalid" ? place.fault : "", part);
  }
  const stray = find({ keyFile: "/k" }, { folder: "/f" });
  assertStringIncludes(stray.kind === "invalid" ? stray.fault : "", '"/f"');
});
