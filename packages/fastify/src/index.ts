export { fastifyPlugin } from './plugin.ts'
