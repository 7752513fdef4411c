export { findPlugins, pluginAt } from "./find.ts";
export { type InstallOptions, installPlugin, verifyPlugin } from "./install.ts";
export { type Preloaded, preloadLibraries } from "./libraries.ts";
export type { Plugin, PluginKind } from "./plugin.ts";
export type { Surroundings } from "./surroundings.ts";
