/**
 * Replaces google-auth-library on Workers, where it cannot run (`imports` in package.json). Without this stub a bundler would include the
 * package if it is in node_modules, where Google's SDK installs it, and would fail on its imports of Node's modules.
 */
export const GoogleAuth = undefined
