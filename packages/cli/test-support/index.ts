// Internals for tests and documentation generators of other packages. Resolved in this workspace only, never published.
export { commands } from '../src/commands.ts'
export { envProviders } from '../src/config/env-providers.ts'
