import { assert, assertEquals } from "@std/assert";
import { readSettings } from "../settings.ts";
import {
  type ConnectionOutcome,
  type DatabaseConnection,
  readConnection,
} from "./connection.ts";
import { databaseSettings } from "./settings.ts";

function outcomeOf(
  environment: Readonly<Record<string, string>>,
): ConnectionOutcome {
  const settings = readSettings(
    databaseSettings("tercet", {
      shares: "for tests",
      beside: "notifications",
    }),
    (name) => environment[name],
  );
  assert(settings.kind === "ok");
  return readConnection(settings.values, "tercet tasks");
}

function connectionOf(
  environment: Readonly<Record<string, string>>,
): DatabaseConnection {
  const outcome = outcomeOf(environment);
  assert(outcome.kind === "ok", JSON.stringify(outcome));
  return outcome.connection;
}

Deno.test("readConnection() reads every part of a URL", () => {
  assertEquals(
    connectionOf({
      DATABASE_URL:
        "postgresql://me:p%40ss%3A@db1,db2:6000,[fe80::1]:7000/all?sslmode=" +
        "verify-ca&sslrootcert=/ca.pem&application_name=mine" +
        "&target_session_attrs=read-write",
      DATABASE_CA_FILE: "/other.pem",
    }),
    {
      hosts: [
        { host: "db1", port: 5432 },
        { host: "db2", port: 6000 },
        { host: "fe80::1", port: 7000 },
      ],
      user: "me",
      password: "p@ss:",
      passwordFile: undefined,
      database: "all",
      tls: { verify: "ca" },
      caFile: "/other.pem",
      applicationName: "mine",
    },
  );
});

Deno.test("readConnection() takes a password with any character but %", () => {
  const { password, hosts } = connectionOf({
    DATABASE_URL: "postgres://me:a/b?c#d@e:f@db/all",
  });
  assertEquals([password, hosts[0]?.host], ["a/b?c#d@e:f", "db"]);
});

Deno.test("readConnection() takes PG variables where the URL has nothing", () => {
  const connection = connectionOf({
    PGHOST: "db1,db2",
    PGPORT: "6000,7000",
    PGUSER: "me",
    PGPASSWORD: "secret",
    PGDATABASE: "all",
    PGSSLMODE: "require",
    PGAPPNAME: "mine",
  });
  assertEquals(connection, {
    hosts: [{ host: "db1", port: 6000 }, { host: "db2", port: 7000 }],
    user: "me",
    password: "secret",
    passwordFile: undefined,
    database: "all",
    tls: { verify: "none" },
    caFile: undefined,
    applicationName: "mine",
  });
  const { user, database } = connectionOf({
    DATABASE_URL: "postgres://you@db",
    PGUSER: "me",
  });
  assertEquals([user, database], ["you", "you"]);
});

Deno.test("readConnection() lets the file of the password win over PGPASSWORD", () => {
  const { password, passwordFile } = connectionOf({
    DATABASE_URL: "postgres://me@db/all",
    DATABASE_PASSWORD_FILE: "/run/secret",
    PGPASSWORD: "other",
  });
  assertEquals([password, passwordFile], ["", "/run/secret"]);
});

Deno.test("readConnection() checks certificates unless the host is this machine", () => {
  const modes: Readonly<Record<string, DatabaseConnection["tls"]>> = {
    "db": { verify: "full" },
    "localhost,db": { verify: "full" },
    "localhost": undefined,
    "127.0.0.1:6000": undefined,
    "[::1]": undefined,
    "127.evil.example": { verify: "full" },
  };
  for (const [hosts, tls] of Object.entries(modes)) {
    const DATABASE_URL = `postgres://me@${hosts}/all`;
    assertEquals(connectionOf({ DATABASE_URL }).tls, tls, hosts);
  }
  // As PostgreSQL's own programs take it.
  assertEquals(
    connectionOf({
      DATABASE_URL: "postgres://me@db?sslmode=require",
      DATABASE_CA_FILE: "/ca.pem",
    }).tls,
    { verify: "ca" },
  );
});

Deno.test("readConnection() says what is wrong and shows no password", () => {
  const faults: Readonly<Record<string, string>> = {
    "": "DATABASE_URL is not set",
    "postgres://me:hunter2@/all": "names no host",
    "postgres://:hunter2@db/all": "names no user",
    "mysql://me:hunter2@db": "is not postgres://",
    "me:hunter2@db": "is not postgres://",
    "postgres://me:hunter2@db/all/more": "is not postgres://",
    "postgres://me:hunter2%zz@db": "write % as %25",
    "postgres://me:hunter2@db:0": "host 1 of the database",
    "postgres://me:hunter2@db,x y": "host 2 of the database",
    "postgres://me:hunter2": "host 1 of the database",
    "postgres://me:hunter2@db?sslmode=prefer": 'sslmode is "prefer"',
    "postgres://me:hunter2@db?options=x": 'parameter "options"',
    "postgres://me:hunter2@db?target_session_attrs=any":
      'target_session_attrs is "any"',
  };
  for (const [DATABASE_URL, wanted] of Object.entries(faults)) {
    const outcome = outcomeOf(DATABASE_URL === "" ? {} : { DATABASE_URL });
    assert(outcome.kind === "invalid", DATABASE_URL);
    assert(
      outcome.reason.includes(wanted),
      `${DATABASE_URL}: ${outcome.reason}`,
    );
    assert(!outcome.reason.includes("hunter2"), outcome.reason);
  }
  const twice = outcomeOf({
    DATABASE_URL: "postgres://me:hunter2@db",
    DATABASE_PASSWORD_FILE: "/run/secret",
  });
  assert(twice.kind === "invalid" && !twice.reason.includes("hunter2"));
});
