export type { HonoOptions } from './middleware.ts'
export { honoMiddleware } from './node-middleware.ts'
