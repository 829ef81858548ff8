import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { type DirectoryRead, readConfigDirectory } from "./config_directory.ts";

type ConfigDirectoryOptions = Parameters<typeof readConfigDirectory>[1];

const LIMITS: ConfigDirectoryOptions = {
  ignoreDotFiles: false,
  maxFileBytes: 1000,
  maxFiles: 100,
  maxTotalBytes: 10_000,
};

async function withFiles(
  files: Readonly<Record<string, string>>,
  use: (directory: string) => Promise<void>,
): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    for (const [name, text] of Object.entries(files)) {
      await Deno.writeTextFile(`${directory}/${name}`, text);
    }
    await use(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

function listNames(read: DirectoryRead): string[] {
  assert(read.kind === "read", JSON.stringify(read));
  return read.files.map((file) => file.name);
}

function getReason(read: DirectoryRead): string {
  assert(read.kind === "unreadable", JSON.stringify(read));
  return read.reason;
}

Deno.test("readConfigDirectory() reads *.yaml in the byte order of names", async () => {
  const names = ["b.yaml", "a.yaml", "B.yaml", "é.yaml", "\u{1F600}.yaml"];
  const files = Object.fromEntries(
    [...names, "\uFF5E.yaml", "a.b.yaml"].map((name) => [name, `# ${name}`]),
  );
  await withFiles(files, async (directory) => {
    const read = await readConfigDirectory(directory, LIMITS);
    // In UTF-16 the emoji would stand before the full-width tilde.
    assertEquals(listNames(read), [
      "B.yaml",
      "a.b.yaml",
      "a.yaml",
      "b.yaml",
      "é.yaml",
      "\uFF5E.yaml",
      "\u{1F600}.yaml",
    ]);
    assert(read.kind === "read");
    assertEquals(
      new TextDecoder().decode(read.files[2]?.bytes),
      "# a.yaml",
    );
  });
});

Deno.test("readConfigDirectory() passes over all other names and tells what looks like configuration", async () => {
  const names = ["x.yml", "X.YAML", "x.yaml.bak", "README", "yaml", "x.yaml~"];
  const files = Object.fromEntries(
    [...names, "a.yaml"].map((name) => [name, ""]),
  );
  await withFiles(files, async (directory) => {
    const read = await readConfigDirectory(directory, LIMITS);
    assertEquals(listNames(read), ["a.yaml"]);
    assert(read.kind === "read");
    assertEquals(read.ignored.map(({ name }) => name).sort(), [
      "X.YAML",
      "x.yml",
    ]);
  });
});

Deno.test("readConfigDirectory() reads dot files unless told not to", async () => {
  await withFiles({ ".a.yaml": "", ".b.yml": "" }, async (directory) => {
    const all = await readConfigDirectory(directory, LIMITS);
    assertEquals(listNames(all), [".a.yaml"]);
    const visible = await readConfigDirectory(directory, {
      ...LIMITS,
      ignoreDotFiles: true,
    });
    assertEquals(listNames(visible), []);
    assert(visible.kind === "read");
    assertEquals(visible.ignored, []);
  });
});

Deno.test("readConfigDirectory() follows links to files and enters no directory", async () => {
  await withFiles({ "target": "linked" }, async (directory) => {
    await Deno.mkdir(`${directory}/sub.yaml`);
    await Deno.writeTextFile(`${directory}/sub.yaml/in.yaml`, "x");
    await Deno.symlink("target", `${directory}/link.yaml`);
    await Deno.symlink("sub.yaml", `${directory}/dir.yaml`);
    const read = await readConfigDirectory(directory, LIMITS);
    assertEquals(listNames(read), ["link.yaml"]);
  });
});

Deno.test("readConfigDirectory() sees the files of a mounted ConfigMap once", async () => {
  await withFiles({}, async (directory) => {
    await Deno.mkdir(`${directory}/..2026_01_01`);
    for (const name of ["a.yaml", "b.yaml"]) {
      await Deno.writeTextFile(`${directory}/..2026_01_01/${name}`, name);
      await Deno.symlink(`..data/${name}`, `${directory}/${name}`);
    }
    await Deno.symlink("..2026_01_01", `${directory}/..data`);
    const read = await readConfigDirectory(directory, LIMITS);
    assertEquals(listNames(read), ["a.yaml", "b.yaml"]);
  });
});

Deno.test("readConfigDirectory() gives each name and content its own fingerprint", async () => {
  const fingerprints = new Set<string>();
  const sets = [
    {},
    { "a.yaml": "" },
    { "a.yaml": "x" },
    { "b.yaml": "x" },
    { "a.yaml": "x", "b.yaml": "" },
    { "a.yaml": "", "b.yaml": "x" },
    { "a.yaml": '"b.yaml" 0\n' },
  ];
  for (const files of sets) {
    await withFiles(files, async (directory) => {
      const read = await readConfigDirectory(directory, LIMITS);
      assert(read.kind === "read");
      fingerprints.add(read.fingerprint);
      const again = await readConfigDirectory(directory, LIMITS);
      assert(again.kind === "read");
      assertEquals(again.fingerprint, read.fingerprint);
    });
  }
  assertEquals(fingerprints.size, sets.length);
});

Deno.test("readConfigDirectory() tells what is too much", async () => {
  const files = { "a.yaml": "x".repeat(10), "b.yaml": "y".repeat(10) };
  await withFiles(files, async (directory) => {
    const read = (limits: Partial<ConfigDirectoryOptions>) =>
      readConfigDirectory(directory, { ...LIMITS, ...limits });
    assertEquals(listNames(await read({ maxFileBytes: 10 })).length, 2);
    assertEquals(
      getReason(await read({ maxFileBytes: 9 })),
      'Cannot read configuration file "a.yaml": it is larger than 9 bytes',
    );
    assertEquals(listNames(await read({ maxTotalBytes: 20 })).length, 2);
    assertEquals(
      getReason(await read({ maxTotalBytes: 19 })),
      `Cannot read configuration directory "${directory}": ` +
        "its files have more than 19 bytes",
    );
    assertEquals(listNames(await read({ maxFiles: 2 })).length, 2);
    assertEquals(
      getReason(await read({ maxFiles: 1 })),
      `Cannot read configuration directory "${directory}": ` +
        "it has more than 1 files",
    );
  });
});

Deno.test("readConfigDirectory() tells that there is no directory", async () => {
  await withFiles({ "file": "" }, async (directory) => {
    for (
      const [path, why] of [
        [`${directory}/none`, "it does not exist"],
        [`${directory}/file`, "it is not a directory"],
        [`${directory}/file/config`, "it is not a directory"],
      ]
    ) {
      const read = await readConfigDirectory(path ?? "", LIMITS);
      assertEquals(
        getReason(read),
        `Cannot read configuration directory "${path}": ${why}`,
      );
    }
  });
});

Deno.test("readConfigDirectory() asks to look again when a link leads nowhere", async () => {
  await withFiles({}, async (directory) => {
    await Deno.symlink("..data/a.yaml", `${directory}/a.yaml`);
    const read = await readConfigDirectory(directory, LIMITS);
    assertEquals(read.kind, "changing");
  });
});

Deno.test("readConfigDirectory() knows when something was changed last", async () => {
  await withFiles({ "a.yaml": "", "b.yaml": "" }, async (directory) => {
    const times = [[`${directory}/a.yaml`, 300], [directory, 200]] as const;
    await Deno.utime(`${directory}/b.yaml`, 100, 100);
    for (const [path, seconds] of times) {
      await Deno.utime(path, seconds, seconds);
    }
    const read = await readConfigDirectory(directory, LIMITS);
    assert(read.kind === "read");
    assertEquals(read.changedMs, 300_000);
    await Deno.utime(directory, 400, 400);
    const later = await readConfigDirectory(directory, LIMITS);
    assert(later.kind === "read");
    assertNotEquals(later.changedMs, read.changedMs);
  });
});
