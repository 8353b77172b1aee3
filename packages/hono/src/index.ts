export { type HonoOptions, honoMiddleware } from './middleware.ts'
