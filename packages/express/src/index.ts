export { type ExpressMiddleware, expressMiddleware } from './middleware.ts'
