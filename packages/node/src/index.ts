export { ClientConnection, clientSignal } from './client-connection.ts'
export type { WatchedClient } from './client-watch.ts'
export { drain } from './drain.ts'
export { fileSpool } from './file-spool.ts'
export { createNodeHandler, type NodeHandler, type NodeOptions } from './handler.ts'
export { nodeListener } from './listener.ts'
export { type MediaFetcherOptions, mediaFetcher } from './media-fetcher.ts'
export { paced, pacedRead } from './paced.ts'
export type { DialTls } from './realtime-dial.ts'
export { countInThread } from './tokenizer-thread.ts'
export { turn } from './turn.ts'
export {
  sharedTransport,
  type UndiciTransport,
  type UndiciTransportOptions,
  undiciTransport,
} from './undici-transport.ts'
export { nodeUpgrade, type UpgradeOptions } from './upgrade.ts'
