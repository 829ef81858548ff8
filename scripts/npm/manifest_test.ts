import { assertEquals, assertThrows } from "@std/assert";
import { npmRange, packageManifest, type ProjectConfig } from "./manifest.ts";

const CONFIG: ProjectConfig = {
  name: "@a/b",
  version: "1.2.3",
  license: "MIT",
  exports: { ".": "./mod.ts", "./more": "./sdk/more.ts" },
  imports: {
    "@noble/hashes": "npm:@noble/hashes@^2.4.0",
    "@mysten/sui": "npm:@mysten/sui@^2.33.1",
    std: "jsr:@std/yaml@^1.0.0",
  },
};

Deno.test("packageManifest() names compiled files for each module, declarations first", () => {
  const { name, version, license, type, exports } = createManifest([]);
  assertEquals({ name, version, license, type }, {
    ...{ name: "@a/b", version: "1.2.3", license: "MIT", type: "module" },
  });
  assertEquals(Object.keys(exports["."]), ["types", "default"]);
  assertEquals(exports, {
    ".": { types: "./mod.d.ts", default: "./mod.js" },
    "./more": { types: "./sdk/more.d.ts", default: "./sdk/more.js" },
    "./package.json": "./package.json",
  });
});

Deno.test("packageManifest() makes packages of applications optional peers, and others dependencies", () => {
  const manifest = createManifest(["@noble/hashes", "@mysten/sui"]);
  assertEquals(manifest.dependencies, { "@noble/hashes": "^2.4.0" });
  // Applications may have older ones than the project.
  assertEquals(manifest.peerDependencies, { "@mysten/sui": ">=1" });
  assertEquals(manifest.peerDependenciesMeta, {
    "@mysten/sui": { optional: true },
  });
});

Deno.test("packageManifest() names modules for resolvers that do not read exports", () => {
  const { main, types, typesVersions } = createManifest([]);
  assertEquals([main, types], ["./mod.js", "./mod.d.ts"]);
  assertEquals(typesVersions, { ">=5.7": { more: ["./sdk/more.d.ts"] } });
});

Deno.test("npmRange() refuses a package that the project has not, or not from npm", () => {
  assertEquals(npmRange(CONFIG, "@mysten/sui"), "^2.33.1");
  for (const name of ["left", "std"]) {
    assertThrows(
      () => npmRange(CONFIG, name),
      Error,
      `Cannot name a version of "${name}"`,
    );
  }
});

function createManifest(imported: readonly string[]) {
  return JSON.parse(packageManifest(CONFIG, imported));
}
