import { node } from "../../../core/index.ts";
import { loadGlobally } from "../pjrt/index.ts";
import type { Plugin } from "./find.ts";
import { listFolder } from "./pip.ts";

/** The CUDA libraries that XLA asks for by name. Those that others need stand first. */
const wanted: readonly RegExp[] = [
  /^libcudart\.so\.\d+$/,
  /^libnvrtc-builtins\.so\.[\d.]+$/,
  /^libnvrtc\.so\.\d+$/,
  /^libnvJitLink\.so\.\d+$/,
  /^libcublasLt\.so\.\d+$/,
  /^libcublas\.so\.\d+$/,
  /^libnccl\.so\.\d+$/,
  /^libcupti\.so\.\d+$/,
  /^libcusparse\.so\.\d+$/,
  /^libcusolver\.so\.\d+$/,
  /^libcufft\.so\.\d+$/,
  /^libnvshmem_host\.so\.\d+$/,
  /^libcudnn\.so\.\d+$/,
  /^libcudnn_\w+\.so\.\d+$/,
];

/** Folders of CUDA libraries in Python packages: from the plugin's own site-packages, else the first that has any. */
export function cudaLibraryPaths(sites: readonly string[], pluginPath: string): readonly string[] {
  const own = sites.filter((site) => pluginPath.startsWith(site + node.path.sep));
  for (const site of [...own, ...sites]) {
    const folders = listFolder(node.path.join(site, "nvidia"))
      .map((name) => node.path.join(site, "nvidia", name, "lib"))
      .filter((folder) => node.fs.existsSync(folder));
    if (folders.length > 0) return folders;
  }
  return [];
}

/**
 * Loads the libraries a plugin needs from its `libraryPaths`, so that it finds them without LD_LIBRARY_PATH,
 * which cannot be changed once a process runs. To be called before the plugin is opened. Gives those that did not load,
 * with the loader's words: a plugin may well run without some of them.
 */
export const preloadLibraries = ({ libraryPaths = [] }: Plugin) =>
  librariesIn(libraryPaths).flatMap((path) => {
    const message = loadGlobally(path);
    return message === undefined ? [] : [{ path, message }];
  });

/** The libraries to load, in loading order. */
export function librariesIn(folders: readonly string[]): readonly string[] {
  const files = folders.flatMap((folder) => listFolder(folder).map((name) => ({ folder, name })));
  return wanted.flatMap((pattern) =>
    files.filter(({ name }) => pattern.test(name)).map(({ folder, name }) => node.path.join(folder, name)),
  );
}
