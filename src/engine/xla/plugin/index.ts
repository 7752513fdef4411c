export { findPlugins, type Plugin, type PluginKind, pluginAt, type Surroundings } from "./find.ts";
export { type InstallOptions, installPlugin, verifyPlugin } from "./install.ts";
export { type Preloaded, preloadLibraries } from "./libraries.ts";
