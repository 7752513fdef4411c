import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findPlugins, guessKind } from "./find.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "espalier-find-"));
});
afterEach(() => rmSync(root, { recursive: true }));

const file = (path: string, content = "") => {
  const whole = join(root, path);
  mkdirSync(dirname(whole), { recursive: true });
  writeFileSync(whole, content);
  return whole;
};

/** What is found with these variables, as [kind, source, path below the root]. */
const found = (env: Record<string, string> = {}) =>
  findPlugins({ env, home: join(root, "home") }).map(({ kind, source, path }) => [
    kind,
    source,
    path.replace(`${root}/`, ""),
  ]);

const cpu = "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so";
const cuda = "jax_plugins/xla_cuda13/xla_cuda_plugin.so";

describe("findPlugins", () => {
  it("finds nothing on an empty machine", () => {
    expect(found({ PATH: join(root, "bin") })).toEqual([]);
  });

  it("takes the environment's word first, and guesses the kind unless told", () => {
    const path = join(root, "my_gpu_plugin.so");
    expect(found({ ESPALIER_XLA_PLUGIN: path })).toEqual([["cuda", "environment", "my_gpu_plugin.so"]]);
    expect(found({ ESPALIER_XLA_PLUGIN: path, ESPALIER_XLA_PLUGIN_KIND: "tpu" })[0]?.[0]).toBe("tpu");
  });

  it("finds installed plugins, CUDA before CPU, but not half-written ones", () => {
    const place = "home/.cache/espalier/plugins";
    const record = (kind: string, bytes: number) =>
      JSON.stringify({ kind, file: "p.so", bytes, sha256: "00" });
    for (const [name, kind, bytes] of [
      ["a", "cpu", 3],
      ["b", "cuda", 3],
      ["torn", "cpu", 4],
    ] as const) {
      file(`${place}/${name}/p.so`, "123");
      file(`${place}/${name}/plugin.json`, record(kind, bytes));
    }
    file(`${place}/.install-x/p.so`, "123");
    file(`${place}/.install-x/plugin.json`, record("cpu", 3));
    file(`${place}/odd/plugin.json`, "{");
    expect(found()).toEqual([
      ["cuda", "cache", `${place}/b/p.so`],
      ["cpu", "cache", `${place}/a/p.so`],
    ]);
  });

  it.each([
    ["ESPALIER_CACHE", "elsewhere/plugins"],
    ["XDG_CACHE_HOME", "elsewhere/espalier/plugins"],
  ])("looks for installed plugins where %s says", (variable, place) => {
    file(`${place}/a/p.so`, "123");
    file(`${place}/a/plugin.json`, JSON.stringify({ kind: "cpu", file: "p.so", bytes: 3, sha256: "00" }));
    expect(found({ [variable]: join(root, "elsewhere") })).toEqual([["cpu", "cache", `${place}/a/p.so`]]);
  });

  it("finds what Python packages carry, in the active environment", () => {
    const site = "venv/lib/python3.12/site-packages";
    for (const path of [cpu, cuda, "libtpu/libtpu.so"]) file(`${site}/${path}`);
    expect(found({ VIRTUAL_ENV: join(root, "venv") })).toEqual([
      ["cuda", "python", `${site}/${cuda}`],
      ["tpu", "python", `${site}/libtpu/libtpu.so`],
      ["cpu", "python", `${site}/${cpu}`],
    ]);
  });

  it("follows the python3 on the PATH to its installation", () => {
    file(`opt/py/lib/python3.11/site-packages/${cpu}`);
    file("opt/py/bin/python3.11");
    mkdirSync(join(root, "bin"));
    symlinkSync(join(root, "opt/py/bin/python3.11"), join(root, "bin/python3"));
    expect(found({ PATH: join(root, "bin") })).toEqual([
      ["cpu", "python", `opt/py/lib/python3.11/site-packages/${cpu}`],
    ]);
  });

  it("stays in a virtual environment whose python3 is a link out of it", () => {
    file(`venv/lib/python3.11/site-packages/${cpu}`);
    file("venv/pyvenv.cfg");
    file("opt/bin/python3");
    mkdirSync(join(root, "venv/bin"));
    symlinkSync(join(root, "opt/bin/python3"), join(root, "venv/bin/python3"));
    expect(found({ PATH: join(root, "venv/bin") })[0]?.[2]).toBe(`venv/lib/python3.11/site-packages/${cpu}`);
  });

  it("looks through the script that pyenv puts on the PATH", () => {
    file("pyenv/shims/python3");
    file("pyenv/version", "3.11.7\n");
    for (const version of ["3.11.7", "3.12.1"])
      file(`pyenv/versions/${version}/lib/python${version.slice(0, 4)}/site-packages/${cpu}`);
    const PATH = join(root, "pyenv/shims");
    expect(found({ PATH })[0]?.[2]).toMatch(/3\.11\.7/);
    expect(found({ PATH, PYENV_VERSION: "3.12.1" })[0]?.[2]).toMatch(/3\.12\.1/);
  });

  it("lists a plugin once that is reached by two ways", () => {
    const path = file(`venv/lib/python3.12/site-packages/${cpu}`);
    expect(found({ ESPALIER_XLA_PLUGIN: path, VIRTUAL_ENV: join(root, "venv") })).toHaveLength(1);
  });

  it("gives a CUDA plugin the library folders of its own packages", () => {
    const site = "venv/lib/python3.12/site-packages";
    file(`${site}/${cuda}`);
    for (const name of ["cu13", "cudnn"]) file(`${site}/nvidia/${name}/lib/lib.so`);
    file(`home/.local/lib/python3.12/site-packages/nvidia/cublas/lib/lib.so`);
    const [plugin] = findPlugins({ env: { VIRTUAL_ENV: join(root, "venv") }, home: join(root, "home") });
    expect(plugin?.libraryPaths).toEqual(
      ["cu13", "cudnn"].map((name) => join(root, site, "nvidia", name, "lib")),
    );
  });
});

describe("guessKind", () => {
  it.each([
    ["/a/xla_cpu_pjrt/xla_cpu_pjrt.so", "cpu"],
    ["/a/xla_cuda13_pjrt/xla_gpu_pjrt.so", "cuda"],
    ["/a/libtpu/libtpu.so", "tpu"],
    ["/home/cuda/plugins/x/y.so", "cpu"],
  ])("takes %s for %s", (path, kind) => expect(guessKind(path)).toBe(kind));
});
