export { nodeUpgrade } from '@modelgate/node'
export { fastifyPlugin } from './plugin.ts'
