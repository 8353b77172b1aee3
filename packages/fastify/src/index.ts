export { type MediaFetcherOptions, mediaFetcher, nodeUpgrade } from '@modelgate/node'
export { fastifyPlugin } from './plugin.ts'
