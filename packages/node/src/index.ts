export { fileSpool } from './body/file-spool.ts'
export { type MediaFetcherOptions, mediaFetcher } from './media/media-fetcher.ts'
export type { DialTls } from './realtime/dial.ts'
export { nodeUpgrade, type UpgradeOptions } from './realtime/upgrade.ts'
export { createNodeHandler, type NodeHandler, type NodeOptions, nodeListener } from './server/handler.ts'
export {
  sharedTransport,
  type UndiciTransport,
  type UndiciTransportOptions,
  undiciTransport,
} from './transport/undici-transport.ts'
