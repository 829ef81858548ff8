import { assertEquals, assertMatch } from "@std/assert";
import { runtimeVariables, withStd } from "./deno_process.ts";

Deno.test("withStd() leaves the arguments alone when the packages are real", () => {
  assertEquals(withStd(["test", "sdk/"], "jsr"), ["test", "sdk/"]);
});

Deno.test("withStd() puts the offline configuration behind the subcommand", () => {
  const [subcommand, flag, path, ...rest] = withStd(
    ["test", "--parallel", "sdk/"],
    "offline",
  );
  assertEquals([subcommand, flag], ["test", "--config"]);
  assertMatch(path ?? "", /^\/.*\/deno\.offline\.json$/);
  assertEquals(rest, ["--parallel", "sdk/"]);
});

Deno.test("withStd() adds nothing when there is no subcommand", () => {
  assertEquals(withStd([], "offline"), []);
});

Deno.test("runtimeVariables() keeps what the runtime needs and no settings", () => {
  const needed = {
    PATH: "/bin",
    HOME: "/root",
    DENO_DIR: "/cache",
    SSL_CERT_FILE: "/certificates.pem",
    https_proxy: "http://localhost:3128",
    npm_config_registry: "https://registry.example.com",
  };
  assertEquals(
    runtimeVariables({ ...needed, PORT: "80", REDIS_URL: "x", MY_PATH: "y" }),
    needed,
  );
});
