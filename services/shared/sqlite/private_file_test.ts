import { assertEquals, assertThrows } from "@std/assert";
import { makePrivate, makePrivateDatabase, tighten } from "./private_file.ts";

const IS_WINDOWS = Deno.build.os === "windows";

Deno.test({
  name:
    "makePrivate() makes a file for its owner alone and keeps what is there",
  ignore: IS_WINDOWS,
  fn() {
    const folder = Deno.makeTempDirSync();
    try {
      const path = `${folder}/made`;
      makePrivate(path);
      assertEquals(modeOf(path), 0o600);
      Deno.writeTextFileSync(path, "content");
      Deno.chmodSync(path, 0o644);
      makePrivate(path);
      assertEquals(modeOf(path), 0o600);
      assertEquals(Deno.readTextFileSync(path), "content");
      assertThrows(
        () => makePrivate(`${folder}/none/made`),
        Deno.errors.NotFound,
      );
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});

Deno.test({
  name: "tighten() leaves files alone that are for a group, or not there",
  ignore: IS_WINDOWS,
  fn() {
    const folder = Deno.makeTempDirSync();
    try {
      const path = `${folder}/file`;
      Deno.writeTextFileSync(path, "content");
      for (
        const [before, after] of [
          [0o640, 0o640],
          [0o660, 0o660],
          [0o664, 0o600],
          [0o602, 0o600],
        ] as const
      ) {
        Deno.chmodSync(path, before);
        tighten(path);
        assertEquals(modeOf(path), after);
      }
      tighten(`${folder}/none`);
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});

Deno.test({
  name: "tighten() lets the owner of a folder go on using it",
  ignore: IS_WINDOWS,
  fn() {
    const folder = Deno.makeTempDirSync();
    try {
      for (const [before, after] of [[0o755, 0o700], [0o750, 0o750]] as const) {
        Deno.chmodSync(folder, before);
        tighten(folder);
        assertEquals(modeOf(folder), after);
      }
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});

Deno.test({
  name:
    "makePrivateDatabase() takes the files beside a database from others, too",
  ignore: IS_WINDOWS,
  fn() {
    const folder = Deno.makeTempDirSync();
    try {
      const path = `${folder}/x.db`;
      const beside = [`${path}-wal`, `${path}-shm`, `${path}-journal`];
      for (const file of beside) {
        Deno.writeTextFileSync(file, "");
        Deno.chmodSync(file, 0o644);
      }
      makePrivateDatabase(path);
      for (const file of [path, ...beside]) {
        assertEquals([file, modeOf(file)], [file, 0o600]);
      }
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});

function modeOf(path: string): number {
  return (Deno.statSync(path).mode ?? 0) & 0o777;
}
