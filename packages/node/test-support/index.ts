// Internals of this package for tests and document generators of other packages. Resolved in this workspace only, never published.
export { createFakeGateway, type FakeGateway, sleep, withAdapterFunctions } from '../src/testing/fake-gateway.ts'
export { dial, serve } from '../src/testing/server.ts'
