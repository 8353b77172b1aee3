export type { WireFormat } from './formats.ts'
export { createModelgate, type ModelgateOptions, type ModelgateProvider } from './modelgate.ts'
