/**
 * What stands in for a package that a runtime could not run anyway: see `imports` in package.json. Without it a bundler for Workers
 * would take google-auth-library in wherever it lies in node_modules (Google's SDK brings it along) and fail on Node's modules.
 */
export const GoogleAuth = undefined
