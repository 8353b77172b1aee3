export { type MediaFetcherOptions, mediaFetcher, nodeUpgrade } from '@modelgate/node'
export { type ExpressErrorHandler, expressBodyErrors } from './body-errors.ts'
export { type ExpressMiddleware, expressMiddleware } from './middleware.ts'
