// `@modelgate/node/adapter`: building blocks for adapters of other hosts on Node. They may change in any minor version.
export { readWithMinimumRate, withMinimumRate } from './body/minimum-rate.ts'
export { ClientConnection, clientSignal } from './client/client-connection.ts'
export type { WatchedClient } from './client/watched-client.ts'
export { countTokensInThread } from './scheduling/tokenizer-thread.ts'
export { waitForTurn } from './scheduling/work-queue.ts'
export { drain } from './server/drain.ts'
