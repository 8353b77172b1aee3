// What tests and document generators of other packages use of this one's internals. Resolved in this workspace only, never published.
export { createFakeGateway, type FakeGateway, sleep, withAdapterFunctions } from '../src/testing/fake-gateway.ts'
export { dial, serve } from '../src/testing/server.ts'
