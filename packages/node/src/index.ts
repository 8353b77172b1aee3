export { createNodeHandler, type NodeHandler, type NodeOptions } from './handler.ts'
export { nodeListener } from './listener.ts'
export { type UndiciTransport, type UndiciTransportOptions, undiciTransport } from './undici-transport.ts'
export { nodeUpgrade, type UpgradeOptions } from './upgrade.ts'
