export {
  findPlugins,
  type Plugin,
  type PluginKind,
  pluginAt,
  type Surroundings,
  thisMachine,
} from "./find.ts";
export { installPlugin, verifyPlugin } from "./install.ts";
export { preloadLibraries } from "./libraries.ts";
export {
  cacheDirectory,
  type InstallOptions,
  installedFiles,
  installPackageFile,
  verifyFile,
} from "./package-file.ts";
