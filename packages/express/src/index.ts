export { type MediaFetcherOptions, mediaFetcher, nodeUpgrade } from '@modelgate/node'
export { type ExpressMiddleware, expressMiddleware } from './middleware.ts'
